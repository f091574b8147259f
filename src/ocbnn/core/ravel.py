"""A pytree of arrays as one flat vector, and back."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.types import Position

Vector = Float[Array, " dim"]


class Raveller(eqx.Module):
    """The structure of a position, without its values; hashable, so static under jit.

    JAX's own `ravel_pytree` is as fast, but needs arrays where shapes suffice, and
    refuses vectors of another precision, which SciPy's optimisers pass.

    >>> raveller = Raveller({"a": jnp.zeros((2, 3)), "b": jnp.zeros(())})
    >>> raveller.size, raveller.unravel(jnp.arange(7.0))["b"].item()
    (7, 6.0)
    """

    structure: Any = eqx.field(static=True)
    shapes: tuple[tuple[int, ...], ...] = eqx.field(static=True)

    def __init__(self, position: Position) -> None:
        leaves, self.structure = jax.tree.flatten(position)
        self.shapes = tuple(leaf.shape for leaf in leaves)

    @property
    def size(self) -> int:
        """The number of entries of the vector."""
        return sum(math.prod(shape) for shape in self.shapes)

    def ravel(self, position: Position) -> Vector:
        """One vector from a position."""
        return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(position)])

    def unravel(self, vector: Vector) -> Position:
        """A position from one vector."""
        leaves, start = [], 0
        for shape in self.shapes:
            size = math.prod(shape)
            leaves.append(vector[start : start + size].reshape(shape))
            start += size
        return jax.tree.unflatten(self.structure, leaves)
