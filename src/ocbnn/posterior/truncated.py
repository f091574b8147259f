r"""Observations that cannot leave a box.

$y \sim N(\phi(x), \sigma^2)$ given that $l \le y \le h$: the density inside is divided
by the normal's mass there.
"""

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from jaxtyping import Array, Float

from ocbnn.core.types import Inputs, Outputs, Position, RandomKey, Scalar, Targets
from ocbnn.errors import SettingError
from ocbnn.posterior.likelihoods import Gaussian, Likelihood

# The normal's mass this far below another point is negligible, even next to a tail.
_FAR = 100.0
# From here on the tail's first term is exact to single precision.
_TAIL = -30.0


class TruncatedGaussian(Likelihood):
    """Gaussian noise within limits on every output; ±inf for no limit.

    Attributes
    ----------
    inner
        The noise, before it is truncated.
    low
        The lower limit of each output, in standard units.
    high
        The upper limit, likewise.
    """

    inner: Gaussian
    low: Float[np.ndarray, " outputs"]  # in double precision, as predictions are
    high: Float[np.ndarray, " outputs"]

    def shapes(self) -> Position:
        """The noise's own."""
        return self.inner.shapes()

    def sample_parameters(self, key: RandomKey) -> Position:
        """The noise's own."""
        return self.inner.sample_parameters(key)

    def log_prior(self, parameters: Position) -> Scalar:
        """The noise's own."""
        return self.inner.log_prior(parameters)

    def loglik(
        self,
        parameters: Position,
        inputs: Inputs,
        outputs: Outputs,
        targets: Float[Array, "rows outputs"],
    ) -> Float[Array, " rows"]:
        """The normal's log density less the log of its mass in the box."""
        sd = self.inner.noise(parameters, inputs).astype(outputs.dtype)
        low, high = (jnp.asarray(end)[None] for end in (self.low, self.high))
        low, high = low.astype(outputs.dtype), high.astype(outputs.dtype)
        cut = jnp.sum(log_mass(low, high, outputs, sd), axis=1)
        return self.inner.loglik(parameters, inputs, outputs, targets) - cut

    def check(self, outputs: int, targets: Targets | None) -> None:
        """One pair of limits per output, the lower one first."""
        self.inner.check(outputs, targets)
        if self.low.shape != (outputs,) or self.high.shape != (outputs,):
            raise SettingError(
                f"the limits need one lower and one upper number for each of {outputs} "
                f"outputs, got arrays of shape {self.low.shape} and {self.high.shape}."
            )


def log_mass(
    low: Float[Array, "..."],
    high: Float[Array, "..."],
    mean: Float[Array, "..."],
    sd: Float[Array, "..."],
) -> Float[Array, "..."]:
    """Log of a normal's mass between two limits, however far out they lie."""
    a, b = _standard(low, high, mean, sd)
    # Mirrored into the lower tail, where logarithms of masses keep their digits.
    mirrored = a + b > 0
    a, b = jnp.where(mirrored, -b, a), jnp.where(mirrored, -a, b)
    a = jnp.maximum(a, jnp.minimum(b, 0.0) - _FAR)
    in_tail = b < _TAIL
    near_a, near_b = jnp.where(in_tail, -1.0, a), jnp.where(in_tail, 0.0, b)
    far_a, far_b = jnp.where(in_tail, a, -2.0), jnp.where(in_tail, b, -1.0)
    # Two large logarithms would cancel here, so the tail's difference is written out.
    far = 0.5 * (far_b - far_a) * (far_b + far_a) + jnp.log(far_b / far_a)
    ratio = jnp.where(in_tail, far, log_ndtr(near_a) - log_ndtr(near_b))
    return log_ndtr(b) + jnp.log(-jnp.expm1(ratio))


def _standard(low: Array, high: Array, mean: Array, sd: Array) -> tuple[Array, Array]:
    """Limits in standard deviations from the mean, finite ones for infinite ones."""
    has_low, has_high = jnp.isfinite(low), jnp.isfinite(high)
    # An infinity must not enter the arithmetic: its gradient would be NaN.
    a = (jnp.where(has_low, low, 0.0) - mean) / sd
    b = (jnp.where(has_high, high, 0.0) - mean) / sd
    return (
        jnp.where(has_low, a, jnp.minimum(b, 0.0) - _FAR),
        jnp.where(has_high, b, jnp.maximum(a, 0.0) + _FAR),
    )
