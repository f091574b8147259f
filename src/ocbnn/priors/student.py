"""A heavy-tailed prior: most weights are small, and a few may be large."""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.types import Position, RandomKey, Scalar
from ocbnn.errors import SettingError
from ocbnn.networks import Network
from ocbnn.priors.prior import Prior, check_scale, fan_in_widths, scaled_noise


class StudentT(Prior):
    r"""Independent Student-t distributions, centred at zero.

    Weights have the scale $\sigma / \sqrt{\text{fan-in}}$ and biases $\sigma$.

    Attributes
    ----------
    df
        Degrees of freedom, 1 or more. The fewer, the heavier the tails: 1 is the Cauchy
        distribution, and many are nearly a normal. Above 2 the variance is finite, and
        the spread of the outputs does not grow with the width of the network.
    scale
        The scale $\sigma$. The standard deviation is larger, by
        $\sqrt{\text{df} / (\text{df} - 2)}$.

    Raises
    ------
    SettingError
        When `df` is below 1, or the scale is not above zero.

    Examples
    --------
    >>> StudentT(df=3, scale=0.5)
    StudentT(df=3, scale=0.5)
    """

    # Static, so that the normalising constant is computed in double precision.
    df: float = eqx.field(static=True, default=4.0)
    scale: float | Float[Array, ""] = 1.0

    def __check_init__(self) -> None:
        df = self.df
        is_number = isinstance(df, (int, float)) and not isinstance(df, bool)
        # With fewer, draws exceed the largest number of single precision.
        if not (is_number and 1 <= df < math.inf):
            raise SettingError(
                f"df of StudentT must be a number, 1 or more, got {df!r}. Write "
                "StudentT(df=4)."
            )
        check_scale(self.scale, "StudentT(scale=1.0)")

    def widths(self, network: Network) -> Position:
        """The scale of each array of weights.

        Parameters
        ----------
        network
            The network that has them.
        """
        return fan_in_widths(network, self.scale)

    def sample(self, key: RandomKey, network: Network) -> Position:
        """One draw of all weights."""

        def noise(count: int) -> Float[Array, " count"]:
            key_normal, key_gamma = jax.random.split(key)
            normal = jax.random.normal(key_normal, (count,))
            half = jnp.asarray(self.df / 2, normal.dtype)
            gamma = jax.random.gamma(key_gamma, half, (count,), normal.dtype)
            return normal * jnp.sqrt(half / gamma)

        return scaled_noise(noise, network, self.widths(network))

    def logdensity(self, network: Network, weights: Position) -> Scalar:
        """Log density of one draw, normalised."""
        logs = jax.tree.map(self._logpdf_sum, weights, self.widths(network))
        return sum(jax.tree.leaves(logs), start=jnp.zeros(()))

    def _logpdf_sum(self, values: Float[Array, "*shape"], width: Scalar) -> Scalar:
        width, df = width.astype(values.dtype), self.df
        constant = 0.5 * math.log(df * math.pi) - (
            math.lgamma((df + 1) / 2) - math.lgamma(df / 2)
        )
        tails = jnp.sum(jnp.log1p((values / width) ** 2 / df))
        return -0.5 * (df + 1) * tails - values.size * (jnp.log(width) + constant)

    @property
    def label(self) -> str:
        """The degrees of freedom and the scale."""
        return f"student-t {self.scale:g} with {self.df:g} degrees of freedom"

    def scaled(self, factor: float) -> "StudentT":
        """The same prior of weights that are larger by a factor."""
        return dataclasses.replace(self, scale=self.scale * factor)
