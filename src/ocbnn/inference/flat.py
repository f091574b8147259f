"""A log density of one flat vector, for algorithms that run best on one.

Measured: tiny networks under HMC and NUTS are fastest as one vector; wide ones under
SVGD are three times faster with one array per layer. So this is a view that some
algorithms use, not a property of the target.
"""

from typing import Protocol, runtime_checkable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.ravel import Raveller, Vector
from ocbnn.core.types import Position, RandomKey, Scalar
from ocbnn.inference.base import LogDensity


@runtime_checkable
class Staged(Protocol):
    """A density that knows the best order for tempering its summands."""

    def stages(self, position: Position) -> tuple[Scalar, ...]:
        """Summands of the log density; the first is the density `initial` samples."""
        ...


class Flat(eqx.Module):
    """The same density, with positions ravelled."""

    target: LogDensity
    raveller: Raveller

    def __init__(self, target: LogDensity) -> None:
        self.target = target
        self.raveller = Raveller(target.shapes())

    def unravel(self, vector: Vector) -> Position:
        """A position from one vector."""
        return self.raveller.unravel(vector)

    def logdensity(self, vector: Vector) -> Scalar:
        """The target's log density."""
        return self.target.logdensity(self.unravel(vector))

    def split(self, vector: Vector) -> tuple[Scalar, Scalar]:
        """The target's two summands."""
        return self.target.split(self.unravel(vector))

    def stages(self, vector: Vector) -> Float[Array, " stages"]:
        """The target's summands in the best order for tempering."""
        position = self.unravel(vector)
        if isinstance(self.target, Staged):
            return jnp.stack(self.target.stages(position))
        return jnp.stack(self.target.split(position))

    def initial(self, key: RandomKey) -> Vector:
        """A starting position."""
        return self.raveller.ravel(self.target.initial(key))
