"""A log density of one flat vector, for algorithms that run best on one.

Measured: tiny networks under HMC and NUTS are fastest as one vector; wide ones under
SVGD are three times faster with one array per layer. So this is a view that some
algorithms use, not a property of the target.
"""

from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
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


@runtime_checkable
class PartialDensity(LogDensity, Protocol):
    """The density of a part of a position, the rest of which is drawn afterwards."""

    def reduced(self, position: Position) -> Position:
        """That part of a whole position."""
        ...

    def completed(self, key: RandomKey, position: Position) -> Position:
        """A whole position, its other part drawn given this one."""
        ...


@runtime_checkable
class Collapsible(Protocol):
    """A density of which a part of the position may be integrated out."""

    def collapsed(self) -> PartialDensity | None:
        """The density of the rest, or None where there is no closed form."""
        ...


def collapsed(target: LogDensity) -> LogDensity:
    """The density of a part of the position where there is one, else the density."""
    part = target.collapsed() if isinstance(target, Collapsible) else None
    return target if part is None else part


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

    def ravel(self, position: Position) -> Vector:
        """The vector of a whole position."""
        if isinstance(self.target, PartialDensity):
            position = self.target.reduced(position)
        return self.raveller.ravel(position)

    def emit(self, key: RandomKey, vector: Vector) -> Position:
        """A whole position from a vector, with a first axis of one."""
        position = self.unravel(vector)
        if isinstance(self.target, PartialDensity):
            position = self.target.completed(key, position)
        return jax.tree.map(lambda a: a[None], position)

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
