"""Fully connected networks of any depth."""

from itertools import pairwise
from typing import Any, NamedTuple

import equinox as eqx

from ocbnn.core.errors import SettingError
from ocbnn.core.types import Input, Output
from ocbnn.networks.activations import activation_named
from ocbnn.networks.base import Network, array_spec


class Layer(NamedTuple):
    """One affine map, `x @ weight + bias`."""

    weight: Any  # (into, out); a shape or a fan-in where the family is described
    bias: Any  # (out,)


class MLP(Network):
    """`hidden` layers of units between `inputs` and `outputs`.

    >>> network = MLP(1, (10,), 1, activation="rbf")
    >>> [layer.weight.shape for layer in network.shapes()]
    [(1, 10), (10, 1)]
    """

    inputs: int = eqx.field(static=True)
    hidden: tuple[int, ...] = eqx.field(static=True)
    outputs: int = eqx.field(static=True)
    activation: str = eqx.field(static=True)

    def __init__(
        self, inputs: int, hidden: object, outputs: int, activation: str = "rbf"
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
        activation = activation_named(self.activation)
        *hidden, last = weights
        for layer in hidden:
            x = activation(x @ layer.weight + layer.bias)
        return x @ last.weight + last.bias


def _sizes(hidden: object) -> tuple[int, ...]:
    sizes = (hidden,) if isinstance(hidden, int) else hidden
    valid = isinstance(sizes, (tuple, list)) and all(
        isinstance(size, int) and not isinstance(size, bool) and size > 0
        for size in sizes
    )
    if not valid:
        raise SettingError(
            "hidden must be a whole number or a tuple of whole numbers above zero, one "
            f"per hidden layer, got {hidden!r}. Write hidden=(50,) or hidden=(99, 99)."
        )
    return tuple(sizes)  # pyright: ignore[reportArgumentType]
