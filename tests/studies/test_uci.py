"""The UCI study: numbers by hand, and a tiny run that keeps the contract."""

import dataclasses
import json

import numpy as np
import pytest
from scipy.stats import norm

from ocbnn.datasets.uci import split, uci as load
from ocbnn.errors import SettingError
from ocbnn.inference import SVGD
from ocbnn.studies import names_for, reproduce, uci

pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
PLAN = SVGD(particles=3, iterations=20)


@pytest.fixture
def small(monkeypatch):
    """One table and a network of two units."""
    yacht = dataclasses.replace(uci.PROBLEMS["yacht"], settings={"hidden": (2,)})
    monkeypatch.setattr(uci, "PROBLEMS", {"yacht": yacht})
    monkeypatch.setattr(uci, "QUICK_PLAN", PLAN)


def test_every_rule_names_columns_of_its_table():
    for name, problem in uci.PROBLEMS.items():
        bounds = uci.bind_all(name, load(name))
        names = [bound.name for bound in bounds]
        assert names == ["sign", "trend"][: len(problem.rules)] != []


def test_numbers_are_those_of_the_mixture_of_draws(small):
    table = load("yacht")
    train, test = split(len(table.y), 0)
    model = uci.fit("yacht", table, train, 0, PLAN, with_rules=False)
    X, y = table.X[test], table.y[test]
    numbers = uci.measure(model, uci.bind_all("yacht", table), X, y)
    values, noise = model.sample_functions(X, 3), model.noise_
    density = norm.pdf(y, values, noise).mean(axis=0)
    assert numbers["log_likelihood"] == pytest.approx(np.log(density).mean())
    error = np.sqrt(np.mean((values.mean(axis=0) - y) ** 2))
    assert numbers["rmse"] == pytest.approx(error)
    wrong = (values < 0) | (model.sample_slopes(X, "froude_number") < 0)
    assert numbers["violation"] == pytest.approx(wrong.mean())
    assert 0 < numbers["violation"] < 1


def test_a_tiny_run_keeps_the_contract(small, tmp_path):
    lines = []
    (result,) = reproduce("uci", quick=True, seed=3, out=tmp_path, say=lines.append)
    assert json.loads((tmp_path / "uci" / "result.json").read_text()) == result
    assert result["paper"]["published"]["yacht"]["rmse"] == 0.67
    for key in ("bnn", "ocbnn"):
        numbers = result["models"][key]["yacht"]
        scores = {"rmse", "log_likelihood", "coverage", "violation", "noise", "seconds"}
        assert set(numbers) == scores | {f"{score}_sd" for score in scores}
    assert "MC dropout" in (tmp_path / "uci" / "table.md").read_text()
    assert "The paper's point" not in (tmp_path / "index.html").read_text()
    assert lines[0].startswith("uci (best, quick): yacht RMSE")


def test_the_study_is_not_the_papers_and_reads_no_folder(tmp_path):
    assert "uci" not in names_for("all")
    with pytest.raises(SettingError, match="does not read recordings"):
        reproduce("uci", data=tmp_path, out=tmp_path)
