"""Rows at which rules tie outputs together, or bend: judged observation by observation.

Observations are drawn within each output's own pieces, and those that break a rule all
the same are thrown away. What stays is the truth about an allowed observation.
"""

import dataclasses
import functools

import numpy as np
from jaxtyping import Bool, Float

from ocbnn.predictive.allowed_values import all_hold, refuse_row
from ocbnn.predictive.independent_outputs import IndependentOutputs
from ocbnn.rules.interior import interior_points

Table = Float[np.ndarray, "rows outputs"]
# Fewer observations than this say too little, and the functions themselves are added.
_LEAST = 50
# How many outputs are tried, and how many times the noise away, where no draw helps.
_TRIES, _FARTHER = 2000, (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)


@dataclasses.dataclass(frozen=True)
class JointOutputs:
    """Some rows, and observations of every draw there.

    Attributes
    ----------
    independent
        The same rows as if no rule tied outputs together.
    below
        Which observations each draw makes, (steps, draws, 1, outputs).
    """

    independent: IndependentOutputs
    below: Float[np.ndarray, "steps draws 1 outputs"]

    def moments(self) -> tuple[Table, Table]:
        """An allowed value to predict, and the spread of an observation.

        The value is the mean, or where that is forbidden the observation nearest to it.
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
        """Ends of each output's central interval, every one seen in an observation."""
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
        """Functions, at the nearest allowed value seen where they break a rule."""
        values = values.copy()
        is_wrong = ~all_hold(self.independent.rules, self.independent.X, values)
        for row in np.flatnonzero(is_wrong.any(axis=0)).tolist():
            wrong = is_wrong[:, row]
            values[wrong, row] = self._nearest(row, values[wrong, row])
        return values

    def _nearest(
        self, row: int, wanted: Float[np.ndarray, "cases outputs"]
    ) -> Float[np.ndarray, "cases outputs"]:
        pool, is_kept = self._pool
        seen = np.concatenate([pool[is_kept[:, row], row], self._holding(row)])
        size = self.independent.noise[:, row].mean(axis=0)
        gaps = (wanted[:, None] - seen[None]) / size
        return seen[np.argmin(np.sum(gaps**2, axis=-1), axis=1)]

    def _holding(self, row: int) -> Float[np.ndarray, "_ outputs"]:
        """Those draws' functions at a row that are allowed."""
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
        for row in np.flatnonzero(is_kept.sum(axis=0) < _LEAST).tolist():
            found = self._rescued(row)
            room = np.flatnonzero(~is_kept[:, row])[: len(found)]
            pool[room, row] = found[: len(room)]
            is_kept[room, row] = True
        return pool, is_kept

    def _rescued(self, row: int) -> Float[np.ndarray, "_ outputs"]:
        """Allowed functions; where there is none, all of them moved until they are."""
        found = self._holding(row)
        if len(found):
            return found
        values, x = self.independent.values[:, row], self.independent.X[row]
        size = self.independent.noise[:, row].mean(axis=0)
        active = [
            bound for bound in self.independent.rules if bound.applies(x[None])[0]
        ]
        centre = values.mean(axis=0)
        inner = interior_points(active, x, centre, size)
        inner = [one for one in inner if all_hold(active, x[None], one[None])[0]]
        inner = inner or self._far_off(row, centre, size)
        if not inner:
            refuse_row(self.independent.rules, x)
        return self._walked(row, values, inner[0])

    def _far_off(
        self, row: int, centre: np.ndarray, size: np.ndarray
    ) -> list[np.ndarray]:
        """The nearest allowed outputs found by looking further and further away."""
        rng = np.random.default_rng(0)
        steps = rng.standard_normal((_TRIES, 1, len(centre)))
        for factor in _FARTHER:
            trials = centre + factor * size * steps
            good = trials[
                all_hold(self.independent.rules, self.independent.X[[row]], trials)
            ]
            if len(good):
                gaps = np.sum(((good - centre) / size) ** 2, axis=1)
                return [good[np.argmin(gaps)]]
        return []

    def _walked(
        self, row: int, values: Float[np.ndarray, "draws outputs"], inner: np.ndarray
    ) -> Float[np.ndarray, "draws outputs"]:
        """The first allowed values on the way from each draw's to an inner one."""
        x = np.repeat(self.independent.X[[row]], len(values), axis=0)
        found = np.repeat(inner[None], len(values), axis=0)
        waits = np.ones(len(values), dtype=bool)
        for step in np.linspace(0.0, 1.0, 65)[1:-1]:
            trial = values + step * (inner - values)
            here = waits & all_hold(self.independent.rules, x, trial)
            found[here] = trial[here]
            waits &= ~here
        return found
