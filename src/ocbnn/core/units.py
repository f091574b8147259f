"""Standard units inside, a person's units outside.

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
    """Means and spreads of inputs and outputs."""

    x_mean: Float[np.ndarray, " inputs"]
    x_scale: Float[np.ndarray, " inputs"]
    y_mean: Float[np.ndarray, " outputs"]
    y_scale: Float[np.ndarray, " outputs"]

    @classmethod
    def plain(cls, inputs: int, outputs: int) -> "Units":
        """Nothing is converted."""
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
        """Units of data that were gone through already."""
        if Y is None:
            return cls(X.mean, X.scale, np.zeros(outputs), np.ones(outputs))
        return cls(X.mean, X.scale, Y.mean, Y.scale)

    def with_scales(self, scales: Mapping[int, tuple[float, float]]) -> "Units":
        """With the origin and step of some inputs, by number, as they are given."""
        mean, scale = self.x_mean.copy(), self.x_scale.copy()
        for at, (origin, step) in scales.items():
            mean[at], scale[at] = origin, step
        return Units(mean, scale, self.y_mean, self.y_scale)

    def standard_inputs(self, X: np.ndarray) -> np.ndarray:
        """Data inputs into standard units."""
        return (np.asarray(X, float) - self.x_mean) / self.x_scale

    def standard_outputs(self, Y: np.ndarray) -> np.ndarray:
        """Data outputs into standard units."""
        return (np.asarray(Y, float) - self.y_mean) / self.y_scale

    def outputs(self, values: np.ndarray) -> np.ndarray:
        """Network outputs into a person's units."""
        return self.y_mean + self.y_scale * np.asarray(values, float)

    def traced_inputs(
        self, xs: Float[Array, "... inputs"]
    ) -> Float[Array, "... inputs"]:
        """As `standard_inputs`, inside compiled code."""
        mean, scale = jnp.asarray(self.x_mean), jnp.asarray(self.x_scale)
        shape = (1,) * (xs.ndim - 1) + mean.shape
        mean, scale = mean.astype(xs.dtype), scale.astype(xs.dtype)
        return (xs - mean.reshape(shape)) / scale.reshape(shape)

    def traced_outputs(
        self, ys: Float[Array, "... outputs"]
    ) -> Float[Array, "... outputs"]:
        """As `outputs`, inside compiled code."""
        mean, scale = jnp.asarray(self.y_mean), jnp.asarray(self.y_scale)
        shape = (1,) * (ys.ndim - 1) + mean.shape
        mean, scale = mean.astype(ys.dtype), scale.astype(ys.dtype)
        return mean.reshape(shape) + scale.reshape(shape) * ys
