"""Rows at which rules tie outputs together or are nonlinear: rejection sampling.

Observations are drawn within each output's own pieces, and those that still violate a
rule are rejected. The others have the distribution of an allowed observation.
"""

import dataclasses
import functools

import numpy as np
from jaxtyping import Bool, Float

from ocbnn.predictive.allowed_values import all_hold, refuse_row
from ocbnn.predictive.independent_outputs import IndependentOutputs
from ocbnn.rules.interior import interior_points

Table = Float[np.ndarray, "rows outputs"]
# With fewer observations than this, function values are added to them.
_LEAST_OBSERVATIONS = 50
# How many outputs are tried if no draw is allowed, and at how many times the noise.
_TRIES, _FARTHER = 2000, (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)


@dataclasses.dataclass(frozen=True)
class JointOutputs:
    """Some rows, and observations of every draw there.

    Attributes
    ----------
    independent
        The same rows as if no rule tied outputs together.
    below
        Quantile levels of each draw's observations, (steps, draws, 1, outputs).
    """

    independent: IndependentOutputs
    below: Float[np.ndarray, "steps draws 1 outputs"]

    def moments(self) -> tuple[Table, Table]:
        """An allowed value to predict, and the spread of an observation.

        The value is the mean, or if that is forbidden the observation nearest to it.
        """
        pool, is_kept = self._pool
        count = is_kept.sum(axis=0)[:, None]
        kept = is_kept[..., None]
        mean = np.sum(np.where(kept, pool, 0.0), axis=0) / count
        square = np.where(kept, (pool - mean) ** 2, 0.0)
        sd = np.sqrt(np.sum(square, axis=0) / count)
        is_wrong = ~all_hold(self.independent.rules, self.independent.X, mean)
        for row in np.flatnonzero(is_wrong).tolist():
            mean[row] = self._nearest(row, mean[row][None])[0]
        return mean, sd

    def ends(self, level: float) -> tuple[Table, Table]:
        """Ends of each output's central interval, each of which was observed."""
        pool, is_kept = self._pool
        ordered = np.sort(np.where(is_kept[..., None], pool, np.inf), axis=0)
        count = is_kept.sum(axis=0)
        low, high = (
            np.clip(np.ceil(share * count).astype(int) - 1, 0, count - 1)
            for share in ((1 - level) / 2, (1 + level) / 2)
        )
        rows = np.arange(len(self.independent.X))
        return ordered[low, rows], ordered[high, rows]

    def functions(
        self, values: Float[np.ndarray, "some rows outputs"]
    ) -> Float[np.ndarray, "some rows outputs"]:
        """Function values; where one violates a rule, the nearest allowed one."""
        values = values.copy()
        is_wrong = ~all_hold(self.independent.rules, self.independent.X, values)
        for row in np.flatnonzero(is_wrong.any(axis=0)).tolist():
            violating = is_wrong[:, row]
            values[violating, row] = self._nearest(row, values[violating, row])
        return values

    def _nearest(
        self, row: int, wanted: Float[np.ndarray, "cases outputs"]
    ) -> Float[np.ndarray, "cases outputs"]:
        pool, is_kept = self._pool
        candidates = np.concatenate(
            [pool[is_kept[:, row], row], self._keeping_functions(row)]
        )
        size = self.independent.noise[:, row].mean(axis=0)
        gaps = (wanted[:, None] - candidates[None]) / size
        return candidates[np.argmin(np.sum(gaps**2, axis=-1), axis=1)]

    def _keeping_functions(self, row: int) -> Float[np.ndarray, "_ outputs"]:
        """Function values at a row that are allowed."""
        values = self.independent.values[:, [row]]
        return values[
            all_hold(self.independent.rules, self.independent.X[[row]], values)
        ]

    @functools.cached_property
    def _pool(
        self,
    ) -> tuple[Float[np.ndarray, "cases rows outputs"], Bool[np.ndarray, "cases rows"]]:
        """Observations, and which of them are allowed: at every row at least one."""
        pool = self.independent.observed(self.below)
        is_kept = all_hold(self.independent.rules, self.independent.X, pool)
        for row in np.flatnonzero(is_kept.sum(axis=0) < _LEAST_OBSERVATIONS).tolist():
            replacements = self._allowed_functions(row)
            slots = np.flatnonzero(~is_kept[:, row])[: len(replacements)]
            pool[slots, row] = replacements[: len(slots)]
            is_kept[slots, row] = True
        return pool, is_kept

    def _allowed_functions(self, row: int) -> Float[np.ndarray, "_ outputs"]:
        """Allowed function values; if there are none, all of them, moved."""
        keeping = self._keeping_functions(row)
        if len(keeping):
            return keeping
        values, x = self.independent.values[:, row], self.independent.X[row]
        size = self.independent.noise[:, row].mean(axis=0)
        active = [
            bound for bound in self.independent.rules if bound.applies(x[None])[0]
        ]
        centre = values.mean(axis=0)
        inner = interior_points(active, x, centre, size)
        inner = [point for point in inner if all_hold(active, x[None], point[None])[0]]
        inner = inner or self._sampled_around(row, centre, size)
        if not inner:
            refuse_row(self.independent.rules, x)
        return self._first_allowed(row, values, inner[0])

    def _sampled_around(
        self, row: int, centre: np.ndarray, size: np.ndarray
    ) -> list[np.ndarray]:
        """The nearest allowed outputs, sampled in ever larger neighbourhoods."""
        rng = np.random.default_rng(0)
        steps = rng.standard_normal((_TRIES, 1, len(centre)))
        for factor in _FARTHER:
            trials = centre + factor * size * steps
            allowed = trials[
                all_hold(self.independent.rules, self.independent.X[[row]], trials)
            ]
            if len(allowed):
                gaps = np.sum(((allowed - centre) / size) ** 2, axis=1)
                return [allowed[np.argmin(gaps)]]
        return []

    def _first_allowed(
        self, row: int, values: Float[np.ndarray, "draws outputs"], inner: np.ndarray
    ) -> Float[np.ndarray, "draws outputs"]:
        """The first allowed values on the way from each draw's to an inner one."""
        x = np.repeat(self.independent.X[[row]], len(values), axis=0)
        allowed = np.repeat(inner[None], len(values), axis=0)
        is_waiting = np.ones(len(values), dtype=bool)
        for step in np.linspace(0.0, 1.0, 65)[1:-1]:
            trial = values + step * (inner - values)
            is_first = is_waiting & all_hold(self.independent.rules, x, trial)
            allowed[is_first] = trial[is_first]
            is_waiting &= ~is_first
        return allowed
