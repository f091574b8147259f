"""Pages that say what is in a file: every key and array that is written is told."""
# ruff: noqa: D103 (a test's name is the sentence it proves)

import re
from pathlib import Path

import numpy as np
import pytest

import ocbnn
from ocbnn.storage import read_bundle

PAGE = (Path(__file__).parent / "saving.md").read_text()
RULES = [
    "box: if 1 <= a <= 2 and 0 <= b <= 1 then y >= -9 [strength=hard]",
    "all: y <= 9 [sampler=like-data]",
]


def told(head: str) -> list[str]:
    """What stands in backticks in the first column of a table."""
    rows = PAGE.split(head)[1].split("\n\n")[0]
    cells = re.findall(r"^\| (`.*?) \|", rows, re.MULTILINE)
    return re.findall(r"`([^`]+)`", " ".join(cells))


@pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
def test_every_key_and_array_of_a_saved_model_is_told(tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((12, 2))
    plan = ocbnn.SVGD(particles=30, iterations=2)
    settings = {"inputs": ["a", "b"], "hidden": (3,), "random_state": 0}
    model = ocbnn.OCBNNRegressor(RULES, inference=plan, **settings)
    model.fit(X, X.sum(axis=1)).save(tmp_path / "model.ocbnn")
    bundle = read_bundle(tmp_path / "model.ocbnn")
    assert sorted(told("| key | meaning |")) == sorted(bundle.document)
    names, place = [], ""
    for name in told("| array | shape | meaning |"):
        place = place if name.startswith("…") else name.rpartition("/")[0]
        names.append(name.replace("…", place) if name.startswith("…/") else name)
    known = [re.sub(r"\d+", r"\\d+", name).replace("…", ".+") for name in names]
    for array in bundle.arrays:
        assert any(re.fullmatch(one, array) for one in known), array
    assert {"held/kept", "rules/0/standard/steps"} <= bundle.arrays.keys()
    assert bundle.arrays["units/x_mean"].shape == (2, 2)
