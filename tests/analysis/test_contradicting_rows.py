"""Rows that break a rule: by more than the noise, by less, and those the fit misses."""

from types import SimpleNamespace

import numpy as np
import pytest

from ocbnn.analysis.contradicting_rows import (
    contradicting_rows,
    pulled,
    say_missed,
    say_noise,
)
from ocbnn.fitted import FittedModel, Rows
from ocbnn.rules import Schema, bind

SCHEMA = Schema(("dose",), ("effect",))
CAP = bind("cap: if 2 <= dose <= 6 then effect <= 8.5", SCHEMA)
# Beyond the limit by 1.775, 1.2325, 0.9325 and 2.25 times the noise of 0.4.
Y = np.array([[9.21], [8.993], [8.873], [9.4], [7.0]])


class Fixed(FittedModel):
    """A fit whose mean and spread are known."""

    schema = SCHEMA
    data = Rows(np.full((len(Y), 1), 3.0), Y)

    def __init__(self, predictive):
        vars(self)["predictive"] = predictive


def model(mean, sd=0.4):
    return Fixed(
        SimpleNamespace(
            noise_at=lambda X, _: np.full((10, len(X), 1), 0.4),
            mean_and_sd=lambda X: (np.full((len(X), 1), one) for one in (mean, sd)),
        )
    )


def test_what_counts_is_how_far_a_value_lies_beyond_the_rule():
    rows = contradicting_rows(model(8.5), CAP, None, is_fitted=True)
    assert [row.name for row in rows] == [0, 1, 2, 3]
    assert [row.excess for row in rows] == pytest.approx([1.775, 1.2325, 0.9325, 2.25])
    assert [row.is_noise for row in rows] == [True, True, True, False]


def test_where_the_fit_lies_is_told_apart_from_that():
    near = contradicting_rows(model(8.5), CAP, None, is_fitted=True)
    far = contradicting_rows(model(8.1), CAP, None, is_fitted=True)
    assert [row.is_noise for row in far] == [row.is_noise for row in near]
    assert [row.is_missed for row in near] == [False, False, False, True]
    assert [row.is_missed for row in far] == [True, True, False, True]
    against, within = far[3:], far[:3]
    assert [row.name for row in pulled(against, within)] == [3, 0, 1]
    assert "from 3 rows: 0, 1, 3." in next(say_missed(far))
    assert list(say_missed(near[:3])) == []


def test_a_proposed_rule_has_not_pulled_yet():
    rows = contradicting_rows(model(0.0), CAP, None, is_fitted=False)
    assert not any(row.is_missed for row in rows)
    assert [row.is_noise for row in rows] == [True, True, True, False]


def test_noise_is_told_with_its_size():
    rows = contradicting_rows(model(8.5), CAP, None, is_fitted=True)
    said = "Row 0 violates it by 1.8 standard deviations of the noise"
    assert say_noise(rows[:1]).startswith(said)
    assert "3 rows: 0, 1, 2 violate it by at most 1.8" in say_noise(rows[:3])
