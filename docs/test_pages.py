"""The pages keep up with the code: names, signatures, tables, keys and links."""
# ruff: noqa: D103 (a test's name is the sentence it proves)

import ast
import dataclasses
import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ocbnn
from ocbnn.cli.app import CODES
from ocbnn.core import versions
from ocbnn.inference import PLANS
from ocbnn.projects.keys import key_rows
from ocbnn.projects.sections import RuleEntry
from ocbnn.rules.parse import OPTIONS
from ocbnn.rules.words import FUNCTIONS, KEYWORDS
from ocbnn.studies import (
    clinical,
    measures,
    motion,
    motion_figures,
    runner,
    toy_runs,
    uci,
)
from ocbnn.studies.toys import TOYS

DOCS = Path(__file__).parent
PAGES = {page.name: page.read_text() for page in DOCS.glob("*.md")}


def code_of(page: str) -> set[str]:
    """What the page sets in single backticks."""
    return set(re.findall(r"`([^`\n]+)`", PAGES[page]))


def find(path: str) -> Any:
    """The object behind a dotted name: modules are imported as needed."""
    head, *rest = path.split(".")
    found = importlib.import_module(head)
    for name in rest:
        head = f"{head}.{name}"
        try:
            found = getattr(found, name)
        except AttributeError:
            found = importlib.import_module(head)
    return found


def spelled(path: str) -> str:
    """A signature as the reference spells it: names, stars and defaults only."""
    parts, star = [], False
    for parameter in inspect.signature(find(path)).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            parts.append(f"*{parameter.name}")
            star = True
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            parts.append(f"**{parameter.name}")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        default = parameter.default
        given = "" if default is parameter.empty else f"={default!r}"
        parts.append(parameter.name + given)
    return f"{path}({', '.join(parts)})"


def documented() -> list[str]:
    """Every signature in the reference's code blocks, on one line each."""
    blocks = re.findall(r"```\n(ocbnn\..*?)```", PAGES["reference.md"], re.DOTALL)
    return [
        re.sub(r"\s+", " ", one).replace("( ", "(").strip()
        for block in blocks
        for one in re.split(r"\n(?=ocbnn\.)", block)
    ]


@pytest.mark.parametrize("signature", documented())
def test_a_signature_in_the_reference_is_the_codes_own(signature: str) -> None:
    path, _, _ = signature.partition("(")
    assert signature == spelled(path)


def test_every_public_name_is_in_the_reference() -> None:
    shown = " ".join(documented()) + " ".join(code_of("reference.md"))
    missing = [n for n in ocbnn.__all__ if not re.search(rf"ocbnn\.{n}\b", shown)]
    assert missing == []


def pairs() -> list[tuple[str, str]]:
    """Text and Python from the table of `rules.md`, where a row has both."""
    found = []
    for line in PAGES["rules.md"].splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 3 and re.match(r"`(require|forbid|expect)\(", cells[2]):
            text, python = (re.sub(r"^`+|`+$", "", c.strip()) for c in cells[1:])
            found.append((text, python.replace("\\|", "|")))
    return found


@pytest.mark.parametrize(("text", "python"), pairs())
def test_text_and_python_in_the_table_are_the_same_rule(text: str, python: str) -> None:
    verbs = ("require", "forbid", "expect", "inputs")
    names: dict[str, Any] = {name: getattr(ocbnn, name) for name in verbs}
    names |= {name: ocbnn.inputs(name) for name in ("x", "z", "bp")}
    names |= {name: ocbnn.outputs(name) for name in ("y", "a", "b", "action")}
    names |= {"ocbnn": ocbnn, "F": ocbnn.functions, "d": ocbnn.d}
    example = f">>> ocbnn.rule({text!r}) == {python}\nTrue\n"
    test = doctest.DocTestParser().get_doctest(example, names, text, None, None)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_every_setting_function_and_keyword_of_a_rule_is_explained() -> None:
    shown = code_of("rules.md")
    settings = {field.name for field in dataclasses.fields(ocbnn.Rule)[2:]}
    assert len(pairs()) > 15
    assert settings | set(OPTIONS) | set(FUNCTIONS) | set(KEYWORDS) <= shown


def test_every_setting_of_a_plan_is_explained() -> None:
    shown = code_of("inference.md")
    for plan in PLANS.values():
        assert {field.name for field in dataclasses.fields(plan)} <= shown


def result_keys() -> Iterator[str]:
    """Keys that the code of the studies writes, read from its source."""
    for module, functions in {
        runner: ["_run"],
        versions: ["library_versions"],
        toy_runs: ["run"],
        measures: ["_regression_numbers", "_class_numbers", "_mixing"],
        clinical: ["run", "_scores", "_counts"],
        motion: ["measure"],
        motion_figures: ["_numbers"],
        uci: ["run", "run_split", "measure"],
    }.items():
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.FunctionDef) and node.name in functions:
                for part in ast.walk(node):
                    yield from _keys_in(part)


def _keys_in(part: ast.AST) -> Iterator[str]:
    found: list[Any] = []
    if isinstance(part, ast.Dict):
        found = part.keys
    if isinstance(part, ast.Subscript):
        found = [part.slice]
    for key in found:
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value


def test_every_key_of_a_result_is_explained() -> None:
    keys = set(result_keys())
    assert {"violation", "modes_by_run", "paper_inference", "total"} <= keys
    shown = {part for code in code_of("studies.md") for part in code.split(".")}
    assert keys <= shown


def test_every_study_and_its_rules_are_shown() -> None:
    for name, toy in TOYS.items():
        assert f"### {name}" in PAGES["studies.md"]
        for rule in toy.rules:
            assert str(rule) in PAGES["studies.md"]
        for plan in toy.plans.values():
            usual = {f.name: f.default for f in dataclasses.fields(plan)}
            own = {name: getattr(plan, name) for name in usual}
            own.pop("warmup" if plan.label == "SVGD" else "", None)
            said = ", ".join(f"{k}={v!r}" for k, v in own.items() if v != usual[k])
            assert f"`{plan.label}({said})`" in PAGES["studies.md"]


def test_every_key_of_a_study_file_and_every_exit_code_is_explained() -> None:
    page = PAGES["command-line.md"]
    assert [row for row in key_rows() if row not in page] == []
    assert all(f"| `{code}` | {when} |" in page for code, when in CODES.items())
    assert set(RuleEntry.model_fields) <= code_of("command-line.md")


def anchor(heading: str) -> str:
    """The address that GitHub gives a heading."""
    plain = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return plain.replace(" ", "-")


def test_every_link_leads_somewhere() -> None:
    anchors = {
        name: {anchor(h) for h in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
        for name, text in PAGES.items()
    }
    for name, text in PAGES.items():
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", prose):
            path, _, place = link.partition("#")
            target = path or name
            assert (DOCS / target).exists(), f"{name}: {link}"
            if place:
                assert place in anchors[target], f"{name}: {link}"
