"""The reference is run: names as they are written, signatures, errors, attributes."""
# ruff: noqa: D103 (a test's name is the sentence it proves)

import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ocbnn
from ocbnn import errors

PAGE = (Path(__file__).parent / "reference.md").read_text()
MODELS = Path(__file__).parents[1] / "tests" / "saving" / "stored_models"
CODE = set(re.findall(r"`([^`\n]+)`", PAGE))
NAMES = sorted(set(re.findall(r"(?<![\w./])ocbnn(?:\.\w+)+", PAGE)))
# Each name is asked for as if it were the first: what others open must not help.
ASK = """
import importlib, json, sys
missing = []
for path in json.loads(sys.argv[1]):
    for module in [one for one in sys.modules if one.split(".")[0] == "ocbnn"]:
        del sys.modules[module]
    found = importlib.import_module("ocbnn")
    for name in path.split(".")[1:]:
        try:
            found = getattr(found, name)
        except AttributeError:
            missing.append(path)
            break
print(json.dumps(missing))
"""


def test_every_name_is_there_after_import_as_it_is_written() -> None:
    assert len(NAMES) > 80
    # Names that differ in their last part alone are found on the same way.
    ways = {path.rpartition(".")[0]: path for path in NAMES}
    asked = [*ways.values(), *(path for path in NAMES if path.count(".") == 1)]
    command = [sys.executable, "-c", ASK, json.dumps(asked)]
    out = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=300
    )
    assert json.loads(out.stdout) == []


def find(path: str) -> Any:
    """The object behind a dotted name."""
    found: Any = ocbnn
    for name in path.split(".")[1:]:
        found = getattr(found, name)
    return found


@pytest.mark.parametrize("path", NAMES)
def test_every_name_means_something(path: str) -> None:
    assert find(path) is not None


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
    blocks = re.findall(r"```\n(ocbnn\..*?)```", PAGE, re.DOTALL)
    return [
        re.sub(r"\s+", " ", one).replace("( ", "(").strip()
        for block in blocks
        for one in re.split(r"\n(?=ocbnn\.)", block)
    ]


@pytest.mark.parametrize("signature", documented())
def test_a_signature_in_the_reference_is_the_codes_own(signature: str) -> None:
    path, _, _ = signature.partition("(")
    assert signature == spelled(path)


PUBLIC = [f"ocbnn.{name}" for name in ocbnn.__all__] + [
    f"ocbnn.{room}.{name}"
    for room in (
        *("analysis", "certificates", "estimators", "fitted"),
        *("metrics", "plots", "testing"),
    )
    for name, made in vars(importlib.import_module(f"ocbnn.{room}")).items()
    if not (name.startswith("_") or inspect.ismodule(made))
]


def test_every_public_name_is_in_the_reference() -> None:
    assert len(PUBLIC) > 70
    shown = " ".join(documented()) + " ".join(CODE)
    last = lambda path: path.rpartition(".")[2]
    missing = [path for path in PUBLIC if not re.search(rf"\b{last(path)}\b", shown)]
    assert missing == []


def test_every_argument_of_a_model_has_a_row() -> None:
    rows = re.findall(r"^\| (`.*?`) \|", PAGE.split("| argument |")[1], re.MULTILINE)
    told = re.findall(r"`(\w+)`", " ".join(rows[: rows.index("`devices`") + 1]))
    models = (ocbnn.OCBNNRegressor, ocbnn.OCBNNClassifier)
    taken = {name for model in models for name in inspect.signature(model).parameters}
    assert sorted(told) == sorted(taken)


def test_every_error_and_warning_is_listed_and_derives_as_told() -> None:
    made = {
        name: one
        for name, one in vars(errors).items()
        if inspect.isclass(one) and issubclass(one, Exception)
    }
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.split("## Errors and")[1], re.MULTILINE)
    assert sorted(listed) == sorted(made)
    for name, one in made.items():
        root = UserWarning if name.endswith("Warning") else errors.OcbnnError
        assert issubclass(one, root), name


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_what_a_fitted_model_has_is_told(kind: str) -> None:
    model = ocbnn.load(MODELS / f"{kind}.ocbnn")
    after = PAGE.split("After `fit`: ")[1].split("\n\n")[0]
    told = set(re.findall(r"`(\w+_)`", after))
    both, regressor = told - {"noise_", "limits_", "classes_"}, {"noise_", "limits_"}
    assert len(both) == 11
    for name in both | (regressor if kind == "regressor" else {"classes_"}):
        assert hasattr(model, name), name
    sklearns = {"feature_names_in_", "n_features_in_"}
    has = {name for name in vars(model) if re.fullmatch(r"[a-z]\w*_", name)}
    assert has - sklearns <= told
