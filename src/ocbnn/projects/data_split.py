"""Splits of rows into those to fit and those to score."""

import dataclasses

import numpy as np
from jaxtyping import Bool

from ocbnn.projects.columns import Rows
from ocbnn.rules import Schema

# Without held-out rows, this many are scored: enough for two digits.
_SCORED = 2000
# Largest number of held-out rows scored, of a table that is not in memory.
_MOST_SCORED = 100_000
# Beyond this many rows, each is held out independently: a permutation of all rows would
# take too much memory.
_ORDERED = 1_000_000


@dataclasses.dataclass(frozen=True)
class DataSplit:
    """Rows to fit and rows to score.

    Attributes
    ----------
    schema
        The names of inputs and outputs, and the classes.
    fitted
        Inputs and outputs to fit, in memory or in files.
    scored
        Inputs and outputs to score.
    held_out
        Number of rows that the fit never sees.
    dropped
        Rows left out because a value was missing.
    numbers
        Which rows of the table are fitted, counted from 1.
    """

    schema: Schema
    fitted: tuple[np.ndarray, np.ndarray]
    scored: tuple[np.ndarray, np.ndarray]
    held_out: int
    dropped: int
    numbers: np.ndarray

    @property
    def rows(self) -> int:
        """The number of fitted rows."""
        return len(self.fitted[0])


@dataclasses.dataclass(frozen=True)
class SplitRows:
    """Indices of the rows to fit and of the rows to score."""

    fitted: np.ndarray
    scored: np.ndarray
    held_out: bool


def split(rows: int, holdout: float, seed: int) -> SplitRows:
    """Hold out a share of the rows; if it is zero, score some of the fitted rows.

    >>> rows = split(10, 0.2, seed=0)
    >>> len(rows.fitted), len(rows.scored), len({*rows.fitted, *rows.scored})
    (8, 2, 10)
    """
    order = np.random.default_rng(seed).permutation(rows)
    count = min(max(round(holdout * rows), 1), rows - 1)
    if not holdout:
        return SplitRows(np.arange(rows), np.sort(order[:_SCORED]), held_out=False)
    return SplitRows(np.sort(order[count:]), np.sort(order[:count]), held_out=True)


def parts_of(rows: Rows, holdout: float, seed: int) -> DataSplit:
    """Split rows that are in memory."""
    indices = split(len(rows.X), holdout, seed)
    return DataSplit(
        rows.schema,
        (rows.X[indices.fitted], rows.y[indices.fitted]),
        (rows.X[indices.scored], rows.y[indices.scored]),
        len(indices.scored) if indices.held_out else 0,
        rows.dropped,
        rows.numbers[indices.fitted],
    )


@dataclasses.dataclass(frozen=True)
class RowMarks:
    """For every row, whether it is fitted and whether it is scored."""

    fitted: Bool[np.ndarray, " rows"]
    scored: Bool[np.ndarray, " rows"]


def mark(rows: int, holdout: float, seed: int) -> RowMarks:
    """Like `split`, for any number of rows, with two bytes per row."""
    marks = RowMarks(np.ones(rows, bool), np.zeros(rows, bool))
    rng = np.random.default_rng(seed)
    if rows <= _ORDERED:
        indices = split(rows, holdout, seed)
        scored = indices.scored
        if indices.held_out:
            marks.fitted[scored] = False
        if len(scored) > _MOST_SCORED:
            scored = rng.choice(scored, _MOST_SCORED, replace=False)
        marks.scored[scored] = True
        return marks
    most = _MOST_SCORED if holdout else _SCORED
    share = min(holdout or 1.0, most / rows)
    for start in range(0, rows, _ORDERED):
        block = slice(start, start + _ORDERED)
        uniform = rng.random(len(marks.fitted[block]))
        marks.fitted[block] = uniform >= holdout
        marks.scored[block] = uniform < share
    return marks
