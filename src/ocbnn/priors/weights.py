"""Priors on weights: the same width for all, scaled by fan-in, or learned scales."""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.types import Position, RandomKey, Scalar
from ocbnn.errors import SettingError
from ocbnn.networks import LearnedScales, Network, ScaledNetwork

KINDS = ("isotropic", "fan-in", "learned")


class WeightPrior(eqx.Module):
    r"""Independent normals, centred at zero.

    `isotropic`: $N(0, \sigma_w^2)$ for every weight and bias, as in the paper.
    `fan-in`: weights get $\sigma_w / \sqrt{\text{fan-in}}$ and biases $\sigma_w$, so
    that the spread of the outputs does not grow with the width of the network.
    `learned`: $N(0, 1)$ for all parameters of a `ScaledNetwork`, which multiplies its
    weights by scales that are learned with them.
    """

    kind: str = eqx.field(static=True, default="isotropic")
    scale: float | Float[Array, ""] = 1.0

    def __check_init__(self) -> None:
        if self.kind not in KINDS:
            raise SettingError(
                f"weight prior {self.kind!r} is not known: write one of "
                f"{', '.join(KINDS)}."
            )
        if isinstance(self.scale, (int, float)) and not 0 < self.scale < float("inf"):
            raise SettingError(
                f"the scale of the weight prior must be above zero, got {self.scale}. "
                "Write weight_scale=1.0."
            )
        is_other = isinstance(self.scale, (int, float)) and self.scale != 1
        if self.kind == "learned" and is_other:
            raise SettingError(
                "the scales of a learned prior are the network's own, got a scale of "
                f"{self.scale}. Write ScaledNetwork(network, LearnedScales("
                f"weights={self.scale}, biases={self.scale}))."
            )

    def sd(self, network: Network) -> Position:
        """The standard deviation of each array of weights.

        Raises
        ------
        SettingError
            When scales are to be learned and the network has none.
        """
        if self.kind == "learned" and not isinstance(network, ScaledNetwork):
            raise SettingError(
                "a learned prior needs a network whose weights have scales, and this "
                f"one is {type(network).__name__}. Write ScaledNetwork(network, "
                "LearnedScales())."
            )
        if self.kind == "isotropic":
            return jax.tree.map(lambda _: jnp.asarray(self.scale), network.fan_in())
        return jax.tree.map(
            lambda fan: jnp.asarray(self.scale) / jnp.sqrt(float(fan)), network.fan_in()
        )

    def sample(self, key: RandomKey, network: Network) -> Position:
        """One draw of all weights."""
        shapes, structure = jax.tree.flatten(network.shapes())
        sds = jax.tree.leaves(self.sd(network))
        # One call for all: a separate generator for every array is slow to compile.
        sizes = [math.prod(spec.shape) for spec in shapes]
        noise = jax.random.normal(key, (sum(sizes),))
        draws, start = [], 0
        for sd, spec, size in zip(sds, shapes, sizes, strict=True):
            block = noise[start : start + size].reshape(spec.shape)
            draws.append((sd * block).astype(spec.dtype))
            start += size
        return jax.tree.unflatten(structure, draws)

    def logdensity(self, network: Network, weights: Position) -> Scalar:
        """Log density of one draw, normalised."""
        logs = jax.tree.map(normal_logpdf_sum, weights, self.sd(network))
        return sum(jax.tree.leaves(logs), start=jnp.zeros(()))

    def mean_logdensity(self, network: Network, mean: Position, sd: Position) -> Scalar:
        """The mean log density of independent normal weights, in closed form."""
        at_mean = self.logdensity(network, mean)
        lost = jax.tree.map(
            lambda width, prior: (
                0.5 * jnp.sum((width / prior.astype(width.dtype)) ** 2)
            ),
            sd,
            self.sd(network),
        )
        return at_mean - sum(jax.tree.leaves(lost), start=jnp.zeros(()))


def with_prior(
    network: Network, kind: object, scale: object
) -> tuple[Network, WeightPrior]:
    """A network and the prior on its weights, from the user's settings.

    Raises
    ------
    SettingError
        When there is no such prior.
    """
    if isinstance(kind, LearnedScales) or kind == "learned":
        hyper = kind if isinstance(kind, LearnedScales) else LearnedScales()
        factor = WeightPrior("isotropic", scale).scale  # pyright: ignore
        medians = {"weights": hyper.weights * factor, "biases": hyper.biases * factor}
        hyper = dataclasses.replace(hyper, **medians)
        return ScaledNetwork(network, hyper), WeightPrior("learned")
    return network, WeightPrior(kind, scale)  # pyright: ignore[reportArgumentType]


def normal_logpdf_sum(values: Float[Array, "*shape"], sd: Scalar) -> Scalar:
    """Log density of independent normals around zero with one standard deviation."""
    sd = sd.astype(values.dtype)
    return -0.5 * jnp.sum((values / sd) ** 2) - values.size * (
        jnp.log(sd) + 0.5 * jnp.log(2.0 * jnp.pi)
    )
