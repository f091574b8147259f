"""Normal priors on weights: one width for all, scaled by fan-in, or learned scales."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.types import Position
from ocbnn.errors import SettingError
from ocbnn.networks import Network, ScaledNetwork
from ocbnn.priors.prior import NormalPrior, check_scale, fan_in_widths

KINDS = ("isotropic", "fan-in", "learned")


class WeightPrior(NormalPrior):
    r"""Independent normals, centred at zero.

    Attributes
    ----------
    kind
        "isotropic": $N(0, \sigma_w^2)$ for every weight and bias, as in the paper.
        "fan-in": weights get $\sigma_w / \sqrt{\text{fan-in}}$ and biases $\sigma_w$,
        so that the spread of the outputs does not grow with the width of the network.
        "learned": $N(0, 1)$ for all parameters of a `ScaledNetwork`, which multiplies
        its weights by scales that are learned with them.
    scale
        $\sigma_w$, above zero; 1 for learned scales, which are the network's own.

    Raises
    ------
    SettingError
        When there is no such kind, or the scale does not fit it.
    """

    kind: str = eqx.field(static=True, default="isotropic")
    scale: float | Float[Array, ""] = 1.0

    def __check_init__(self) -> None:
        if self.kind not in KINDS:
            raise SettingError(
                f"weight prior {self.kind!r} is not known: write one of "
                f"{', '.join(KINDS)}."
            )
        check_scale(self.scale, "weight_scale=1.0")
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
        return fan_in_widths(network, self.scale)

    @property
    def has_light_tails(self) -> bool:
        """Not if scales are learned: the products of weights and scales have not."""
        return self.kind != "learned"

    @property
    def label(self) -> str:
        """The kind and the scale."""
        return f"{self.kind} {self.scale:g}"

    def scaled(self, factor: float) -> "WeightPrior":
        """The same prior of weights that are larger by a factor."""
        return dataclasses.replace(self, scale=self.scale * factor)
