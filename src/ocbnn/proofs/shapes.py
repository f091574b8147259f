"""How activations bend, and straight lines that provably bound them.

Between its points of inflection an activation bends one way. There a chord lies on one
side of it and a tangent on the other, whatever the slopes are: so a line of any slope
can be shifted until it provably bounds the activation, and choosing a good slope is a
matter of tightness alone, never of truth.
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
# An activation's value at z is taken to be right to this many parts of 1 + |z|, and so
# is its slope. In double precision both are right to about 1e-15; the tests look.
TRUST = 1e-13
# Places at which an interval is looked at to choose slopes.
_LOOKS = 9
# Halvings that look for the place where an activation has a given slope.
_HALVINGS = 14


@dataclasses.dataclass(frozen=True)
class Shape:
    """Where an activation bends which way.

    Attributes
    ----------
    name
        The activation.
    breaks
        Where it changes; each piece lies between two of them.
    bends
        For each piece 1 where convex, -1 where concave, 0 where straight.
    steepest
        No slope is larger.
    wave
        The distance at which breaks repeat, with bends in turn; none for most.
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
        """Ends of the pieces of an interval, and how each bends.

        A piece that the interval does not reach has both ends in one place.
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
        No value of the activation is smaller.
    most
        None is larger.
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
    # All three at once: it is one piece of code that is compiled, not three.
    least, most = jax.vmap(lambda slope: _shifts(shape, slope, low, high))(slopes)
    return Lines(below, least[0], above, most[1], least[2], most[2])


def slope_range(shape: Shape, low: Values, high: Values) -> tuple[Values, Values]:
    """The least and the greatest slope on an interval, or a little beyond."""
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
    """Slopes of the lines that come closest at the middle of the interval.

    Of all lines below, the best one at a place supports the convex hull there. The hull
    is that of a few places, which is near enough.
    """
    middle, width = 0.5 * (low + high), high - low
    share = jnp.linspace(0.0, 1.0, _LOOKS, dtype=low.dtype)
    share = share.reshape(-1, *(1,) * low.ndim)
    values = shape.function(low[None] + share * width[None])
    half = _LOOKS // 2
    left, right = values[: half + 1, None], values[None, half:]
    # Chords over the middle: places i to the left of it, j to the right, not both on.
    i = share[: half + 1, None] - 0.5
    j = share[None, half:] - 0.5
    run = jnp.where(j - i > 0, j - i, 1.0)
    rise = (right - left) / run
    height = jnp.where(j - i > 0, left - i * rise, values[half][None, None])
    is_chord = (i < 0) & (j > 0)
    flat = shape.slope(middle)

    def best(heights: Array, choose: Callable[..., Array]) -> Values:
        flat_heights = heights.reshape(-1, *low.shape)
        rises = jnp.broadcast_to(rise, heights.shape).reshape(-1, *low.shape)
        at = choose(flat_heights, axis=0)[None]
        found = jnp.take_along_axis(rises, at, axis=0)[0]
        # On a hair's breadth differences are rounding; the slope there is better.
        slope = jnp.where(width > 1e-7, found / jnp.where(width > 0, width, 1.0), flat)
        return jnp.clip(slope, -shape.steepest, shape.steepest)

    below = best(jnp.where(is_chord, height, jnp.inf), jnp.argmin)
    if shape.name == "relu":
        below = flat  # Its hull is itself, so a line supports it along a whole side.
    above = best(jnp.where(is_chord, height, -jnp.inf), jnp.argmax)
    return below, above


def _shifts(
    shape: Shape, slope: Values, low: Values, high: Values
) -> tuple[Values, Values]:
    """The least and the greatest of `activation(z) - slope * z`, or a little beyond."""
    ends, bends = shape.pieces(low, high)
    starts, stops = ends[:-1], ends[1:]
    tilted = lambda z: shape.function(z) - slope[None] * z
    at_ends = tilted(ends)
    lower = jnp.minimum(at_ends[:-1], at_ends[1:])
    upper = jnp.maximum(at_ends[:-1], at_ends[1:])
    at = _where_slope_is(shape, slope, starts, stops, bends)
    # What bends up lies above each of its tangents, and a tangent's extremes are at the
    # ends: true at any place, and tight where the tangent is level.
    lean = shape.slope(at) - slope[None]
    height, first, last = tilted(at), lean * (starts - at), lean * (stops - at)
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
    """About where in each piece the activation has this slope, or comes nearest."""

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        first, last = ends
        middle = 0.5 * (first + last)
        # Slopes grow along a piece that bends up, and fall along one that bends down.
        before = (shape.slope(middle) - slope[None]) * bends > 0
        return jnp.where(before, first, middle), jnp.where(before, middle, last)

    first, last = jax.lax.fori_loop(0, _HALVINGS, halve, (starts, stops))
    # At the end of a piece its own slope is the nearest, and the tangent there exact.
    place = 0.5 * (first + last)
    place = jnp.where(first == starts, starts, place)
    return jnp.where(last == stops, stops, place)


def _largest(low: Values, high: Values) -> Values:
    return jnp.maximum(jnp.abs(low), jnp.abs(high))
