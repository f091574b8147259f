"""The edge of what is forbidden, softened."""

import functools
from collections.abc import Iterable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.claims.base import Settings
from ocbnn.claims.indicator import soft_indicator

# How far outputs may be beyond an edge, give or take, as a share of the natural size.
TOLERANCE = 0.03
# The edge is set inwards by so many tolerances, and by more for a strict rule, but by
# no more than this share of the room that there is: functions that lean on it then keep
# the rule nearly everywhere, and a strict one also between its points.
MARGIN, STRICT_MARGIN, MOST_OF_ROOM = 2.0, 4.0, 0.1


def edge_at(settings: Settings, size: float) -> tuple[Array, Array]:
    """The tolerance and the margin of what has a natural size.

    A tolerance larger than the usual one makes a rule looser, and no margin wider.
    """
    usual = TOLERANCE * size
    tolerance = settings.tolerance or usual
    margin = MARGIN if settings.held == "soft" else STRICT_MARGIN
    inwards = margin * min(tolerance, usual)
    return jnp.asarray(tolerance, float), jnp.asarray(inwards, float)


def squared_hinge(
    value: Float[Array, ""],
    tolerance: Float[Array, ""],
    margin: Float[Array, ""],
    room: Float[Array, ""] | None = None,
) -> Float[Array, ""]:
    r"""$(m - z)_+^2 / t^2$: how far `z` is below the margin, in tolerances, squared.

    Nothing from the margin on, however far; and no limit on the other side.

    Parameters
    ----------
    value
        What must not be below zero.
    tolerance
        How far it may be, give or take.
    margin
        How far inwards the edge is set.
    room
        The width of what is allowed, where it has another end.

    >>> one, two = jnp.array(1.0), jnp.array(2.0)
    >>> [float(squared_hinge(jnp.array(z), one, two)) for z in (3.0, 0.0, -1.0)]
    [0.0, 4.0, 9.0]
    """
    if room is not None:
        margin = least((margin, MOST_OF_ROOM * largest((room, jnp.zeros_like(room)))))
    short = jnp.where(value >= margin, 0.0, margin - value)
    return (short / tolerance) ** 2


def least(values: Iterable[Float[Array, ""]]) -> Float[Array, ""]:
    """The least of some values, or not a number where one is not.

    Not `jnp.min`: its slope goes to the value that equals the least one, and where
    compiled code computes the two apart they may differ in the last digit, so that
    none does and the slope is lost.
    """
    return functools.reduce(lambda a, b: jnp.where(b >= a, a, b), values)


def largest(values: Iterable[Float[Array, ""]]) -> Float[Array, ""]:
    """The largest of some values, like `least`."""
    return functools.reduce(lambda a, b: jnp.where(b <= a, a, b), values)


class Edge(eqx.Module):
    """The paper's soft indicator, as a rule asks for it."""

    tau0: Float[Array, ""]
    tau1: Float[Array, ""]
    literal: bool = eqx.field(static=True)

    @classmethod
    def of(cls, settings: Settings) -> "Edge":
        """As a rule asks for it."""
        tau0, tau1 = (jnp.asarray(tau, float) for tau in settings.tau)
        return cls(tau0, tau1, settings.literal)

    def inside(self, z: Float[Array, ""]) -> Float[Array, ""]:
        """How far `z`, in natural sizes, is at most zero."""
        tau0, tau1 = (tau.astype(z.dtype) for tau in (self.tau0, self.tau1))
        return soft_indicator(z, tau0, tau1, literal=self.literal)
