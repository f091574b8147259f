"""What the library asks of a network: shapes, and a value at one input."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp

from ocbnn.core.types import Input, Inputs, Output, Outputs, Position


class Network(eqx.Module):
    """A function family. Weights are a pytree of arrays, kept apart from the family.

    Two networks that compare equal compile to the same code, so repeated fits of the
    same size never compile twice.
    """

    inputs: eqx.AbstractVar[int]
    outputs: eqx.AbstractVar[int]

    @abc.abstractmethod
    def shapes(self) -> Position:
        """The weights' structure, as a pytree of `jax.ShapeDtypeStruct`."""

    @abc.abstractmethod
    def fan_in(self) -> Position:
        """How many summands each weight's unit adds up; 1 for biases."""

    @abc.abstractmethod
    def apply(self, weights: Position, x: Input) -> Output:
        """The value at one input."""

    def batch(self, weights: Position, xs: Inputs) -> Outputs:
        """The values at many inputs."""
        return jax.vmap(self.apply, in_axes=(None, 0))(weights, xs)


def array_spec(*shape: int) -> jax.ShapeDtypeStruct:
    """An array of the current default precision that is not there yet."""
    return jax.ShapeDtypeStruct(shape, jnp.zeros(()).dtype)
