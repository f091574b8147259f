"""Scores in words, and what is remarked on."""

import pytest

from ocbnn.projects.scores import score_lines


def lines(share, rows=200, held_out=True):
    numbers = {"rmse": 1.0, "r2": 0.5, "coverage_90": share}
    scores = {"rows": rows, "held_out": held_out, "outputs": {"y": numbers}}
    return " ".join(score_lines(scores))


@pytest.mark.parametrize(
    ("share", "message"),
    [(0.7, "too narrow, by more than chance"), (1.0, "wider than necessary")],
)
def test_intervals_that_chance_cannot_explain_are_remarked_on(share, message):
    assert message in lines(share)


def test_others_are_not():
    assert "!" not in lines(0.88)
    assert "!" not in lines(0.8, rows=10)
    assert "!" not in lines(0.7, held_out=False)
