"""Predictions that no hard rule forbids, whatever the input.

At a row of a hard rule's region an observation is known to be allowed. Each draw's
normal is cut down to what the rules leave there, or each draw's softmax to the classes
they leave; what is answered is checked against the rules as they are written, and is
never given when one of them is broken.
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
# Observations in all, so that few draws make several each.
_OBSERVATIONS = 1000
_ROOM = 2**21
_SEED = 20190501


@dataclasses.dataclass(frozen=True)
class ConstrainedPredictive:
    """Draws that keep the hard rules, and those rules, none of them about slopes.

    Asked like a `Predictive`. Rows outside every hard region are answered by it.
    """

    inner: Predictive
    rules: tuple[BoundRule, ...]

    @property
    def size(self) -> int:
        """The number of draws."""
        return self.inner.size

    def functions(self, X: Rows, most: int | None = None) -> FunctionValues:
        """Every draw's function, at its nearest allowed value where it breaks a rule.

        For classes, logits: minus infinity for a class that is forbidden.
        """
        values = self.inner.functions(X, most)
        if self._has_classes:
            masked = np.where(self._classes(X), values, -np.inf)
            return masked
        for rows, here in self._places(X):
            values[:, rows] = here.functions(values[:, rows])
            refuse_broken(self.rules, X[rows], values[:, rows])
        return values

    def slopes(
        self, X: Rows, alongs: Sequence[Along], most: int | None = None
    ) -> dict[Along, FunctionValues]:
        """Derivatives of the draws' functions, before any is moved."""
        return self.inner.slopes(X, alongs, most)

    def mean_and_sd(self, X: Rows) -> tuple[Table, Table]:
        """An allowed value to predict at every row, and an observation's spread."""
        mean, sd = self.inner.mean_and_sd(X)
        for rows, here in self._places(X):
            mean[rows], sd[rows] = here.moments()
            refuse_broken(self.rules, X[rows], mean[rows])
        return mean, sd

    def interval(self, X: Rows, level: float, *, observed: bool) -> tuple[Table, Table]:
        """Central interval of the function, or of an observation of it.

        Each end is a value that its output may have.
        """
        low, high = self.inner.interval(X, level, observed=observed)
        for rows, here in self._places(X):
            if observed:
                ends = self._ends(here, level)
            else:
                values = self.inner.functions(X[rows])
                ends = central(here.functions(values), level)
            low[rows], high[rows] = ends
            self._check_ends(X[rows], here, ends)
        return low, high

    def summary(self, X: Rows, level: float) -> Summary:
        """What `mean_and_sd` and `interval` answer, with one look at the functions."""
        found = self.inner.summary(X, level)
        for rows, here in self._places(X):
            found.mean[rows], found.sd[rows] = here.moments()
            refuse_broken(self.rules, X[rows], found.mean[rows])
            ends = self._ends(here, level)
            found.lower[rows], found.upper[rows] = ends
            self._check_ends(X[rows], here, ends)
        return found

    def probabilities(self, X: Rows) -> Float[np.ndarray, "rows classes"]:
        """Mean class probabilities over the draws, zero where a class is forbidden."""
        means = self.inner.probabilities(X)
        allowed = self._classes(X)
        for rows in self._blocks(np.flatnonzero(~allowed.all(axis=1)), 1):
            logits = self.inner.functions(X[rows])
            masked = np.where(allowed[rows], logits, -np.inf)
            mean = softmax(masked, axis=-1).mean(axis=0)
            means[rows] = mean / mean.sum(axis=1, keepdims=True)
        return means

    def noise(self) -> Float[np.ndarray, "draws outputs"] | None:
        """Every draw's noise where it is one for all inputs; zero for classes."""
        return self.inner.noise()

    def noise_at(self, X: Rows, most: int | None = None) -> FunctionValues:
        """Every draw's noise at every row, before observations are cut down."""
        return self.inner.noise_at(X, most)

    def limits(self) -> Limits | None:
        """The least and the greatest observation there can be anywhere."""
        return self.inner.limits()

    @property
    def _has_classes(self) -> bool:
        return isinstance(self.inner.likelihood, Categorical)

    def _classes(self, X: Rows) -> Bool[np.ndarray, "rows classes"]:
        """Which classes the rules leave at each row, at least one."""
        allowed = classes_left(self.rules, X, self.inner.network.outputs)
        empty = np.flatnonzero(~allowed.any(axis=1))
        if empty.size:
            refuse_row(self.rules, X[empty[0]])
        return allowed

    def _places(
        self, X: Rows
    ) -> Iterator[tuple[np.ndarray, IndependentOutputs | JointOutputs]]:
        """The rows inside hard regions, some at a time, with what the draws say."""
        inside = np.zeros(len(X), dtype=bool)
        for bound in self.rules:
            inside |= bound.applies(X)
        found = np.flatnonzero(inside)
        if not found.size:
            return
        outputs = self.inner.network.outputs
        pieces = allowed_pieces(self.rules, X[found], outputs)
        low, high = self._within_limits(pieces.low, pieces.high)
        possible = (~np.isnan(low)).any(axis=-1).all(axis=-1)
        if not possible.all():
            refuse_row(self.rules, X[found[np.flatnonzero(~possible)[0]]])
        for is_joint in (False, True):
            chosen = np.flatnonzero(pieces.is_joint == is_joint)
            for some in self._blocks(chosen, outputs * low.shape[-1]):
                rows = found[some]
                noise = self.inner.noise_at(X[rows])
                values = self.inner.functions(X[rows])
                ends = low[some], high[some]
                here = IndependentOutputs(self.rules, X[rows], values, noise, *ends)
                yield rows, (JointOutputs(here, self._below()) if is_joint else here)

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
        """Numbers of rows, as many at a time as there is memory for."""
        draws = max(self.size, _OBSERVATIONS)
        room = 2 ** int(np.log2(max(16, _ROOM // (draws * width))))
        for start in range(0, len(rows), room):
            yield rows[start : start + room]

    def _below(self) -> Float[np.ndarray, "steps draws 1 outputs"]:
        """Which observation each draw makes: evenly spread, and the same every time."""
        steps = -(-_OBSERVATIONS // self.size)
        outputs, count = self.inner.network.outputs, steps * self.size
        rng = np.random.default_rng(_SEED)
        places = np.stack([rng.permutation(count) for _ in range(outputs)], axis=-1)
        return ((places + 0.5) / count).reshape(steps, self.size, 1, outputs)

    def _ends(
        self, here: IndependentOutputs | JointOutputs, level: float
    ) -> tuple[Table, Table]:
        if isinstance(here, JointOutputs):
            return here.ends(level)
        return here.ends(level, self._below())

    def _check_ends(
        self,
        X: Rows,
        here: IndependentOutputs | JointOutputs,
        ends: tuple[Table, Table],
    ) -> None:
        # Both ends of several outputs are no observation: rules that tie outputs
        # together say nothing about the corners of the box that the ends make.
        if isinstance(here, IndependentOutputs) or self.inner.network.outputs == 1:
            for end in ends:
                refuse_broken(self.rules, X, end)
