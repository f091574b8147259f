"""The study of how sure one can be: a quick run keeps the contract."""

import json

import pytest

from ocbnn.studies import reproduce


@pytest.mark.slow
def test_a_quick_run_draws_four_figures_and_proves_what_it_shows(tmp_path):
    (result,) = reproduce("sure", quick=True, out=tmp_path)
    folder = tmp_path / "sure"
    assert json.loads((folder / "result.json").read_text()) == result
    for name in ("sure-soft", "sure-firm", "sure-hard", "sure-certified"):
        assert (folder / f"{name}.png").stat().st_size > 10_000
    found = result["models"]["ocbnn"]
    assert set(found) == {"soft", "firm", "hard"}
    for one in found.values():
        assert one["holds"] + one["broken"] + one["undecided"] == pytest.approx(1)
    assert found["firm"]["holds"] > found["soft"]["holds"]
    assert found["hard"]["broken"] == 0
