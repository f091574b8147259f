"""The study of how sure one can be: a quick run keeps the contract."""

import json

import pytest

from ocbnn.inference import SVGD
from ocbnn.studies import reproduce, sure


def check_contract(result, folder):
    assert json.loads((folder / "result.json").read_text()) == result
    for name in ("sure-soft", "sure-firm", "sure-hard", "sure-certified"):
        assert (folder / f"{name}.png").stat().st_size > 10_000
    outcome = result["models"]["ocbnn"]
    assert set(outcome) == {"soft", "firm", "hard"}
    for one in outcome.values():
        assert one["holds"] + one["broken"] + one["undecided"] == pytest.approx(1)
    assert outcome["hard"]["broken"] == 0
    return outcome


def test_a_tiny_run_keeps_the_contract(tmp_path, monkeypatch):
    monkeypatch.setattr(sure, "_PLAN", SVGD(particles=40, iterations=200))
    (result,) = reproduce("sure", quick=True, out=tmp_path)
    check_contract(result, tmp_path / "sure")


@pytest.mark.slow
def test_a_quick_run_draws_four_figures_and_proves_what_it_shows(tmp_path):
    (result,) = reproduce("sure", quick=True, out=tmp_path)
    outcome = check_contract(result, tmp_path / "sure")
    assert outcome["firm"]["holds"] > outcome["soft"]["holds"]
