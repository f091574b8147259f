"""A normal prior whose scales a person sets for each layer."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp

from ocbnn.core.types import Position
from ocbnn.networks import Network
from ocbnn.networks.scales import Scales, by_array, checked, shown, times
from ocbnn.priors.prior import NormalPrior


class LayerScales(NormalPrior):
    r"""Independent normals, with scales for each layer.

    A weight of layer $\ell$ has the standard deviation
    $\sigma_\ell / \sqrt{\text{fan-in}}$, and a bias $\beta_\ell$.

    Attributes
    ----------
    weights
        $\sigma_\ell$: one number for all layers, or a tuple with one for each, from the
        inputs to the outputs.
    biases
        $\beta_\ell$, likewise.

    Examples
    --------
    >>> LayerScales(weights=(1.0, 2.0), biases=0.5)
    LayerScales(weights=(1.0, 2.0), biases=0.5)
    """

    weights: Scales = eqx.field(
        default=1.0, converter=lambda given: checked(given, "weights")
    )
    biases: Scales = eqx.field(
        default=1.0, converter=lambda given: checked(given, "biases")
    )

    def sd(self, network: Network) -> Position:
        """The standard deviation of each array of weights.

        Raises
        ------
        SettingError
            When the network has another number of layers.
        """
        fans, structure = jax.tree.flatten(network.fan_in())
        shapes = jax.tree.leaves(network.shapes())
        scales = by_array(self.weights, self.biases, shapes, "LayerScales")
        widths = [
            jnp.asarray(scale) / jnp.sqrt(float(fan))
            for scale, fan in zip(scales, fans, strict=True)
        ]
        return jax.tree.unflatten(structure, widths)

    @property
    def label(self) -> str:
        """The scales."""
        weights, biases = shown(self.weights), shown(self.biases)
        return f"fan-in with scales of weights {weights} and of biases {biases}"

    def scaled(self, factor: float) -> "LayerScales":
        """The same prior of weights that are larger by a factor."""
        return dataclasses.replace(
            self, weights=times(self.weights, factor), biases=times(self.biases, factor)
        )
