"""The comparison of algorithms: a tiny run that keeps the contract, numbers by hand."""

import dataclasses
import json

import numpy as np
import pytest

from ocbnn.errors import SettingError
from ocbnn.inference import NUTS, SVGD, VI
from ocbnn.studies import algorithms, names_for, reproduce, runner, uci
from ocbnn.studies.base import Request
from ocbnn.studies.measures import view_grid
from ocbnn.studies.toy_runs import fit_toy
from ocbnn.studies.toys import TOYS

pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
STEIN = SVGD(particles=4, iterations=20)
TINY = {"SVGD": STEIN, "VI": VI(iterations=20, draws=10)}


@pytest.fixture
def small(monkeypatch):
    """One figure and one table, each with two algorithms."""
    figure = dataclasses.replace(TOYS["fig1-right"], plans={"best": STEIN})
    toys = {"fig1-right": figure}
    yacht = dataclasses.replace(uci.PROBLEMS["yacht"], settings={"hidden": (2,)})
    monkeypatch.setattr(algorithms, "TOYS", toys)
    monkeypatch.setattr(algorithms, "TABLES", ("yacht",))
    monkeypatch.setattr(uci, "PROBLEMS", {"yacht": yacht})
    study = algorithms.AlgorithmStudy(TINY, TINY)
    monkeypatch.setitem(runner._STUDIES, "algorithms", study)


def test_a_tiny_run_keeps_the_contract(small, tmp_path):
    lines = []
    (result,) = reproduce("algorithms", quick=True, out=tmp_path, say=lines.append)
    written = (tmp_path / "algorithms" / "result.json").read_text()
    assert json.loads(written) == result
    outcome = result["models"]["ocbnn"]
    assert set(outcome) == {"fig1-right", "yacht"}
    for problem in outcome.values():
        assert set(problem) == set(TINY)
    for numbers in outcome["yacht"].values():
        assert numbers["rmse"] > 0
        assert numbers["ess_per_second"] is None  # a population does not mix
    page = (tmp_path / "algorithms" / "table.md").read_text()
    assert "coverage of 90 %" in page
    assert "accuracy" in page
    assert lines[0].startswith("algorithms (best, quick): 4 pairs")
    assert "algorithms" in (tmp_path / "index.html").read_text()


def test_numbers_are_those_of_the_fit():
    toy, plan = TOYS["fig1-left"], NUTS(chains=2, warmup=50, draws=20, max_depth=4)
    model = fit_toy(toy, plan, Request(seed=1), with_rules=True)
    grid = view_grid(toy, 201)
    numbers = algorithms.toy_numbers(toy, model, 2.0, grid)
    functions = model.sample_functions(grid, 40)
    assert numbers["spread"] == pytest.approx(functions.std(axis=0).mean() / 2.0)
    values = model.sample_functions(toy.X, 40)
    density = np.exp(-0.5 * ((values - toy.y) / 0.1) ** 2) / (0.1 * (2 * np.pi) ** 0.5)
    by_hand = np.log(density.mean(axis=0)).mean()
    assert numbers["log_likelihood"] == pytest.approx(by_hand)
    verdict = model.judge_at(grid)
    rate = verdict.ess_min / model.draws_.seconds
    assert numbers["ess_per_second"] == pytest.approx(rate)
    assert numbers["accuracy"] is None


def test_every_algorithm_has_a_smaller_self_and_stands_in_both_lists():
    assert set(algorithms.SMALL) == set(algorithms.LARGE)
    for plan in (*algorithms.SMALL.values(), *algorithms.LARGE.values()):
        less = algorithms.smaller_still(plan)
        assert type(less) is type(plan)
        assert less.warmup <= plan.warmup
        assert less != plan


def test_the_study_is_not_the_papers_and_reads_no_folder(tmp_path):
    assert "algorithms" not in names_for("all")
    with pytest.raises(SettingError, match="does not read recordings"):
        reproduce("algorithms", data=tmp_path, out=tmp_path)
