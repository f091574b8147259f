"""A log density of one flat vector, for algorithms that run best on one.

Measured: tiny networks under HMC and NUTS are fastest as one vector; wide ones under
SVGD are three times faster with one array per layer. So this is a view that some
algorithms put on, never a property of the target.
"""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.types import Position, RandomKey, Scalar
from ocbnn.inference.base import LogDensity

Vector = Float[Array, " dim"]


class Flat(eqx.Module):
    """The same density, with positions ravelled."""

    target: LogDensity
    structure: Any = eqx.field(static=True)
    shapes: tuple[tuple[int, ...], ...] = eqx.field(static=True)

    def __init__(self, target: LogDensity) -> None:
        leaves, self.structure = jax.tree.flatten(target.shapes())
        self.target = target
        self.shapes = tuple(leaf.shape for leaf in leaves)

    @property
    def size(self) -> int:
        """The number of weights."""
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

    def logdensity(self, vector: Vector) -> Scalar:
        """The target's log density."""
        return self.target.logdensity(self.unravel(vector))

    def split(self, vector: Vector) -> tuple[Scalar, Scalar]:
        """The target's two summands."""
        return self.target.split(self.unravel(vector))

    def initial(self, key: RandomKey) -> Vector:
        """A place to start."""
        return self.ravel(self.target.initial(key))
