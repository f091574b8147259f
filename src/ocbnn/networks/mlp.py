"""Fully connected networks of any depth."""

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.accelerated import is_accelerated
from ocbnn.core.types import (
    Input,
    Inputs,
    Output,
    Outputs,
    RandomKey,
    Unchecked,
    Whole,
)
from ocbnn.core.words import shorten
from ocbnn.errors import SettingError
from ocbnn.networks.activations import activation_named
from ocbnn.networks.base import LinearNetwork, array_spec

# For tiny layers, calling a matrix product costs more than computing it. Written out as
# sums it is fused with its surroundings: on the paper's Figure 1, right, a gradient
# takes 7 microseconds instead of 16, and one of many particles 12 instead of 18.
_TINY, _NARROW = 128, 4
# On an accelerator, batches with this many rows and layers this wide are tiled: the
# number of rows is padded to a multiple of the tile.
_MANY, _WIDE, _TILE = 256, 32, 64
_MOST_LAYERS, _MOST_WEIGHTS = 100, 1_000_000_000


class Layer(NamedTuple):
    """One affine map, `x @ weight + bias`."""

    weight: Any  # (into, out); a shape or a fan-in in descriptions of the family
    bias: Any  # (out,)


class MLP(LinearNetwork):
    """A fully connected network, linear after the last hidden layer.

    Parameters
    ----------
    inputs
        The number of inputs.
    hidden
        Units of each hidden layer, from the inputs to the outputs: `(50,)` or `50`.
        Without any, `()`, the function is linear.
    outputs
        The number of outputs.
    activation
        `rbf` (exp(-x²), the paper's), `tanh`, `relu`, `silu`, `gelu`, `softplus`,
        `sigmoid`, `elu` or `sin`.

    Raises
    ------
    SettingError
        When there is no such activation, or `hidden` are no sizes of layers.

    Examples
    --------
    >>> network = MLP(1, (10,), 1, activation="rbf")
    >>> [layer.weight.shape for layer in network.shapes()]
    [(1, 10), (10, 1)]
    """

    inputs: int = eqx.field(static=True)
    hidden: tuple[int, ...] = eqx.field(static=True)
    outputs: int = eqx.field(static=True)
    activation: str = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        hidden: Unchecked[Whole | Sequence[Whole]],
        outputs: int,
        activation: str = "rbf",
    ) -> None:
        activation_named(activation)
        self.inputs, self.outputs, self.activation = inputs, outputs, activation
        self.hidden = _sizes(hidden)

    def _widths(self) -> list[tuple[int, int]]:
        return list(pairwise((self.inputs, *self.hidden, self.outputs)))

    def shapes(self) -> tuple[Layer, ...]:
        """One `Layer` per affine map."""
        return tuple(
            Layer(array_spec(into, out), array_spec(out))
            for into, out in self._widths()
        )

    def fan_in(self) -> tuple[Layer, ...]:
        """The width of the layer below for weights, 1 for biases."""
        return tuple(Layer(into, 1) for into, _ in self._widths())

    def apply(self, weights: tuple[Layer, ...], x: Input) -> Output:
        """Alternate affine maps and activations, ending with an affine map."""
        return _affine(weights[-1], self._units(weights, x))

    def _units(self, weights: tuple[Layer, ...], x: Input) -> Float[Array, " units"]:
        """The last hidden layer."""
        activation = activation_named(self.activation)
        for layer in weights[:-1]:
            x = activation(_affine(layer, x))
        return x

    @property
    def linear(self) -> LinearNetwork:
        """It is one."""
        return self

    def basis(
        self, weights: tuple[Layer, ...], xs: Inputs
    ) -> Float[Array, "rows features"]:
        """The last hidden layer, and a column of ones for the bias."""
        units = jax.vmap(self._units, in_axes=(None, 0))(weights, xs)
        return jnp.concatenate([units, jnp.ones_like(units[:, :1])], axis=1)

    def last_weights(
        self, weights: tuple[Layer, ...]
    ) -> Float[Array, "features outputs"]:
        """Weights of the last layer, and its biases below them."""
        return jnp.concatenate([weights[-1].weight, weights[-1].bias[None]])

    def with_last_weights(
        self, weights: tuple[Layer, ...], last: Float[Array, "features outputs"]
    ) -> tuple[Layer, ...]:
        """The weights with another last layer."""
        return (*weights[:-1], Layer(last[:-1], last[-1]))

    def batch(self, weights: tuple[Layer, ...], xs: Inputs) -> Outputs:
        """The values at many inputs."""
        is_large = xs.shape[0] >= _MANY and max(self.hidden, default=0) >= _WIDE
        if is_large and is_accelerated():
            return self._tiled_batch(weights, xs)
        return super().batch(weights, xs)

    def _tiled_batch(self, weights: tuple[Layer, ...], xs: Inputs) -> Outputs:
        """The same with fewer passes over memory, the bottleneck of an accelerator.

        Rows fill whole tiles, so that the compiler does not copy every layer's values
        to pad them. Products are not fused with the operations around them, because
        that would be slow. In the backward pass, activations are computed again rather
        than stored: on an H200 all this saves a fifth of a step of SVGD.
        """
        unit = jax.checkpoint(activation_named(self.activation))
        count = xs.shape[0]
        values = jnp.pad(xs, ((0, -count % _TILE), (0, 0)))
        *hidden, final = weights
        for layer in hidden:
            raw = _unfused_backwards(values @ layer.weight + layer.bias[None])
            values = jax.lax.optimization_barrier(unit(raw))
        return (values @ final.weight + final.bias[None])[:count]

    def last_layer(self) -> tuple[Layer, ...]:
        """The map to the outputs, bias included."""
        deepest = len(self.hidden)
        return tuple(Layer(i == deepest, i == deepest) for i in range(deepest + 1))

    def noisy_batch(
        self,
        mean: tuple[Layer, ...],
        sd: tuple[Layer, ...],
        key: RandomKey,
        xs: Inputs,
    ) -> Outputs:
        """Draw each unit's input directly: sums of independent normals are normal.

        The noise of one row's units is independent of all other rows', whereas a draw
        of weights would be shared by all rows.
        """
        activation = activation_named(self.activation)
        keys = jax.random.split(key, len(mean))
        values = xs
        for depth, (centre, width) in enumerate(zip(mean, sd, strict=True)):
            values = activation(values) if depth else values
            middle = values @ centre.weight + centre.bias[None]
            variance = values**2 @ width.weight**2 + width.bias[None] ** 2
            noise = jax.random.normal(keys[depth], middle.shape, middle.dtype)
            # The slope of a root at zero is not a number.
            values = middle + jnp.sqrt(jnp.maximum(variance, 1e-20)) * noise
        return values


