"""The interface of networks: shapes, and a value at one input."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.types import Input, Inputs, Output, Outputs, Position, RandomKey
from ocbnn.errors import SettingError


class Network(eqx.Module):
    """A function family. Weights are a pytree of arrays, separate from the family.

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
        """The number of summands of each weight's unit; 1 for biases."""

    @abc.abstractmethod
    def apply(self, weights: Position, x: Input) -> Output:
        """The value at one input.

        Parameters
        ----------
        weights
            Weights, structured like `shapes()`.
        x
            The input, in standard units.
        """

    def batch(self, weights: Position, xs: Inputs) -> Outputs:
        """The values at many inputs.

        Parameters
        ----------
        weights
            Weights, structured like `shapes()`.
        xs
            The inputs, one per row.
        """
        return jax.vmap(self.apply, in_axes=(None, 0))(weights, xs)

    def plain(self, weights: Position) -> tuple["Network", Position]:
        """The family without parameters that only a prior needs, and its weights.

        Parameters
        ----------
        weights
            Arrays of many draws, along a first axis.

        Returns
        -------
        tuple[Network, Position]
            The plain family, and the same draws of its weights.
        """
        return self, weights

    def with_plain(self, weights: Position, plain: Position) -> Position:
        """Draws of this family with new weights in the plain family.

        Parameters that only a prior needs keep their values; a draw whose plain weights
        do not change is identical bit by bit.

        Parameters
        ----------
        weights
            Draws of this family, along a first axis.
        plain
            The new weights in the plain family.
        """
        return plain

    def last_layer(self) -> Position:
        """True for the arrays of the last affine map, False for all others.

        Raises
        ------
        SettingError
            When the family does not say which they are.
        """
        raise SettingError(
            f"{type(self).__name__} does not say which weights are its last layer, so "
            'write Laplace(over="all"), or use an MLP.'
        )

    @property
    def linear(self) -> "LinearNetwork | None":
        """The family as one that knows how its last layer enters, if it does."""
        return None

    def noisy_batch(
        self, mean: Position, sd: Position, key: RandomKey, xs: Inputs
    ) -> Outputs:
        """Values at many inputs, each under its own draw of independent weights.

        Parameters
        ----------
        mean
            Means of the weights, structured like `shapes()`.
        sd
            Their standard deviations, likewise.
        key
            Determines the draws.
        xs
            The inputs, one per row.

        Raises
        ------
        SettingError
            When the family cannot draw noise at its units.
        """
        raise SettingError(
            f"{type(self).__name__} cannot draw noise at its units, so write "
            "VI(local=False), or use an MLP."
        )


class LinearNetwork(Network):
    """A family whose outputs are `basis(weights, xs) @ last_weights(weights)`."""

    @abc.abstractmethod
    def basis(self, weights: Position, xs: Inputs) -> Float[Array, "rows features"]:
        """What the last layer multiplies. Its own weights have no part in that.

        Parameters
        ----------
        weights
            Weights, structured like `shapes()`.
        xs
            The inputs, one per row.
        """

    @abc.abstractmethod
    def last_weights(self, weights: Position) -> Float[Array, "features outputs"]:
        """The last layer as one matrix.

        Parameters
        ----------
        weights
            Weights, structured like `shapes()`.
        """

    @abc.abstractmethod
    def with_last_weights(
        self, weights: Position, last: Float[Array, "features outputs"]
    ) -> Position:
        """The weights with another last layer.

        Parameters
        ----------
        weights
            Weights, structured like `shapes()`.
        last
            The new last layer, as one matrix.
        """


def array_spec(*shape: int) -> jax.ShapeDtypeStruct:
    """The shape of an array of the current default precision."""
    return jax.ShapeDtypeStruct(shape, jnp.zeros(()).dtype)
