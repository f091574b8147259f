"""Networks made from something else: an Equinox module, or a pair of functions."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ocbnn.core.errors import SettingError
from ocbnn.core.types import Input, Output, Position
from ocbnn.networks.base import Network


class EquinoxNetwork(Network):
    """Any Equinox module that maps one input vector to one output vector.

    The module's floating-point arrays become the weights, with a prior of their own;
    everything else about it stays as it is.

    >>> module = eqx.nn.MLP(2, 1, 8, 2, key=jax.random.key(0))
    >>> EquinoxNetwork(module, inputs=2).outputs
    1
    """

    module: eqx.Module
    inputs: int = eqx.field(static=True)
    outputs: int = eqx.field(static=True)

    def __init__(self, module: eqx.Module, inputs: int) -> None:
        self.module, self.inputs = module, inputs
        if not callable(module):
            raise SettingError(
                f"{type(module).__name__} cannot be called: give the Equinox module a "
                "`__call__(self, x)` that maps one input vector to one output vector."
            )
        x = jax.ShapeDtypeStruct((inputs,), jnp.zeros(()).dtype)
        value = eqx.filter_eval_shape(module, x)
        if getattr(value, "ndim", None) != 1:
            raise SettingError(
                f"{type(module).__name__} must return one vector for one input vector, "
                f"got {value}. Return an array of shape (outputs,)."
            )
        self.outputs = value.shape[0]

    def shapes(self) -> Position:
        """The module's own structure, with everything but weights left out."""
        weights = eqx.filter(self.module, eqx.is_inexact_array)
        return jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), weights)

    def fan_in(self) -> Position:
        """Equinox keeps weights as (out, in, ...) and biases as vectors."""
        return jax.tree.map(
            lambda a: max(1, a.size // a.shape[0]) if a.ndim > 1 else 1, self.shapes()
        )

    def apply(self, weights: Position, x: Input) -> Output:
        """Put the weights into the module and call it."""
        rest = eqx.filter(self.module, eqx.is_inexact_array, inverse=True)
        return eqx.combine(weights, rest)(x)


class Applied(Network):
    """A pair of functions: `init(key) -> weights` and `apply(weights, x) -> output`."""

    init_fn: Callable[[Array], Position] = eqx.field(static=True)
    apply_fn: Callable[[Position, Input], Output] = eqx.field(static=True)
    inputs: int = eqx.field(static=True)
    outputs: int = eqx.field(static=True)

    def shapes(self) -> Position:
        """What `init` would return."""
        return jax.eval_shape(self.init_fn, jax.random.key(0))

    def fan_in(self) -> Position:
        """Weights are taken to be (in, out), as in a product `x @ weight`."""
        return jax.tree.map(lambda a: a.shape[0] if a.ndim > 1 else 1, self.shapes())

    def apply(self, weights: Position, x: Input) -> Output:
        """Call the user's function."""
        return self.apply_fn(weights, x)
