"""Rows at which every output has its own allowed intervals (pieces)."""

import dataclasses
import functools

import numpy as np
from jaxtyping import Float

from ocbnn.predictive import unions
from ocbnn.predictive.allowed_values import Rules, all_hold, drawn_in

Table = Float[np.ndarray, "rows outputs"]


@dataclasses.dataclass(frozen=True)
class IndependentOutputs:
    """Each draw's observation is a normal truncated to the pieces, output by output.

    Attributes
    ----------
    rules
        The rules that must hold.
    X
        The rows.
    values
        Every draw's function there.
    noise
        Every draw's noise there.
    low
        Lower ends of the pieces.
    high
        Upper ends.
    """

    rules: Rules
    X: Float[np.ndarray, "rows inputs"]
    values: Float[np.ndarray, "draws rows outputs"]
    noise: Float[np.ndarray, "draws rows outputs"]
    low: Float[np.ndarray, "rows outputs pieces"]
    high: Float[np.ndarray, "rows outputs pieces"]

    def moments(self) -> tuple[Table, Table]:
        """An allowed value to predict, and the spread of an observation.

        The value is the mean, or if that is forbidden the mean within the most probable
        piece.
        """
        moments = self._moments
        mean = np.sum(moments.share * moments.mean, axis=-1)
        centre = mean.mean(axis=0)
        # Squares of differences, not differences of squares, which would lose digits.
        shift = moments.mean - centre[None, ..., None]
        square = np.sum(moments.share * (moments.variance + shift**2), axis=-1)
        sd = np.sqrt(square.mean(axis=0))
        weight = moments.share.sum(axis=0)
        with np.errstate(all="ignore"):
            piece_means = np.sum(moments.share * moments.mean, axis=0) / weight
        best = np.argmax(weight, axis=-1)[..., None]
        likely_mean = np.take_along_axis(piece_means, best, axis=-1)[..., 0]
        inside = (self.low <= centre[..., None]) & (centre[..., None] <= self.high)
        return self._to_allowed(np.where(inside.any(axis=-1), centre, likely_mean)), sd

    def ends(self, level: float, below: np.ndarray) -> tuple[Table, Table]:
        """Ends of a central interval of an observation, themselves allowed.

        `below` (steps, draws, 1, outputs) are the quantile levels of observations.
        """
        observed = self.observed(below)
        low, high = central(observed, level)
        return self._to_allowed(low), self._to_allowed(high)

    def observed(self, below: np.ndarray) -> np.ndarray:
        """Observations of every draw, one for each of the steps."""
        steps = len(below)
        values, noise = (np.tile(t, (steps, 1, 1)) for t in (self.values, self.noise))
        places = np.concatenate(below)
        places = np.broadcast_to(places, values.shape)
        return unions.quantile(values, noise, self.low, self.high, places)

    def functions(
        self, values: Float[np.ndarray, "some rows outputs"]
    ) -> Float[np.ndarray, "some rows outputs"]:
        """Function values; where one violates a rule, the nearest allowed one."""
        values = values.copy()
        draws, rows = np.nonzero(~all_hold(self.rules, self.X, values))
        if draws.size:
            values[draws, rows] = self._to_allowed(values[draws, rows], rows)
        return values

    def _to_allowed(self, values: Table, rows: np.ndarray | None = None) -> Table:
        """The nearest values that violate no rule."""
        rows = np.arange(len(self.X)) if rows is None else rows
        reach = self.noise.mean(axis=(0, 1))
        value, inner = unions.nearest(values, self.low[rows], self.high[rows], reach)
        return drawn_in(self.rules, self.X[rows], value, inner)

    @functools.cached_property
    def _moments(self) -> unions.PieceMoments:
        return unions.piece_moments(self.values, self.noise, self.low, self.high)


def central(
    observed: Float[np.ndarray, "cases rows outputs"], level: float
) -> tuple[Table, Table]:
    """Ends of a central interval, which are observations and never lie between two."""
    shares = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(observed, shares, axis=0, method="inverted_cdf")
    return low, high
