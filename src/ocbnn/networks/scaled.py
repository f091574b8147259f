"""A network whose weights have learned scales.

Every number of a position has a standard normal prior: raw weights, and the
standardised logarithms of the scales. The weights are raw weights times scales. So
scales need no special prior, algorithm or file format, and wide and narrow weights are
equally easy to sample (the non-centred parameterisation of Papaspiliopoulos, Roberts &
Sköld 2007).
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ocbnn.core.types import Input, Inputs, Output, Outputs, Position, RandomKey
from ocbnn.networks.base import LinearNetwork, Network, array_spec
from ocbnn.networks.mlp import MLP
from ocbnn.networks.scales import LearnedScales, by_array


class ScaledWeights(NamedTuple):
    """Raw weights, scales and relevances, all with standard normal priors."""

    raw: Any  # structured like the network's weights
    scales: Any  # (arrays,): one for each array of weights, in their order
    inputs: Any  # (inputs,): relevances; () if there are none


class ScaledNetwork(LinearNetwork):
    """A network, and a learned scale for each of its arrays and inputs.

    Only for an `MLP` is it known which weights an input feeds, so other networks have
    no relevances.

    Parameters
    ----------
    inner
        The network whose weights are scaled.
    hyper
        The priors of the scales.

    Raises
    ------
    SettingError
        When `hyper` has scales for another number of layers.

    Examples
    --------
    >>> network = ScaledNetwork(MLP(3, (10,), 1), LearnedScales())
    >>> network.shapes().scales.shape, network.shapes().inputs.shape
    ((4,), (3,))
    """

    inner: Network
    hyper: LearnedScales = eqx.field(static=True)
    inputs: int = eqx.field(static=True)
    outputs: int = eqx.field(static=True)

    def __init__(self, inner: Network, hyper: LearnedScales) -> None:
        self.inner, self.hyper = inner, hyper
        self.inputs, self.outputs = inner.inputs, inner.outputs
        # Raises an error now if it has another number of layers.
        self._medians(jax.tree.leaves(inner.shapes()))

    @property
    def has_relevances(self) -> bool:
        """Whether it is known which weights an input feeds."""
        return isinstance(self.inner, MLP)

    def shapes(self) -> ScaledWeights:
        """Raw weights, then the scales."""
        raw = self.inner.shapes()
        relevances = array_spec(self.inputs) if self.has_relevances else ()
        count = len(jax.tree.leaves(raw))
        return ScaledWeights(raw, array_spec(count), relevances)

    def fan_in(self) -> ScaledWeights:
        """1 for all: the scaling already divides by the fan-in."""
        return jax.tree.map(lambda _: 1, self.shapes())

    def apply(self, weights: ScaledWeights, x: Input) -> Output:
        """The value of the network with scaled weights."""
        return self.inner.apply(self._scaled(weights), x)

    def batch(self, weights: ScaledWeights, xs: Inputs) -> Outputs:
        """The values at many inputs; weights are scaled once."""
        return self.inner.batch(self._scaled(weights), xs)

    @property
    def linear(self) -> LinearNetwork | None:
        """Itself, if the family that it scales is one."""
        return None if self.inner.linear is None else self

    def basis(
        self, weights: ScaledWeights, xs: Inputs
    ) -> Float[Array, "rows features"]:
        """That of the scaled weights, times the scale of the last layer."""
        inner = self._linear_inner()
        factors = self._factors(weights.scales, weights.inputs, jnp)
        sizes = jax.tree.map(
            lambda factor, raw: jnp.broadcast_to(factor.astype(raw.dtype), raw.shape),
            factors,
            weights.raw,
        )
        # One output stands for all, which share a scale.
        scale = inner.last_weights(sizes)[:, 0]
        return inner.basis(self._scaled(weights), xs) * scale[None]

    def last_weights(self, weights: ScaledWeights) -> Float[Array, "features outputs"]:
        """The raw ones, since the basis is scaled."""
        return self._linear_inner().last_weights(weights.raw)

    def with_last_weights(
        self, weights: ScaledWeights, last: Float[Array, "features outputs"]
    ) -> ScaledWeights:
        """The weights with another last layer."""
        raw = self._linear_inner().with_last_weights(weights.raw, last)
        return weights._replace(raw=raw)

    def _linear_inner(self) -> LinearNetwork:
        inner = self.inner.linear
        assert inner is not None
        return inner

    def last_layer(self) -> ScaledWeights:
        """The inner network's last layer; scales are not part of it."""
        relevances = False if self.has_relevances else ()
        return ScaledWeights(self.inner.last_layer(), False, relevances)

    def noisy_batch(
        self, mean: ScaledWeights, sd: ScaledWeights, key: RandomKey, xs: Inputs
    ) -> Outputs:
        """Noise at the units, given one draw of the scales, shared by all rows."""
        key_scales, key_inputs, key_units = jax.random.split(key, 3)
        draw = lambda m, s, k: m + s * jax.random.normal(k, m.shape, m.dtype)
        scales = draw(mean.scales, sd.scales, key_scales)
        inputs = jax.tree.map(
            lambda m, s: draw(m, s, key_inputs), mean.inputs, sd.inputs
        )
        centre, width = (
            self._scaled(ScaledWeights(part.raw, scales, inputs)) for part in (mean, sd)
        )
        return self.inner.noisy_batch(centre, width, key_units, xs)

    def plain(self, weights: ScaledWeights) -> tuple[Network, Position]:
        """The inner network, and the draws' scaled weights."""

        def scaled(raw: Any, factor: np.ndarray) -> np.ndarray:
            # On the host in double precision, so that the rounded result does not
            # depend on how a machine computes exponentials.
            return (np.asarray(raw, float) * factor).astype(raw.dtype)

        double = jax.tree.map(lambda a: np.asarray(a, float), weights)
        factors = self._factors(double.scales, double.inputs, np)
        return self.inner, jax.tree.map(scaled, weights.raw, factors)

    def with_plain(self, weights: ScaledWeights, plain: Position) -> ScaledWeights:
        """The draws whose scaled weights are `plain`, with unchanged scales."""
        double = jax.tree.map(lambda a: np.asarray(a, float), weights)
        factors = self._factors(double.scales, double.inputs, np)
        _, old_plain = self.plain(weights)

        def raw(old: Any, was: np.ndarray, new: Any, factor: np.ndarray) -> np.ndarray:
            changed = (np.asarray(new, float) / factor).astype(old.dtype)
            return np.where(np.asarray(new) == was, np.asarray(old), changed)

        return weights._replace(
            raw=jax.tree.map(raw, weights.raw, old_plain, plain, factors)
        )

    def relevances(self, weights: ScaledWeights) -> np.ndarray:
        """Each input's relevance in every draw.

        Parameters
        ----------
        weights
            Weights of many draws, along a first axis.

        Returns
        -------
        np.ndarray
            Factors (draws, inputs) of the weights that each input feeds; their median
            is one in the prior.
        """
        return np.exp(self.hyper.relevance * np.asarray(weights.inputs, float))

    def _scaled(self, weights: ScaledWeights) -> Position:
        factors = self._factors(weights.scales, weights.inputs, jnp)
        scale = lambda raw, factor: raw * factor.astype(raw.dtype)
        return jax.tree.map(scale, weights.raw, factors)

    def _medians(self, specs: list[jax.ShapeDtypeStruct]) -> list[float]:
        """The median of each array's scale."""
        hyper = self.hyper
        return by_array(hyper.weights, hyper.biases, specs, "LearnedScales")

    def _factors(self, scales: Any, inputs: Any, xp: Any) -> Position:
        """The factors of raw weights, with any leading axes of draws."""
        specs, structure = jax.tree.flatten(self.inner.shapes())
        fans = jax.tree.leaves(self.inner.fan_in())
        draws = scales.shape[:-1]
        factors = []
        medians = self._medians(specs)
        for index, (spec, fan) in enumerate(zip(specs, fans, strict=True)):
            log = self.hyper.spread * scales[..., index]
            factor = xp.exp(log) * (medians[index] / fan**0.5)
            factors.append(factor.reshape(*draws, *(1,) * len(spec.shape)))
        if self.has_relevances:
            rows = xp.exp(self.hyper.relevance * inputs)[..., None]
            factors[0] = factors[0] * rows
        return jax.tree.unflatten(structure, factors)
