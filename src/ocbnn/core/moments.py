"""Means, spreads and ranges of columns, gathered block by block."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class ColumnMoments(NamedTuple):
    """Mean, spread and range of every column of some rows.

    Attributes
    ----------
    rows
        How many there are.
    mean
        Each column's mean.
    rest
        The rounding error of the mean: near a billion, a mean alone has too few
        digits left for a spread of one.
    squares
        The sum of squared distances from the mean.
    low
        Each column's smallest value.
    high
        Each column's largest value.
    """

    rows: int
    mean: Float[np.ndarray, " columns"]
    rest: Float[np.ndarray, " columns"]
    squares: Float[np.ndarray, " columns"]
    low: Float[np.ndarray, " columns"]
    high: Float[np.ndarray, " columns"]

    @classmethod
    def of(cls, block: np.ndarray) -> "ColumnMoments":
        """The moments of rows in memory."""
        table = np.asarray(block, float)
        rounded_mean = table.mean(axis=0)
        mean, rest = _sum(rounded_mean, np.mean(table - rounded_mean, axis=0))
        squares = np.sum((table - mean - rest) ** 2, axis=0)
        ends = table.min(axis=0), table.max(axis=0)
        return cls(len(table), mean, rest, squares, *ends)

    @classmethod
    def over(cls, blocks: Iterable[np.ndarray]) -> "ColumnMoments":
        """The moments of all blocks together.

        >>> ColumnMoments.over([np.array([[1.0]]), np.array([[2.0], [6.0]])]).scale
        array([2.1602469])
        """
        total = None
        for block in blocks:
            block_moments = cls.of(block)
            total = block_moments if total is None else total._joined(block_moments)
        assert total is not None
        return total

    @property
    def scale(self) -> Float[np.ndarray, " columns"]:
        """Standard deviations; one for a column that never changes."""
        # A constant column's deviation may be rounding error; its range is zero.
        deviation = np.sqrt(self.squares / self.rows)
        return np.where(self.high > self.low, deviation, 1.0)

    def _joined(self, other: "ColumnMoments") -> "ColumnMoments":
        # Sums of plain squares would cancel where means are large.
        rows = self.rows + other.rows
        shift = (other.mean - self.mean) + (other.rest - self.rest)
        share = other.rows / rows
        mean, rest = _sum(self.mean, self.rest + share * shift)
        return ColumnMoments(
            rows,
            mean,
            rest,
            self.squares + other.squares + shift**2 * self.rows * share,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


def _sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A sum and its rounding error, exactly, however large either is."""
    total = a + b
    rounded_b = total - a
    return total, (a - (total - rounded_b)) + (b - rounded_b)