@jax.custom_jvp
def _unfused_backwards(values: Array) -> Array:
    """The same values; their slopes are not fused with the operations that use them."""
    return values


@_unfused_backwards.defjvp
def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return primals[0], jax.lax.optimization_barrier(tangents[0])


def _affine(layer: Layer, x: Input) -> Float[Array, " out"]:
    into, out = layer.weight.shape
    if into * out > _TINY or min(into, out) > _NARROW:
        return x @ layer.weight + layer.bias
    if into <= _NARROW:
        bias: Array = layer.bias
        return sum((x[i] * layer.weight[i] for i in range(into)), start=bias)
    columns = [jnp.sum(x * layer.weight[:, k]) for k in range(out)]
    return jnp.stack(columns) + layer.bias


def _sizes(hidden: object) -> tuple[int, ...]:
    sizes = (hidden,) if isinstance(hidden, Integral) else hidden
    valid = isinstance(sizes, (tuple, list)) and all(
        isinstance(size, Integral) and not isinstance(size, bool) and int(size) > 0
        for size in sizes
    )
    if not valid:
        raise SettingError(
            "hidden must be a whole number or a tuple of whole numbers above zero, one "
            f"per hidden layer, got {shorten(repr(hidden))}. Write hidden=(50,) or "
            "hidden=(99, 99)."
        )
    checked = tuple(map(int, sizes))  # pyright: ignore[reportArgumentType]
    weights = sum(a * b for a, b in pairwise((1, *checked, 1)))
    if len(checked) > _MOST_LAYERS or weights > _MOST_WEIGHTS:
        raise SettingError(
            f"hidden has at most {_MOST_LAYERS} layers, with at most "
            f"{_MOST_WEIGHTS:,} weights between them, got {shorten(repr(hidden))}. "
            "Write hidden=(50,) or hidden=(99, 99)."
        )
    return checked
