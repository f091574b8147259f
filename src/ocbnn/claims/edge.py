"""The softened edge of what is forbidden."""

import functools
from collections.abc import Iterable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.claims.base import Settings
from ocbnn.claims.indicator import soft_indicator

# Roughly how far outputs may be beyond an edge, as a share of the natural size.
TOLERANCE = 0.03
# The edge is moved inwards by so many tolerances, by more for a strict rule, but at
# most by this share of the allowed width. Functions that lean on the edge then keep the
# rule nearly everywhere, and a strict rule also between its points.
MARGIN, STRICT_MARGIN, MOST_OF_ROOM = 2.0, 4.0, 0.1


def edge_at(settings: Settings, size: float) -> tuple[Array, Array]:
    """The tolerance and the margin for a natural size.

    A tolerance above the default makes a rule looser, but its margin no wider.
    """
    usual = TOLERANCE * size
    tolerance = settings.tolerance or usual
    margin = MARGIN if settings.strictness == "soft" else STRICT_MARGIN
    inwards = margin * min(tolerance, usual)
    return jnp.asarray(tolerance, float), jnp.asarray(inwards, float)


def squared_hinge(
    value: Float[Array, ""],
    tolerance: Float[Array, ""],
    margin: Float[Array, ""],
    room: Float[Array, ""] | None = None,
) -> Float[Array, ""]:
    r"""$(m - z)_+^2 / t^2$: how far `z` is below the margin, in tolerances, squared.

    Zero at and above the margin; unbounded below it.

    Parameters
    ----------
    value
        The quantity that must not be negative.
    tolerance
        Roughly how far below zero it may be.
    margin
        How far inwards the edge is moved.
    room
        The allowed width, where there is an opposite edge.

    >>> one, two = jnp.array(1.0), jnp.array(2.0)
    >>> [float(squared_hinge(jnp.array(z), one, two)) for z in (3.0, 0.0, -1.0)]
    [0.0, 4.0, 9.0]
    """
    if room is not None:
        margin = least((margin, MOST_OF_ROOM * largest((room, jnp.zeros_like(room)))))
    short = jnp.where(value >= margin, 0.0, margin - value)
    return (short / tolerance) ** 2


def least(values: Iterable[Float[Array, ""]]) -> Float[Array, ""]:
    """The least of some values, or NaN if one is NaN.

    Not `jnp.min`: its slope goes to the value that equals the result. Compiled code may
    compute the two separately, so that they differ in the last digit and the slope is
    lost.
    """
    return functools.reduce(lambda a, b: jnp.where(b >= a, a, b), values)


def largest(values: Iterable[Float[Array, ""]]) -> Float[Array, ""]:
    """The largest of some values, like `least`."""
    return functools.reduce(lambda a, b: jnp.where(b <= a, a, b), values)


class Edge(eqx.Module):
    """The paper's soft indicator, with a rule's settings."""

    tau0: Float[Array, ""]
    tau1: Float[Array, ""]
    literal: bool = eqx.field(static=True)

    @classmethod
    def of(cls, settings: Settings) -> "Edge":
        """The indicator with a rule's settings."""
        tau0, tau1 = (jnp.asarray(tau, float) for tau in settings.tau)
        return cls(tau0, tau1, settings.literal)

    def inside(self, z: Float[Array, ""]) -> Float[Array, ""]:
        """The soft indicator of `z <= 0`, with `z` in natural sizes."""
        tau0, tau1 = (tau.astype(z.dtype) for tau in (self.tau0, self.tau1))
        return soft_indicator(z, tau0, tau1, literal=self.literal)
