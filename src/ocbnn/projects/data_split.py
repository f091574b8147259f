"""Which rows a model is fitted to, and which rows it is scored on."""

import dataclasses

import numpy as np
from jaxtyping import Bool

from ocbnn.projects.columns import Rows
from ocbnn.rules import Schema

# Rows enough to tell a score to two digits, where none are held out.
_SCORED = 2000
# Held-out rows that are scored at most, of a table that is not in memory.
_MOST_SCORED = 100_000
# Rows beyond which each is held out by a chance of its own: to put all in a random
# order takes too much memory.
_ORDERED = 1_000_000


@dataclasses.dataclass(frozen=True)
class DataSplit:
    """Rows to fit to and rows to score on.

    Attributes
    ----------
    schema
        The names of inputs and outputs, and the classes.
    fitted
        Inputs and outputs to fit to, in memory or in files.
    scored
        Those to score on.
    held_out
        How many rows the fit never sees.
    dropped
        Rows left out because a value was missing.
    numbers
        Which rows of the table are fitted to, counted from 1.
    """

    schema: Schema
    fitted: tuple[np.ndarray, np.ndarray]
    scored: tuple[np.ndarray, np.ndarray]
    held_out: int
    dropped: int
    numbers: np.ndarray

    @property
    def rows(self) -> int:
        """How many rows are fitted to."""
        return len(self.fitted[0])


@dataclasses.dataclass(frozen=True)
class SplitRows:
    """Numbers of rows to fit to, and of rows to score on."""

    fitted: np.ndarray
    scored: np.ndarray
    held_out: bool


def split(rows: int, holdout: float, seed: int) -> SplitRows:
    """Hold out a share of the rows; without one, score some that are fitted to.

    >>> one = split(10, 0.2, seed=0)
    >>> len(one.fitted), len(one.scored), len({*one.fitted, *one.scored})
    (8, 2, 10)
    """
    order = np.random.default_rng(seed).permutation(rows)
    count = min(max(round(holdout * rows), 1), rows - 1)
    if not holdout:
        return SplitRows(np.arange(rows), np.sort(order[:_SCORED]), held_out=False)
    return SplitRows(np.sort(order[count:]), np.sort(order[:count]), held_out=True)


def parts_of(rows: Rows, holdout: float, seed: int) -> DataSplit:
    """Rows in memory, divided."""
    one = split(len(rows.X), holdout, seed)
    return DataSplit(
        rows.schema,
        (rows.X[one.fitted], rows.y[one.fitted]),
        (rows.X[one.scored], rows.y[one.scored]),
        len(one.scored) if one.held_out else 0,
        rows.dropped,
        rows.numbers[one.fitted],
    )


@dataclasses.dataclass(frozen=True)
class RowMarks:
    """For every row, whether it is fitted to and whether it is scored."""

    fitted: Bool[np.ndarray, " rows"]
    scored: Bool[np.ndarray, " rows"]


def mark(rows: int, holdout: float, seed: int) -> RowMarks:
    """As `split`, for any number of rows, with two bytes for each."""
    marks = RowMarks(np.ones(rows, bool), np.zeros(rows, bool))
    rng = np.random.default_rng(seed)
    if rows <= _ORDERED:
        one = split(rows, holdout, seed)
        scored = one.scored
        if one.held_out:
            marks.fitted[scored] = False
        if len(scored) > _MOST_SCORED:
            scored = rng.choice(scored, _MOST_SCORED, replace=False)
        marks.scored[scored] = True
        return marks
    most = _MOST_SCORED if holdout else _SCORED
    share = min(holdout or 1.0, most / rows)
    for start in range(0, rows, _ORDERED):
        place = slice(start, start + _ORDERED)
        chance = rng.random(len(marks.fitted[place]))
        marks.fitted[place] = chance >= holdout
        marks.scored[place] = chance < share
    return marks
