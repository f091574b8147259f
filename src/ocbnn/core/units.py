"""Standard units inside, the user's units outside.

Networks work on columns of mean zero and spread one; rules, predictions and noise are
in the units of the data. Data are converted once, in double precision, so that large
offsets (years, seconds since 1970) cost no digits.
"""

from collections.abc import Mapping

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ocbnn.core.moments import ColumnMoments


class Units(eqx.Module):
    """Means and spreads of inputs and outputs.

    A mean has two parts, the rounded mean and its rounding error (`x_rest`, `y_rest`),
    so data far from zero have the same standard units as the same data near zero.
    """

    x_mean: Float[np.ndarray, " inputs"]
    x_scale: Float[np.ndarray, " inputs"]
    y_mean: Float[np.ndarray, " outputs"]
    y_scale: Float[np.ndarray, " outputs"]
    x_rest: Float[np.ndarray, " inputs"]
    y_rest: Float[np.ndarray, " outputs"]

    def __init__(
        self,
        x_mean: np.ndarray,
        x_scale: np.ndarray,
        y_mean: np.ndarray,
        y_scale: np.ndarray,
        x_rest: np.ndarray | None = None,
        y_rest: np.ndarray | None = None,
    ) -> None:
        self.x_mean, self.x_scale = x_mean, x_scale
        self.y_mean, self.y_scale = y_mean, y_scale
        self.x_rest = np.zeros_like(x_mean) if x_rest is None else x_rest
        self.y_rest = np.zeros_like(y_mean) if y_rest is None else y_rest

    @classmethod
    def plain(cls, inputs: int, outputs: int) -> "Units":
        """Units that convert nothing."""
        return cls(
            np.zeros(inputs), np.ones(inputs), np.zeros(outputs), np.ones(outputs)
        )

    @classmethod
    def of(
        cls,
        X: Float[np.ndarray, "rows inputs"],
        Y: Float[np.ndarray, "rows outputs"] | None,
        outputs: int,
    ) -> "Units":
        """Units of some data; a column without spread is only shifted."""
        return cls.measured(
            ColumnMoments.of(X), None if Y is None else ColumnMoments.of(Y), outputs
        )

    @classmethod
    def measured(
        cls, X: ColumnMoments, Y: ColumnMoments | None, outputs: int
    ) -> "Units":
        """Units from the moments of data."""
        if Y is None:
            zeros, ones = np.zeros(outputs), np.ones(outputs)
            return cls(X.mean, X.scale, zeros, ones, X.rest)
        return cls(X.mean, X.scale, Y.mean, Y.scale, X.rest, Y.rest)

    def with_scales(self, scales: Mapping[int, tuple[float, float]]) -> "Units":
        """Replace the origin and step of some inputs, by number."""
        mean, rest, scale = (
            numbers.copy() for numbers in (self.x_mean, self.x_rest, self.x_scale)
        )
        for at, (origin, step) in scales.items():
            mean[at], rest[at], scale[at] = origin, 0.0, step
        return Units(mean, scale, self.y_mean, self.y_scale, rest, self.y_rest)

    def standard_inputs(self, X: np.ndarray) -> np.ndarray:
        """Data inputs into standard units."""
        return ((np.asarray(X, float) - self.x_mean) - self.x_rest) / self.x_scale

    def standard_outputs(self, Y: np.ndarray) -> np.ndarray:
        """Data outputs into standard units."""
        return ((np.asarray(Y, float) - self.y_mean) - self.y_rest) / self.y_scale

    def outputs(self, values: np.ndarray) -> np.ndarray:
        """Network outputs into the user's units."""
        return self.y_mean + (self.y_rest + self.y_scale * np.asarray(values, float))

    def inputs(self, values: np.ndarray) -> np.ndarray:
        """Inputs in standard units into the user's."""
        return self.x_mean + (self.x_rest + self.x_scale * np.asarray(values, float))

    def traced_inputs(
        self, xs: Float[Array, "... inputs"]
    ) -> Float[Array, "... inputs"]:
        """The inverse of `inputs`, inside compiled code."""
        return (xs - _like(self.x_mean, xs)) / _like(self.x_scale, xs)

    def traced_outputs(
        self, ys: Float[Array, "... outputs"]
    ) -> Float[Array, "... outputs"]:
        """Like `outputs`, inside compiled code."""
        return _like(self.y_mean, ys) + _like(self.y_scale, ys) * ys

    def traced(
        self, xs: Float[Array, "... inputs"], ys: Float[Array, "... outputs"]
    ) -> tuple[Float[Array, "... inputs"], Float[Array, "... outputs"]]:
        """Inputs and outputs into the user's units, inside compiled code."""
        outer = _like(self.x_mean, xs) + _like(self.x_scale, xs) * xs
        return outer, self.traced_outputs(ys)


def _like(numbers: Float[np.ndarray | Array, " columns"], table: Array) -> Array:
    """A number for each column, shaped to broadcast against a table."""
    shape = (1,) * (table.ndim - 1) + numbers.shape
    return jnp.asarray(numbers).astype(table.dtype).reshape(shape)
