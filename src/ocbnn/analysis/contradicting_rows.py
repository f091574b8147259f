"""Data rows that a rule disagrees with, as plain data."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ocbnn.core.plain import plain
from ocbnn.core.words import listing, spell
from ocbnn.fitted import FittedModel
from ocbnn.metrics.excess import excess
from ocbnn.rules import BoundRule

# A measurement is hardly ever off by more than two standard deviations of the noise,
# and what is observed is hardly ever a class of so small a chance.
NOISE_SDS, _NOISE_PROBABILITY = 2.0, 0.05
_MOST_NOISES = 200


@dataclasses.dataclass(frozen=True)
class ContradictingRow:
    """One data row that a rule disagrees with.

    Attributes
    ----------
    name
        Its number, counted from 0; its label in a data frame's index; or its
        number in the table that `ocbnn fit` read, counted from 1.
    observed
        Its outputs that the rule speaks of, by name, or its class.
    drop
        How much lower its log likelihood is with the rule; None when unknown.
    excess
        By how much it breaks the rule, in standard deviations of the noise;
        None for classes.
    is_noise
        Whether noise alone may carry it that far: two standard deviations at
        most, or for a class a chance of more than one in twenty.
    is_missed
        Whether the model that was fitted with the rule predicts something
        more than two standard deviations away.
    """

    name: Any
    observed: dict[str, Any]
    drop: float | None = None
    excess: float | None = None
    is_noise: bool = False
    is_missed: bool = False

    def values(self) -> str:
        """The outputs, as short as they can be said."""
        return " / ".join(_spelled(value) for value in self.observed.values())


def contradicting_rows(
    model: FittedModel, bound: BoundRule, drops: np.ndarray | None, *, is_fitted: bool
) -> list[ContradictingRow]:
    """Rows of the model's data whose own observation breaks the rule."""
    if not speaks_of_rows(bound):
        return []
    wrong = np.flatnonzero(~bound.holds(model.rows.X, model.rows.Y))
    if not len(wrong):
        return []
    rows = [row_of(model, bound, row, drops) for row in wrong.tolist()]
    judged = _classes if model.schema.classes is not None else _numbers
    return [
        dataclasses.replace(row, **found)
        for row, found in zip(
            rows, judged(model, bound, wrong, is_fitted=is_fitted), strict=True
        )
    ]


def row_of(
    model: FittedModel, bound: BoundRule, row: int, drops: np.ndarray | None
) -> ContradictingRow:
    """One row by its name, with what was observed there."""
    drop = None if drops is None else float(drops[row])
    name = plain(model.rows.name(row))
    return ContradictingRow(name, _observed(model, bound, row), drop)


def speaks_of_rows(bound: BoundRule) -> bool:
    """Whether a single row can break the rule: functions have slopes, rows have not."""
    return bound.is_checkable and not bound.slopes


def rows_in_region(model: FittedModel, bound: BoundRule) -> int | None:
    """How many rows a rule speaks about; None where no row can break it."""
    return int(bound.applies(model.rows.X).sum()) if speaks_of_rows(bound) else None


def say_rows(rows: Sequence[ContradictingRow]) -> str:
    """Rows by name."""
    if len(rows) == 1:
        return f"row {rows[0].name}"
    return f"{len(rows)} rows: {listing((row.name for row in rows), 6)}"


def say_values(rows: Sequence[ContradictingRow]) -> str:
    """What was observed in them."""
    names = " / ".join(rows[0].observed)
    return f"{names} = {listing((row.values() for row in rows), 6)}"


def say_noise(rows: Sequence[ContradictingRow]) -> str:
    """That noise may have carried them across, and how far it would have."""
    breaks = f"{say_rows(rows).capitalize()} break{'s' * (len(rows) == 1)} it"
    far = [row.excess for row in rows if row.excess is not None]
    if not far:
        return f"{breaks} as it may happen now and then"
    most = f"{max(far):.2g}" if len(far) == 1 else f"at most {max(far):.2g}"
    return f"{breaks} by {most} standard deviations of the noise, as noise alone may do"


def say_missed(rows: Sequence[ContradictingRow]) -> Iterator[str]:
    """That the fit lies far from some of the rows that break a rule."""
    missed = [row for row in rows if row.is_missed]
    if missed:
        yield (
            f"The fit lies more than two standard deviations from {say_rows(missed)}."
        )


def pulled(
    against: Sequence[ContradictingRow], within_noise: Sequence[ContradictingRow]
) -> list[ContradictingRow]:
    """Rows that a rule pulls against: too far beyond it, or far from the fit."""
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
    """By how much observations break the rule, and whether the fit misses them."""
    X, Y = model.rows.X[rows], model.rows.Y[rows]
    noise = model.predictive.noise_at(X, _MOST_NOISES).mean(axis=0)
    far = excess(bound, X, Y, noise)
    missed = np.zeros(len(rows), bool)
    if is_fitted:
        mean, sd = model.predictive.mean_and_sd(X)
        chosen = bound.mentions("output") or list(range(Y.shape[1]))
        missed = np.any(np.abs(Y - mean)[:, chosen] > NOISE_SDS * sd[:, chosen], axis=1)
    return [
        {
            "excess": float(one),
            "is_noise": bool(one <= NOISE_SDS),
            "is_missed": bool(other),
        }
        for one, other in zip(far, missed, strict=True)
    ]


def _classes(
    model: FittedModel, bound: BoundRule, rows: np.ndarray, *, is_fitted: bool
) -> list[dict[str, Any]]:
    """Whether the model still expects such classes now and then."""
    X, Y = model.rows.X[rows], model.rows.Y[rows]
    if is_fitted:
        chances = model.predictive.probabilities(X)[np.arange(len(rows)), Y]
    else:
        # Whether functions that have not met the rule keep it at these rows anyway.
        chances = bound.holds(X, model.rule_values(X, 1000)).mean(axis=0)
    return [{"is_noise": bool(chance > _NOISE_PROBABILITY)} for chance in chances]


def _spelled(value: Any) -> str:
    if not isinstance(value, (float, np.floating)):
        return str(value)
    # A large number is told as the table has it; who knows what differs in it?
    return spell(float(value), digits=4 if abs(value) < 1e4 else 12)
