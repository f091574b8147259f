"""The pages keep up with the code: rules, tables, keys and links."""
# ruff: noqa: D103 (a test's name is the sentence it proves)

import ast
import dataclasses
import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import ocbnn
from ocbnn.cli.app import CODES
from ocbnn.core import versions
from ocbnn.inference import PLANS
from ocbnn.language.words import FUNCTIONS, KEYWORDS
from ocbnn.priors import make_term
from ocbnn.projects.keys import key_rows
from ocbnn.projects.sections import RuleEntry
from ocbnn.rules.parse import OPTIONS
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


def table(page: str, under: str) -> list[list[str]]:
    """Cells of the table under a heading, without its head."""
    part = PAGES[page].split(f"# {under}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines[2:]]
    return [[cell.strip().replace("\\|", "|") for cell in row] for row in cells]


def pairs() -> list[tuple[str, str]]:
    """Text and Python of every rule in the first table of `rules.md`."""
    rows = table("rules.md", "Python and text, side by side")
    plain = [[re.sub(r"^`+|`+$", "", cell) for cell in row[1:]] for row in rows]
    return [(text, python) for text, python in plain if text]


def slopes() -> list[tuple[str, str]]:
    """Claims of the table of slopes, as rules for a region."""
    found = []
    for _, text, python in table("rules.md", "Slopes"):
        claim, code = (re.findall(r"`([^`]+)`", cell)[0] for cell in (text, python))
        where = "where=x.between(0, 1) & z.between(0, 1)"
        made = f"require({code}, {where})"
        if code.startswith("expect("):
            made = f"{code[:-1]}, {where})"
        found.append((f"if 0 <= x <= 1 and 0 <= z <= 1 then {claim}", made))
    return found


def equal(text: str, python: str) -> bool:
    """Whether both spellings are the same rule."""
    verbs = ("require", "forbid", "expect", "inputs")
    names: dict[str, Any] = {name: getattr(ocbnn, name) for name in verbs}
    names |= {name: ocbnn.inputs(name) for name in ("x", "z", "bp")}
    names |= {name: ocbnn.outputs(name) for name in ("y", "a", "b", "action")}
    names |= {"ocbnn": ocbnn, "F": ocbnn.functions, "d": ocbnn.d}
    example = f">>> ocbnn.rule({text!r}) == {python}\nTrue\n"
    test = doctest.DocTestParser().get_doctest(example, names, text, None, None)
    return doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize(("text", "python"), [*pairs(), *slopes()])
def test_a_rule_in_a_table_is_one_rule_and_has_its_points(
    text: str, python: str
) -> None:
    assert equal(text, python)
    classes = ("treat", "call help", "wait") if "action" in text else None
    outputs = ("y", "a", "b") if classes is None else ("action",)
    named = [n for n in ("mean bp", "bp", "x", "z") if re.search(rf"\b{n}\b", text)]
    inputs = tuple(named[:1] if "mean bp" in named else named) or ("x",)
    bound = ocbnn.bind(ocbnn.rule(text), ocbnn.Schema(inputs, outputs, classes))
    rows = np.zeros((3, len(inputs)))
    term = make_term(bound, jax.random.key(0), rows=rows)
    # But for points on a face that the region leaves out.
    assert bound.applies(term.places).mean() > 0.9
    assert len(term.places) >= 20


def rule_texts() -> list[tuple[str, str]]:
    """Rules in sentences, in tables and in study files, with their page."""
    texts = re.compile(r"(?<!`)`(if [^`]* then [^`]*)`|^rule = \"(.*)\"$", re.MULTILINE)
    return [
        (page, (code or said).replace("\\|", "|").replace('\\"', '"'))
        for page, text in PAGES.items()
        for code, said in texts.findall(text)
        if "..." not in code + said
    ]


def test_every_rule_on_every_page_can_be_read() -> None:
    texts = rule_texts()
    assert len(texts) > 25
    for page, text in texts:
        assert isinstance(ocbnn.rule(text), ocbnn.Rule), page


def test_every_setting_function_and_keyword_of_a_rule_is_explained() -> None:
    shown = code_of("rules.md")
    settings = {field.name for field in dataclasses.fields(ocbnn.Rule)[2:]}
    assert len(pairs()) > 20
    assert len(slopes()) > 6
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
