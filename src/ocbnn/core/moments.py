"""Means, spreads and ranges of columns, gathered block by block."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class ColumnMoments(NamedTuple):
    """What is known of the columns of some rows.

    Attributes
    ----------
    rows
        How many there are.
    mean
        Each column's mean.
    rest
        What rounding took from it: a mean near a billion has few digits left for
        a spread of one, and both together have them all.
    squares
        The sum of squared distances from it.
    low
        Each column's least number.
    high
        Its greatest.
    """

    rows: int
    mean: Float[np.ndarray, " columns"]
    rest: Float[np.ndarray, " columns"]
    squares: Float[np.ndarray, " columns"]
    low: Float[np.ndarray, " columns"]
    high: Float[np.ndarray, " columns"]

    @classmethod
    def of(cls, block: np.ndarray) -> "ColumnMoments":
        """Those of rows in memory."""
        table = np.asarray(block, float)
        near = table.mean(axis=0)
        mean, rest = _sum(near, np.mean(table - near, axis=0))
        squares = np.sum((table - mean - rest) ** 2, axis=0)
        ends = table.min(axis=0), table.max(axis=0)
        return cls(len(table), mean, rest, squares, *ends)

    @classmethod
    def over(cls, blocks: Iterable[np.ndarray]) -> "ColumnMoments":
        """Those of all rows together.

        >>> ColumnMoments.over([np.array([[1.0]]), np.array([[2.0], [6.0]])]).scale
        array([2.1602469])
        """
        found = None
        for block in blocks:
            here = cls.of(block)
            found = here if found is None else found._joined(here)
        assert found is not None
        return found

    @property
    def scale(self) -> Float[np.ndarray, " columns"]:
        """Standard deviations; one for a column that never changes."""
        # Its spread would be rounding error, not always zero; its range is zero.
        deviation = np.sqrt(self.squares / self.rows)
        return np.where(self.high > self.low, deviation, 1.0)

    def _joined(self, other: "ColumnMoments") -> "ColumnMoments":
        # Sums of plain squares would cancel where means are large.
        rows = self.rows + other.rows
        apart = (other.mean - self.mean) + (other.rest - self.rest)
        share = other.rows / rows
        mean, rest = _sum(self.mean, self.rest + share * apart)
        return ColumnMoments(
            rows,
            mean,
            rest,
            self.squares + other.squares + apart**2 * self.rows * share,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


def _sum(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A sum and its rounding error, exactly, however large either is."""
    total = one + other
    back = total - one
    return total, (one - (total - back)) + (other - back)
