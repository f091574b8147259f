"""The studies that ship with the library, from their files to a checked model."""

from pathlib import Path

import pytest

from ocbnn.projects import study as studies
from ocbnn.projects.fitting import fit_study
from ocbnn.projects.predictions import load_model
from ocbnn.projects.rule_checks import check

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))
# One is enough for every day.
DAILY = "credit"
TINY = {"chains": 1, "warmup": 20, "draws": 10, "max_depth": 3, "climb": 50}


def marked(path):
    marks = [pytest.mark.slow] * (path.stem != DAILY)
    return pytest.param(path, marks=marks, id=path.stem)


@pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
@pytest.mark.parametrize("path", [*map(marked, EXAMPLES)])
def test_an_example_can_be_fitted_loaded_and_checked(path, tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "_QUICK", TINY)
    result = fit_study(path, tmp_path / "out", quick=True, progress=False)
    assert result.document["scores"]["held_out"]
    model = load_model(tmp_path / "out")
    kept = check(model)
    assert {one.rule for one in kept} == {rule.name for rule in model.rules}


def test_there_is_an_example_of_each_task():
    tasks = {studies.read_study(path).sections.data.task for path in EXAMPLES}
    assert tasks == {"regression", "classification"}
