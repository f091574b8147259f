"""The curvature of activations, and straight lines that provably bound them.

Between its points of inflection an activation is convex or concave. There a chord lies
on one side of it and a tangent on the other, whatever the slopes are. So a line of any
slope can be shifted until it provably bounds the activation, and the choice of slope
affects only tightness, never soundness.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ocbnn.networks.activations import activation_named

Values = Float[Array, "*shape"]
# Values and slopes of activations at z are assumed exact up to this share of 1 + |z|.
# In double precision both are exact to about 1e-15, which the tests check.
TRUST = 1e-13
# Places of an interval at which slopes are compared.
_SAMPLES = 9
# Bisection steps to find where an activation has a given slope.
_HALVINGS = 14


@dataclasses.dataclass(frozen=True)
class Shape:
    """Where an activation is convex, concave or straight.

    Attributes
    ----------
    name
        The activation.
    breaks
        Where that changes; pieces lie between them.
    bends
        For each piece, 1 if convex, -1 if concave, 0 if straight.
    steepest
        An upper bound on the absolute slope.
    wave
        The distance at which breaks repeat, with alternating bends; None for most.
    """

    name: str
    breaks: tuple[float, ...]
    bends: tuple[int, ...]
    steepest: float
    wave: float | None = None

    @property
    def function(self) -> Callable[[Values], Values]:
        """The activation itself."""
        return activation_named(self.name)

    def slope(self, z: Values) -> Values:
        """Its derivative."""
        return jax.jvp(self.function, (z,), (jnp.ones_like(z),))[1]

    def pieces(
        self, low: Values, high: Values
    ) -> tuple[Float[Array, "ends *shape"], Float[Array, "pieces *shape"]]:
        """Ends of the pieces of an interval, and each piece's bend.

        A piece that the interval does not reach has length zero.
        """
        inner = [jnp.full_like(low, at) for at in self.breaks]
        bends = [jnp.full_like(low, bend) for bend in self.bends]
        if self.wave is not None:
            first = jnp.ceil(low / self.wave)
            # Up to three breaks lie within two waves; wider ones are bounded below.
            inner = [(first + k) * self.wave for k in range(3)]
            # The sine is convex before an even multiple of its half wave.
            sign = jnp.where(jnp.mod(first, 2.0) == 0.0, 1.0, -1.0)
            bends = [sign, -sign, sign, -sign]
        ends = [low, *(jnp.clip(at, low, high) for at in inner), high]
        return jnp.stack(ends), jnp.stack(bends)


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("rbf", (-np.sqrt(0.5), np.sqrt(0.5)), (1, -1, 1), 0.8577638849607069),
        Shape("tanh", (0.0,), (1, -1), 1.0),
        Shape("sigmoid", (0.0,), (1, -1), 0.25),
        Shape("relu", (0.0,), (0, 0), 1.0),
        Shape("softplus", (), (1,), 1.0),
        Shape("elu", (0.0,), (1, 0), 1.0),
        Shape("silu", (-2.3993572805154677, 2.3993572805154677), (-1, 1, -1), 1.1),
        Shape("gelu", (-1.418504008790828, 1.418504008790828), (-1, 1, -1), 1.13),
        Shape("sin", (), (), 1.0, wave=np.pi),
    )
}


class Lines(NamedTuple):
    """Straight lines below and above an activation on an interval.

    Attributes
    ----------
    below
        Slope of the lower line.
    floor
        Its value at zero.
    above
        Slope of the upper line.
    ceiling
        Its value at zero.
    least
        A lower bound on the activation.
    most
        An upper bound on it.
    """

    below: Values
    floor: Values
    above: Values
    ceiling: Values
    least: Values
    most: Values


def lines(shape: Shape, low: Values, high: Values) -> Lines:
    """Lines that bound an activation at every real number from `low` to `high`."""
    below, above = _good_slopes(shape, low, high)
    slopes = jnp.stack([below, above, jnp.zeros_like(low)])
    # All three at once, so that the code is compiled once instead of three times.
    least, most = jax.vmap(lambda slope: _shifts(shape, slope, low, high))(slopes)
    return Lines(below, least[0], above, most[1], least[2], most[2])


def slope_range(shape: Shape, low: Values, high: Values) -> tuple[Values, Values]:
    """Bounds on the slope over an interval, almost tight."""
    if shape.name == "relu":
        return jnp.where(low > 0, 1.0, 0.0), jnp.where(high < 0, 0.0, 1.0)
    # Slopes are monotone on each piece, so the ends of the pieces have the extremes.
    ends, _ = shape.pieces(low, high)
    slopes = jax.vmap(shape.slope)(ends)
    margin = TRUST * (1.0 + _largest(low, high))
    least, most = jnp.min(slopes, axis=0) - margin, jnp.max(slopes, axis=0) + margin
    if shape.wave is not None:
        wide = high - low > 2.0 * shape.wave
        least, most = jnp.where(wide, -1.0, least), jnp.where(wide, 1.0, most)
    return least, most


def _good_slopes(shape: Shape, low: Values, high: Values) -> tuple[Values, Values]:
    """Slopes of the lines that are closest at the middle of the interval.

    The best line below at a place supports the convex hull there. The hull of a few
    samples is accurate enough.
    """
    middle, width = 0.5 * (low + high), high - low
    shares = jnp.linspace(0.0, 1.0, _SAMPLES, dtype=low.dtype)
    shares = shares.reshape(-1, *(1,) * low.ndim)
    values = shape.function(low[None] + shares * width[None])
    half = _SAMPLES // 2
    left, right = values[: half + 1, None], values[None, half:]
    # Chords over the middle: from places i on its left to places j on its right.
    i = shares[: half + 1, None] - 0.5
    j = shares[None, half:] - 0.5
    run = jnp.where(j - i > 0, j - i, 1.0)
    rise = (right - left) / run
    height = jnp.where(j - i > 0, left - i * rise, values[half][None, None])
    is_chord = (i < 0) & (j > 0)
    flat = shape.slope(middle)

    def best(heights: Array, choose: Callable[..., Array]) -> Values:
        flat_heights = heights.reshape(-1, *low.shape)
        rises = jnp.broadcast_to(rise, heights.shape).reshape(-1, *low.shape)
        at = choose(flat_heights, axis=0)[None]
        chosen = jnp.take_along_axis(rises, at, axis=0)[0]
        # On tiny intervals differences are rounding errors; the slope is better.
        slope = jnp.where(width > 1e-7, chosen / jnp.where(width > 0, width, 1.0), flat)
        return jnp.clip(slope, -shape.steepest, shape.steepest)

    below = best(jnp.where(is_chord, height, jnp.inf), jnp.argmin)
    if shape.name == "relu":
        below = flat  # ReLU is convex, so a line supports it along a whole side.
    above = best(jnp.where(is_chord, height, -jnp.inf), jnp.argmax)
    return below, above


def _shifts(
    shape: Shape, slope: Values, low: Values, high: Values
) -> tuple[Values, Values]:
    """Bounds on `activation(z) - slope * z`, almost tight."""
    ends, bends = shape.pieces(low, high)
    starts, stops = ends[:-1], ends[1:]
    tilted = lambda z: shape.function(z) - slope[None] * z
    at_ends = tilted(ends)
    lower = jnp.minimum(at_ends[:-1], at_ends[1:])
    upper = jnp.maximum(at_ends[:-1], at_ends[1:])
    at = _where_slope_is(shape, slope, starts, stops, bends)
    # A convex function lies above each of its tangents, whose extremes are at the ends.
    # This is sound at any place, and tight where the tangent is level.
    slope_difference = shape.slope(at) - slope[None]
    height, first, last = (
        tilted(at),
        slope_difference * (starts - at),
        slope_difference * (stops - at),
    )
    lower = jnp.where(bends > 0, height + jnp.minimum(first, last), lower)
    upper = jnp.where(bends < 0, height + jnp.maximum(first, last), upper)
    margin = 8.0 * TRUST * (1.0 + _largest(low, high)) * (1.0 + jnp.abs(slope))
    least, most = jnp.min(lower, axis=0) - margin, jnp.max(upper, axis=0) + margin
    if shape.wave is not None:
        wide = high - low > 2.0 * shape.wave
        reach = 1.0 + jnp.abs(slope) * _largest(low, high) + margin
        least, most = jnp.where(wide, -reach, least), jnp.where(wide, reach, most)
    return least, most


def _where_slope_is(
    shape: Shape,
    slope: Values,
    starts: Float[Array, "pieces *shape"],
    stops: Float[Array, "pieces *shape"],
    bends: Float[Array, "pieces *shape"],
) -> Float[Array, "pieces *shape"]:
    """Roughly where in each piece the activation's slope is closest to this one."""

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        first, last = ends
        middle = 0.5 * (first + last)
        # Slopes increase along a convex piece, and decrease along a concave one.
        before = (shape.slope(middle) - slope[None]) * bends > 0
        return jnp.where(before, first, middle), jnp.where(before, middle, last)

    first, last = jax.lax.fori_loop(0, _HALVINGS, halve, (starts, stops))
    # If the closest slope is at an end of the piece, return that end exactly.
    place = 0.5 * (first + last)
    place = jnp.where(first == starts, starts, place)
    return jnp.where(last == stops, stops, place)


def _largest(low: Values, high: Values) -> Values:
    return jnp.maximum(jnp.abs(low), jnp.abs(high))
