"""Data rows that a rule disagrees with, as plain data."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from ocbnn.estimators.page import listed, plain
from ocbnn.rules import BoundRule

# Observations this many standard deviations off are no longer noise.
_NOISE_SDS, _NOISE_PROBABILITY = 2.0, 0.05


@dataclasses.dataclass(frozen=True)
class Row:
    """One data row that a rule disagrees with.

    Attributes:
        name: Its number, counted from 0; its label in a data frame's index; or its
            number in the table that `ocbnn fit` read, counted from 1.
        observed: Its outputs that the rule speaks of, by name, or its class.
        drop: How much lower its log likelihood is with the rule; None when unknown.
        is_noise: Whether the model with the rule still explains it as noise.
    """

    name: Any
    observed: dict[str, Any]
    drop: float | None = None
    is_noise: bool = False

    def values(self) -> str:
        """The outputs, as short as they can be said."""
        return " / ".join(_spelled(value) for value in self.observed.values())


def breaking_rows(
    model: Any, bound: BoundRule, drops: np.ndarray | None, *, is_fitted: bool
) -> list[Row]:
    """Rows of the model's data whose own observation breaks the rule."""
    if not speaks_of_rows(bound):
        return []
    wrong = np.flatnonzero(~bound.holds(model._X, model._Y))
    if not len(wrong):
        return []
    noise = _is_noise(model, wrong) if is_fitted else _may_hold(model, bound, wrong)
    return [
        row_of(model, bound, row, drops, bool(one))
        for row, one in zip(wrong.tolist(), noise, strict=True)
    ]


def row_of(
    model: Any,
    bound: BoundRule,
    row: int,
    drops: np.ndarray | None,
    is_noise: bool = False,
) -> Row:
    """One row by its name, with what was observed there."""
    drop = None if drops is None else float(drops[row])
    labels = getattr(model, "_row_names", None)
    name = plain(row if labels is None else labels[row])
    return Row(name, _observed(model, bound, row), drop, is_noise)


def speaks_of_rows(bound: BoundRule) -> bool:
    """Whether a single row can break the rule: functions have slopes, rows have not."""
    return bound.is_checkable and not bound.slopes


def rows_in_region(model: Any, bound: BoundRule) -> int | None:
    """How many rows a rule speaks about; None where no row can break it."""
    return int(bound.applies(model._X).sum()) if speaks_of_rows(bound) else None


def say_rows(rows: Sequence[Row]) -> str:
    """Rows by name."""
    if len(rows) == 1:
        return f"row {rows[0].name}"
    return f"{len(rows)} rows: {listed(row.name for row in rows)}"


def say_values(rows: Sequence[Row]) -> str:
    """What was observed in them."""
    names = " / ".join(rows[0].observed)
    return f"{names} = {listed(row.values() for row in rows)}"


def _observed(model: Any, bound: BoundRule, row: int) -> dict[str, Any]:
    outputs, classes = model.schema_.outputs, model.schema_.classes
    if classes is not None:
        return {outputs[0]: classes[int(model._Y[row])]}
    chosen = bound.mentions("output") or range(len(outputs))
    return {outputs[i]: float(model._Y[row, i]) for i in chosen}


def _is_noise(model: Any, rows: np.ndarray) -> np.ndarray:
    """Whether the fitted model still expects such observations now and then."""
    X, Y = model._X[rows], model._Y[rows]
    if model.schema_.classes is not None:
        chances = model._predictive.probabilities(X)[np.arange(len(rows)), Y]
        return chances > _NOISE_PROBABILITY
    mean, sd = model._predictive.mean_and_sd(X)
    return (np.abs(Y - mean) <= _NOISE_SDS * sd).all(axis=1)


def _may_hold(model: Any, bound: BoundRule, rows: np.ndarray) -> np.ndarray:
    """Whether functions that have not met the rule keep it at these rows anyway."""
    X = model._X[rows]
    holds = bound.holds(X, model._rule_values(X, 1000))
    return holds.mean(axis=0) > _NOISE_PROBABILITY


def _spelled(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)
