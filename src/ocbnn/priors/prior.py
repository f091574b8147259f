"""The interface of priors on weights, and what those of ocbnn have in common."""

import abc
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.types import Position, RandomKey, Scalar
from ocbnn.errors import SettingError
from ocbnn.networks import Network
from ocbnn.networks.base import LinearNetwork


class Prior(eqx.Module):
    """A distribution of a network's weights. Derive from it for one of your own.

    A prior needs `sample` and `logdensity`. The other methods say what else is known
    about it; what they say by default is true of every prior.
    `ocbnn.testing.check_weight_prior` checks yours.
    """

    @abc.abstractmethod
    def sample(self, key: RandomKey, network: Network) -> Position:
        """One draw of all weights.

        Parameters
        ----------
        key
            Determines the draw.
        network
            The network, whose `shapes()` and `fan_in()` describe its weights.

        Returns
        -------
        Position
            The weights, structured like `network.shapes()`.
        """

    @abc.abstractmethod
    def logdensity(self, network: Network, weights: Position) -> Scalar:
        """The log density of one draw; normalised, if evidences are compared.

        Parameters
        ----------
        network
            The network, whose `shapes()` and `fan_in()` describe its weights.
        weights
            The draw, structured like `network.shapes()`.
        """

    def mean_logdensity(
        self, network: Network, mean: Position, sd: Position
    ) -> Scalar | None:
        """The mean log density of independent normal weights, in closed form.

        Parameters
        ----------
        network
            The network, whose `shapes()` and `fan_in()` describe its weights.
        mean
            Their means, structured like `network.shapes()`.
        sd
            Their standard deviations, likewise.

        Returns
        -------
        Scalar | None
            None if there is no closed form; it is then estimated from draws.
        """
        return None

    def last_layer_sd(
        self, network: LinearNetwork
    ) -> Float[Array, "features outputs"] | None:
        """The standard deviations of the last layer, so that it can be integrated out.

        Parameters
        ----------
        network
            A network that is linear in the weights of its last layer.

        Returns
        -------
        Float[Array, "features outputs"] | None
            Shaped like its weights. None unless they are normal around zero,
            independent of each other and of all other weights.
        """
        return None

    @property
    def has_light_tails(self) -> bool:
        """Whether the density falls faster than exponentially, as a normal's does.

        Only then are rules allowed that reward ever larger weights.
        """
        return False

    @property
    def label(self) -> str:
        """The prior in a few words, for reports."""
        return type(self).__name__

    def scaled(self, factor: float) -> "Prior":
        """The same prior of weights that are larger by a factor.

        Parameters
        ----------
        factor
            A model's `weight_scale`.

        Raises
        ------
        SettingError
            When it cannot be scaled.
        """
        raise SettingError(
            f"weight_scale={factor} scales the priors of ocbnn, and this one is "
            f"{type(self).__name__}. Leave weight_scale out and build the scale into "
            "the prior, or give it a method `scaled(factor)`."
        )


class NormalPrior(Prior):
    """Independent normals, centred at zero; subclasses say how wide they are."""

    @abc.abstractmethod
    def sd(self, network: Network) -> Position:
        """The standard deviation of each array of weights.

        Parameters
        ----------
        network
            The network, whose `shapes()` and `fan_in()` describe its weights.

        Returns
        -------
        Position
            Scalars, structured like `network.shapes()`.
        """

    def sample(self, key: RandomKey, network: Network) -> Position:
        """One draw of all weights."""
        noise = lambda count: jax.random.normal(key, (count,))
        return scaled_noise(noise, network, self.sd(network))

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

    def last_layer_sd(self, network: LinearNetwork) -> Float[Array, "features outputs"]:
        """The standard deviations of the last layer, shaped like its weights."""
        spread = lambda sd, spec: jnp.broadcast_to(sd.astype(spec.dtype), spec.shape)
        sds = jax.tree.map(spread, self.sd(network), network.shapes())
        return network.last_weights(sds)

    @property
    def has_light_tails(self) -> bool:
        """They are normal."""
        return True


def scaled_noise(
    noise: Callable[[int], Float[Array, " count"]], network: Network, widths: Position
) -> Position:
    """Weights that are independent noise, times a width for each array."""
    shapes, structure = jax.tree.flatten(network.shapes())
    # One call for all: a separate generator for every array is slow to compile.
    sizes = [math.prod(spec.shape) for spec in shapes]
    values = noise(sum(sizes))
    draws, start = [], 0
    for width, spec, size in zip(jax.tree.leaves(widths), shapes, sizes, strict=True):
        block = values[start : start + size].reshape(spec.shape)
        draws.append((width * block).astype(spec.dtype))
        start += size
    return jax.tree.unflatten(structure, draws)


def fan_in_widths(network: Network, scale: float | Float[Array, ""]) -> Position:
    """For each array, the scale divided by the root of its fan-in."""
    return jax.tree.map(
        lambda fan: jnp.asarray(scale) / jnp.sqrt(float(fan)), network.fan_in()
    )


def check_scale(scale: object, example: str) -> None:
    """Raise an error for what cannot be a scale; values of arrays are not checked."""
    if isinstance(scale, (int, float)):
        fits = 0 < scale < float("inf")
    else:
        fits = getattr(scale, "shape", None) == ()
    if not fits:
        raise SettingError(
            f"the scale of the weight prior must be above zero, got {scale}. "
            f"Write {example}."
        )


def normal_logpdf_sum(values: Float[Array, "*shape"], sd: Scalar) -> Scalar:
    """Log density of independent normals around zero with one standard deviation."""
    sd = sd.astype(values.dtype)
    return -0.5 * jnp.sum((values / sd) ** 2) - values.size * (
        jnp.log(sd) + 0.5 * jnp.log(2.0 * jnp.pi)
    )
