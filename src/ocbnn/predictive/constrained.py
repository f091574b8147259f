"""Predictions that no hard rule forbids, at any input.

In a hard rule's region an observation is known to be allowed. Each draw's normal is
truncated to the values that the rules allow, or its softmax to the classes that they
allow. Every prediction is checked against the rules as they are written, and an error
is raised if it violates one.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import softmax

from ocbnn.core.types import Along
from ocbnn.posterior import Categorical
from ocbnn.predictive.allowed_values import classes_left, refuse_broken, refuse_row
from ocbnn.predictive.independent_outputs import IndependentOutputs, central
from ocbnn.predictive.joint_outputs import JointOutputs
from ocbnn.predictive.predictive import FunctionValues, Limits, Predictive, Summary
from ocbnn.rules import BoundRule
from ocbnn.rules.pieces import allowed_pieces

Rows = Float[np.ndarray, "rows inputs"]
Table = Float[np.ndarray, "rows outputs"]
# Observations in all; few draws make several each.
_OBSERVATIONS = 1000
_MAX_VALUES = 2**21
_SEED = 20190501


@dataclasses.dataclass(frozen=True)
class ConstrainedPredictive:
    """Draws that keep the hard rules, and those rules, none of them about slopes.

    It has the methods of `Predictive`, which it uses for rows outside all hard regions.
    """

    inner: Predictive
    rules: tuple[BoundRule, ...]

    @property
    def size(self) -> int:
        """The number of draws."""
        return self.inner.size

    def functions(self, X: Rows, most: int | None = None) -> FunctionValues:
        """Every draw's function values, moved to the nearest allowed ones.

        For classes, logits, which are minus infinity for forbidden classes.
        """
        values = self.inner.functions(X, most)
        if self._has_classes:
            masked = np.where(self._allowed_classes(X), values, -np.inf)
            return masked
        for rows, outputs in self._hard_rows(X):
            values[:, rows] = outputs.functions(values[:, rows])
            refuse_broken(self.rules, X[rows], values[:, rows])
        return values

    def slopes(
        self, X: Rows, alongs: Sequence[Along], most: int | None = None
    ) -> dict[Along, FunctionValues]:
        """Derivatives of the draws' functions, before any value is moved."""
        return self.inner.slopes(X, alongs, most)

    def mean_and_sd(self, X: Rows) -> tuple[Table, Table]:
        """An allowed value to predict at every row, and an observation's spread."""
        mean, sd = self.inner.mean_and_sd(X)
        for rows, outputs in self._hard_rows(X):
            mean[rows], sd[rows] = outputs.moments()
            refuse_broken(self.rules, X[rows], mean[rows])
        return mean, sd

    def interval(self, X: Rows, level: float, *, observed: bool) -> tuple[Table, Table]:
        """Central interval of the function, or of an observation of it.

        Each end is a value that its output may have.
        """
        low, high = self.inner.interval(X, level, observed=observed)
        for rows, outputs in self._hard_rows(X):
            if observed:
                ends = self._ends(outputs, level)
            else:
                values = self.inner.functions(X[rows])
                ends = central(outputs.functions(values), level)
            low[rows], high[rows] = ends
            self._check_ends(X[rows], outputs, ends)
        return low, high

    def summary(self, X: Rows, level: float) -> Summary:
        """The results of `mean_and_sd` and `interval`, in one pass over functions."""
        summary = self.inner.summary(X, level)
        for rows, outputs in self._hard_rows(X):
            summary.mean[rows], summary.sd[rows] = outputs.moments()
            refuse_broken(self.rules, X[rows], summary.mean[rows])
            ends = self._ends(outputs, level)
            summary.lower[rows], summary.upper[rows] = ends
            self._check_ends(X[rows], outputs, ends)
        return summary

    def probabilities(self, X: Rows) -> Float[np.ndarray, "rows classes"]:
        """Mean class probabilities over the draws, zero for forbidden classes."""
        means = self.inner.probabilities(X)
        allowed = self._allowed_classes(X)
        for rows in self._blocks(np.flatnonzero(~allowed.all(axis=1)), 1):
            logits = self.inner.functions(X[rows])
            masked = np.where(allowed[rows], logits, -np.inf)
            mean = softmax(masked, axis=-1).mean(axis=0)
            means[rows] = mean / mean.sum(axis=1, keepdims=True)
        return means

    def noise(self) -> Float[np.ndarray, "draws outputs"] | None:
        """Every draw's noise if it is the same for all inputs; zero for classes."""
        return self.inner.noise()

    def noise_at(self, X: Rows, most: int | None = None) -> FunctionValues:
        """Every draw's noise at every row, before truncation."""
        return self.inner.noise_at(X, most)

    def limits(self) -> Limits | None:
        """The least and the greatest possible observation at any input."""
        return self.inner.limits()

    @property
    def _has_classes(self) -> bool:
        return isinstance(self.inner.likelihood, Categorical)

    def _allowed_classes(self, X: Rows) -> Bool[np.ndarray, "rows classes"]:
        """Which classes the rules allow at each row, at least one."""
        allowed = classes_left(self.rules, X, self.inner.network.outputs)
        empty = np.flatnonzero(~allowed.any(axis=1))
        if empty.size:
            refuse_row(self.rules, X[empty[0]])
        return allowed

    def _hard_rows(
        self, X: Rows
    ) -> Iterator[tuple[np.ndarray, IndependentOutputs | JointOutputs]]:
        """The rows inside hard regions, in blocks, with their allowed outputs."""
        inside = np.zeros(len(X), dtype=bool)
        for bound in self.rules:
            inside |= bound.applies(X)
        hard_rows = np.flatnonzero(inside)
        if not hard_rows.size:
            return
        width = self.inner.network.outputs
        pieces = allowed_pieces(self.rules, X[hard_rows], width)
        low, high = self._within_limits(pieces.low, pieces.high)
        possible = (~np.isnan(low)).any(axis=-1).all(axis=-1)
        if not possible.all():
            refuse_row(self.rules, X[hard_rows[np.flatnonzero(~possible)[0]]])
        for is_joint in (False, True):
            chosen = np.flatnonzero(pieces.is_joint == is_joint)
            for block in self._blocks(chosen, width * low.shape[-1]):
                rows = hard_rows[block]
                noise = self.inner.noise_at(X[rows])
                values = self.inner.functions(X[rows])
                ends = low[block], high[block]
                independent = IndependentOutputs(
                    self.rules, X[rows], values, noise, *ends
                )
                if is_joint:
                    yield rows, JointOutputs(independent, self._below())
                else:
                    yield rows, independent

    def _within_limits(
        self, low: np.ndarray, high: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        limits = self.inner.limits()
        if limits is None:
            return low, high
        low = np.maximum(low, limits[0][:, None])
        high = np.minimum(high, limits[1][:, None])
        is_empty = ~(low <= high)
        return np.where(is_empty, np.nan, low), np.where(is_empty, np.nan, high)

    def _blocks(self, rows: np.ndarray, width: int) -> Iterator[np.ndarray]:
        """Row numbers in blocks that fit in memory."""
        draws = max(self.size, _OBSERVATIONS)
        block_size = 2 ** int(np.log2(max(16, _MAX_VALUES // (draws * width))))
        for start in range(0, len(rows), block_size):
            yield rows[start : start + block_size]

    def _below(self) -> Float[np.ndarray, "steps draws 1 outputs"]:
        """Quantile levels of each draw's observations, evenly spread and repeatable."""
        steps = -(-_OBSERVATIONS // self.size)
        outputs, count = self.inner.network.outputs, steps * self.size
        rng = np.random.default_rng(_SEED)
        places = np.stack([rng.permutation(count) for _ in range(outputs)], axis=-1)
        return ((places + 0.5) / count).reshape(steps, self.size, 1, outputs)

    def _ends(
        self, outputs: IndependentOutputs | JointOutputs, level: float
    ) -> tuple[Table, Table]:
        if isinstance(outputs, JointOutputs):
            return outputs.ends(level)
        return outputs.ends(level, self._below())

    def _check_ends(
        self,
        X: Rows,
        outputs: IndependentOutputs | JointOutputs,
        ends: tuple[Table, Table],
    ) -> None:
        # Ends of several outputs are not an observation: rules that tie outputs
        # together say nothing about the corners of the box between the ends.
        if isinstance(outputs, IndependentOutputs) or self.inner.network.outputs == 1:
            for end in ends:
                refuse_broken(self.rules, X, end)
