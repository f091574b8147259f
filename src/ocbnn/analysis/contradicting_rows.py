"""Data rows that violate a rule, as plain data."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ocbnn.core.plain import plain
from ocbnn.core.words import listing, spell
from ocbnn.fitted import FittedModel
from ocbnn.metrics.excess import excess
from ocbnn.rules import BoundRule

# Noise rarely exceeds two standard deviations, and a class of this probability is
# rarely observed.
NOISE_SDS, _RARE = 2.0, 0.05
_MAX_DRAWS = 200


@dataclasses.dataclass(frozen=True)
class ContradictingRow:
    """One data row that violates a rule.

    Attributes
    ----------
    name
        Its number, counted from 0; its label in a data frame's index; or its
        number in the table that `ocbnn fit` read, counted from 1.
    observed
        Its outputs that the rule mentions, by name, or its class.
    drop
        How much lower its log likelihood is with the rule; None when unknown.
    excess
        By how much it violates the rule, in standard deviations of the noise;
        None for classes.
    is_noise
        Whether noise alone may explain it: at most two standard deviations, or a
        class with a probability of more than one in twenty.
    is_missed
        Whether the model that was fitted with the rule predicts a value more than
        two standard deviations away.
    """

    name: Any
    observed: dict[str, Any]
    drop: float | None = None
    excess: float | None = None
    is_noise: bool = False
    is_missed: bool = False

    def values(self) -> str:
        """The outputs, in as few digits as possible."""
        return " / ".join(_spell_value(value) for value in self.observed.values())


def contradicting_rows(
    model: FittedModel, bound: BoundRule, drops: np.ndarray | None, *, is_fitted: bool
) -> list[ContradictingRow]:
    """Rows of the model's data whose own observation violates the rule."""
    if not speaks_of_rows(bound):
        return []
    violating = np.flatnonzero(~bound.holds(model.rows.X, model.rows.Y))
    if not len(violating):
        return []
    rows = [row_of(model, bound, row, drops) for row in violating.tolist()]
    judge = _classes if model.schema.classes is not None else _numbers
    return [
        dataclasses.replace(row, **judgement)
        for row, judgement in zip(
            rows, judge(model, bound, violating, is_fitted=is_fitted), strict=True
        )
    ]


def row_of(
    model: FittedModel, bound: BoundRule, row: int, drops: np.ndarray | None
) -> ContradictingRow:
    """One row by its name, with its observed outputs."""
    drop = None if drops is None else float(drops[row])
    name = plain(model.rows.name(row))
    return ContradictingRow(name, _observed(model, bound, row), drop)


def speaks_of_rows(bound: BoundRule) -> bool:
    """Whether a single row can violate the rule: functions have slopes, rows do not."""
    return bound.is_checkable and not bound.slopes


def rows_in_region(model: FittedModel, bound: BoundRule) -> int | None:
    """How many rows a rule applies to; None if no row can violate it."""
    return int(bound.applies(model.rows.X).sum()) if speaks_of_rows(bound) else None


def say_rows(rows: Sequence[ContradictingRow]) -> str:
    """Rows by name."""
    if len(rows) == 1:
        return f"row {rows[0].name}"
    return f"{len(rows)} rows: {listing((row.name for row in rows), 6)}"


def say_values(rows: Sequence[ContradictingRow]) -> str:
    """The observed outputs of rows."""
    names = " / ".join(rows[0].observed)
    return f"{names} = {listing((row.values() for row in rows), 6)}"


def say_noise(rows: Sequence[ContradictingRow]) -> str:
    """That noise may explain why rows violate a rule, and by how much they do."""
    violates = f"{say_rows(rows).capitalize()} violate{'s' * (len(rows) == 1)} it"
    excesses = [row.excess for row in rows if row.excess is not None]
    if not excesses:
        return f"{violates}, as may happen by chance"
    amount = (
        f"{max(excesses):.2g}" if len(excesses) == 1 else f"at most {max(excesses):.2g}"
    )
    by = f"by {amount} standard deviations of the noise"
    return f"{violates} {by}, as noise alone may do"


def say_missed(rows: Sequence[ContradictingRow]) -> Iterator[str]:
    """That the fit lies far from some of the rows that violate a rule."""
    missed = [row for row in rows if row.is_missed]
    if missed:
        yield (
            f"The fit lies more than two standard deviations from {say_rows(missed)}."
        )


def pulled(
    against: Sequence[ContradictingRow], within_noise: Sequence[ContradictingRow]
) -> list[ContradictingRow]:
    """Rows that a rule pulls against: far outside of it, or missed by the fit."""
    return [*against, *(row for row in within_noise if row.is_missed)]


def _observed(model: FittedModel, bound: BoundRule, row: int) -> dict[str, Any]:
    outputs, classes = model.schema.outputs, model.schema.classes
    if classes is not None:
        return {outputs[0]: classes[int(model.rows.Y[row])]}
    chosen = bound.mentions("output") or range(len(outputs))
    return {outputs[i]: float(model.rows.Y[row, i]) for i in chosen}


def _numbers(
    model: FittedModel, bound: BoundRule, rows: np.ndarray, *, is_fitted: bool
) -> list[dict[str, Any]]:
    """By how much observations violate the rule, and whether the fit misses them."""
    X, Y = model.rows.X[rows], model.rows.Y[rows]
    noise = model.predictive.noise_at(X, _MAX_DRAWS).mean(axis=0)
    excesses = excess(bound, X, Y, noise)
    missed = np.zeros(len(rows), bool)
    if is_fitted:
        mean, sd = model.predictive.mean_and_sd(X)
        chosen = bound.mentions("output") or list(range(Y.shape[1]))
        missed = np.any(np.abs(Y - mean)[:, chosen] > NOISE_SDS * sd[:, chosen], axis=1)
    return [
        {
            "excess": float(size),
            "is_noise": bool(size <= NOISE_SDS),
            "is_missed": bool(is_missed),
        }
        for size, is_missed in zip(excesses, missed, strict=True)
    ]


def _classes(
    model: FittedModel, bound: BoundRule, rows: np.ndarray, *, is_fitted: bool
) -> list[dict[str, Any]]:
    """Whether the model gives the observed classes enough probability."""
    X, Y = model.rows.X[rows], model.rows.Y[rows]
    if is_fitted:
        probabilities = model.predictive.probabilities(X)[np.arange(len(rows)), Y]
    else:
        # A proposed rule: how many functions keep it at these rows without it.
        probabilities = bound.holds(X, model.rule_values(X, 1000)).mean(axis=0)
    return [{"is_noise": bool(probability > _RARE)} for probability in probabilities]


def _spell_value(value: Any) -> str:
    if not isinstance(value, (float, np.floating)):
        return str(value)
    # Rows of large numbers may differ only in their last digits.
    return spell(float(value), digits=4 if abs(value) < 1e4 else 12)
