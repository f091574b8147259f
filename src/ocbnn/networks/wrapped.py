"""Networks made from something else: an Equinox module, or a pair of functions."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array

from ocbnn.core.types import Input, Output, Position
from ocbnn.errors import SettingError
from ocbnn.networks.base import Network, array_spec


class EquinoxNetwork(Network):
    """Any Equinox module that maps one input vector to one output vector.

    The module's floating-point arrays become the weights and get a prior; everything
    else about it stays fixed.

    Parameters
    ----------
    module
        The module, with a `__call__(self, x)` for one input vector.
    inputs
        The number of inputs.

    Raises
    ------
    SettingError
        When it cannot be called with one input vector, does not return one vector, or
        has no weights.

    Examples
    --------
    >>> module = eqx.nn.MLP(2, 1, 8, 2, key=jax.random.key(0))
    >>> EquinoxNetwork(module, inputs=2).outputs
    1
    """

    # The module in three parts: shapes of its weights, other arrays, and all the rest.
    specs: Any = eqx.field(static=True)
    arrays: Any
    rest: Any = eqx.field(static=True)
    inputs: int = eqx.field(static=True)
    outputs: int = eqx.field(static=True)

    def __init__(self, module: eqx.Module, inputs: int) -> None:
        name = type(module).__name__
        if not callable(module):
            raise SettingError(
                f"{name} cannot be called: give the Equinox module a "
                "`__call__(self, x)` that maps one input vector to one output vector."
            )
        weights, fixed = eqx.partition(module, eqx.is_inexact_array)
        if not jax.tree.leaves(weights):
            raise SettingError(
                f"{name} has no weights: none of it is a floating-point JAX array. "
                "Pass an Equinox module, or Applied(init, apply, inputs, outputs)."
            )
        self.specs = jax.tree.map(_spec, weights)
        self.arrays, self.rest = eqx.partition(fixed, eqx.is_array)
        self.inputs = inputs
        value = _value_at(name, module, array_spec(inputs))
        if getattr(value, "ndim", None) != 1:
            raise SettingError(
                f"{name} must return one vector for one input vector, got {value}. "
                "Return an array of shape (outputs,)."
            )
        self.outputs = value.shape[0]

    def shapes(self) -> Position:
        """The module's structure, with everything but weights left out."""
        return self.specs

    def fan_in(self) -> Position:
        """Equinox stores weights as (out, in, ...) and biases as vectors."""
        return jax.tree.map(
            lambda a: max(1, a.size // a.shape[0]) if a.ndim > 1 else 1, self.specs
        )

    def apply(self, weights: Position, x: Input) -> Output:
        """Put the weights into the module and call it."""
        return eqx.combine(weights, self.arrays, self.rest)(x)


class Applied(Network):
    """A network from a pair of functions.

    Parameters
    ----------
    init_fn
        `init_fn(key)` returns weights, a pytree of arrays; only their shapes are used.
    apply_fn
        `apply_fn(weights, x)` returns the output vector at one input vector.
    inputs
        The number of inputs.
    outputs
        The number of outputs.

    Raises
    ------
    SettingError
        When `apply_fn` does not return an array of shape (outputs,).
    """

    init_fn: Callable[[Array], Position] = eqx.field(static=True)
    apply_fn: Callable[[Position, Input], Output] = eqx.field(static=True)
    inputs: int = eqx.field(static=True)
    outputs: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        value = _value_at(
            "apply",
            lambda arguments: self.apply_fn(*arguments),
            (self.shapes(), array_spec(self.inputs)),
        )
        if getattr(value, "shape", None) != (self.outputs,):
            raise SettingError(
                f"apply(weights, x) must return an array of shape ({self.outputs},) "
                f"for one x of shape ({self.inputs},), got {value}."
            )

    def shapes(self) -> Position:
        """The shapes that `init` returns."""
        return jax.eval_shape(self.init_fn, jax.random.key(0))

    def fan_in(self) -> Position:
        """Weights are assumed to be (in, out), as in a product `x @ weight`."""
        return jax.tree.map(lambda a: a.shape[0] if a.ndim > 1 else 1, self.shapes())

    def apply(self, weights: Position, x: Input) -> Output:
        """Call the user's function."""
        return self.apply_fn(weights, x)


def _spec(array: Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def _value_at(name: str, function: Callable[..., Any], spec: Any) -> Any:
    """The shape that a user's function returns for an input of this shape."""
    try:
        return eqx.filter_eval_shape(function, spec)
    except (TypeError, ValueError) as error:
        x = jax.tree.leaves(spec)[-1]
        raise SettingError(
            f"{name} cannot take one input vector of shape {x.shape}, one number per "
            f"column of the data. Build it for {x.shape[0]} inputs. It raised: {error}"
        ) from error
