"""Bounds on a network over a box of inputs, by linear relaxation.

Each activation lies between two lines on the interval that its unit can reach. Going
backwards through the layers with those lines gives an affine function of the inputs
that bounds an output from below, and its least value over a box is known. Reference:
Zhang, Weng, Chen, Hsieh and Daniel (2018).

Sound in floating point: the relative error of a rounded coefficient is known, and the
values that it multiplies are bounded. All such errors are added up, multiplied by four,
and subtracted. Underflow is counted as far more than it can be.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.types import Along
from ocbnn.language.intervals import TINY, Interval
from ocbnn.networks.mlp import Layer
from ocbnn.proofs.shapes import Lines, Shape, lines, slope_range

Box = Interval  # of inputs, one interval for each
# The unit roundoff of double precision.
_UNIT = 2.0**-53
_SAFETY = 4.0


class Functionals(NamedTuple):
    """Affine functions of outputs and inputs, `outputs @ y + inputs @ x + constant`.

    The constants may be rounded, each by a few units in the last place of its `size`.
    """

    outputs: Float[Array, "count outputs"]
    inputs: Float[Array, "count inputs"]
    constant: Float[Array, " count"]
    size: Float[Array, " count"]


class FunctionalBounds(NamedTuple):
    """Bounds on functionals over a box.

    Attributes
    ----------
    range
        Bounds on each.
    tilt
        The slopes of the affine function that bounds each from below.
    influence
        How much of the bounds' looseness comes from each input's width.
    """

    range: Interval
    tilt: Float[Array, "count inputs"]
    influence: Float[Array, " inputs"]


class _Hidden(NamedTuple):
    """A hidden layer over a box."""

    layer: Layer
    bounded: Lines
    gap: Float[Array, " units"]
    size: Float[Array, " units"]  # no unit's input is larger
    values: Interval  # of the activations
    inputs: Interval  # of the pre-activations


def bound_network(
    weights: Sequence[Layer], shape: Shape, box: Box, functionals: Functionals
) -> FunctionalBounds:
    """Bound functionals of a network over a box of its inputs, for one draw."""
    *inner, last = weights
    hidden = _through(inner, shape, box)
    size = _size(last, hidden[-1].values if hidden else box)
    both = lambda rows: jnp.concatenate([rows, -rows])
    rows = Functionals(
        both(functionals.outputs),
        both(functionals.inputs),
        both(functionals.constant),
        jnp.concatenate([functionals.size, functionals.size]),
    )
    lower, tilt, blame = _lowest(hidden, box, last, size, rows)
    count = functionals.constant.shape[0]
    influence = _influence(hidden, box, tilt, blame)
    return FunctionalBounds(
        Interval(lower[:count], -lower[count:]), tilt[:count], influence
    )


def bound_slopes(
    weights: Sequence[Layer], shape: Shape, box: Box, along: Along
) -> Interval:
    """Bound the derivative of every output along one input, for one draw."""
    (column,) = along
    *inner, last = weights
    hidden = _through(inner, shape, box)
    unit = jnp.zeros_like(box.low).at[column].set(1.0)
    slopes = Interval(unit, unit)
    for layer_bounds in hidden:
        slopes = _affine(
            layer_bounds.layer._replace(bias=0.0 * layer_bounds.layer.bias), slopes
        )
        reach = slope_range(shape, *layer_bounds.inputs)
        corners = jnp.stack([a * b for a in slopes for b in reach])
        margin = _SAFETY * _UNIT * jnp.max(jnp.abs(corners), axis=0) + TINY
        slopes = Interval(
            jnp.min(corners, axis=0) - margin, jnp.max(corners, axis=0) + margin
        )
    return _affine(last._replace(bias=0.0 * last.bias), slopes)


def _through(inner: Sequence[Layer], shape: Shape, box: Box) -> list[_Hidden]:
    """Every hidden layer over the box, the first one first."""
    hidden: list[_Hidden] = []
    for layer in inner:
        before = hidden[-1].values if hidden else box
        size = _size(layer, before)
        reach = _affine(layer, before)
        if hidden:
            # Two bounds on the same values; both hold, so their intersection does.
            eye = jnp.eye(layer.bias.shape[0], dtype=layer.bias.dtype)
            units = eye.shape[0]
            zeros = jnp.zeros((2 * units, box.low.shape[0]), eye.dtype)
            both = Functionals(
                jnp.concatenate([eye, -eye]), zeros, zeros[:, 0], zeros[:, 0]
            )
            lower, *_ = _lowest(hidden, box, layer, size, both)
            reach = Interval(
                jnp.maximum(reach.low, lower[:units]),
                jnp.minimum(reach.high, -lower[units:]),
            )
        relaxation = lines(shape, *reach)
        middle = 0.5 * (reach.low + reach.high)
        gap = (
            (relaxation.above - relaxation.below) * middle
            + relaxation.ceiling
            - relaxation.floor
        )
        values = Interval(relaxation.least, relaxation.most)
        hidden.append(_Hidden(layer, relaxation, gap, size, values, reach))
    return hidden


def _lowest(
    hidden: Sequence[_Hidden],
    box: Box,
    last: Layer,
    size: Float[Array, " units"],
    functionals: Functionals,
) -> tuple[Float[Array, " rows"], Float[Array, "rows inputs"], Array | None]:
    """A lower bound on functionals of the last layer's outputs.

    Also the slopes of the affine bound, and the coefficients of the first hidden layer.
    """
    rows, total = functionals.outputs, functionals.constant
    magnitude = functionals.size + jnp.abs(total)
    layer, blame, depth = last, None, 0
    for layer_bounds in (*reversed(hidden), None):
        # `rows` are coefficients of the outputs of `layer`.
        total = total + rows @ layer.bias
        magnitude = magnitude + (jnp.abs(rows) + TINY) @ size
        depth += 8 + sum(layer.weight.shape)
        rows = rows @ layer.weight.T
        if layer_bounds is None:
            break
        blame = rows
        positive, negative = jnp.maximum(rows, 0.0), jnp.minimum(rows, 0.0)
        bound = layer_bounds.bounded
        total = total + positive @ bound.floor + negative @ bound.ceiling
        shift = jnp.maximum(jnp.abs(bound.floor), jnp.abs(bound.ceiling))
        magnitude = magnitude + (jnp.abs(rows) + TINY) @ shift
        rows = positive * bound.below[None] + negative * bound.above[None]
        layer, size = layer_bounds.layer, layer_bounds.size
    tilt = rows + functionals.inputs
    least = jnp.maximum(tilt, 0.0) @ box.low + jnp.minimum(tilt, 0.0) @ box.high
    magnitude = magnitude + (
        jnp.abs(rows) + jnp.abs(functionals.inputs) + TINY
    ) @ _reach(box)
    depth += 8 + box.low.shape[0]
    margin = _SAFETY * depth * _UNIT * magnitude + TINY
    return least + total - margin, tilt, blame


def _affine(layer: Layer, values: Interval) -> Interval:
    """The image of intervals under an affine map."""
    positive, negative = jnp.maximum(layer.weight, 0.0), jnp.minimum(layer.weight, 0.0)
    low = values.low @ positive + values.high @ negative + layer.bias
    high = values.high @ positive + values.low @ negative + layer.bias
    depth = 8 + 2 * layer.weight.shape[0]
    margin = _SAFETY * depth * _UNIT * _size(layer, values) + TINY
    return Interval(low - margin, high + margin)


def _size(layer: Layer, values: Interval) -> Float[Array, " units"]:
    return _reach(values) @ jnp.abs(layer.weight) + jnp.abs(layer.bias) + TINY


def _reach(values: Interval) -> Array:
    return jnp.maximum(jnp.abs(values.low), jnp.abs(values.high))


def _influence(
    hidden: Sequence[_Hidden], box: Box, tilt: Array, blame: Array | None
) -> Float[Array, " inputs"]:
    """Looseness in the first layer by input, plus a little of each input's own effect.

    It only decides which input to split next, never whether a bound is true.
    """
    width = box.high - box.low
    effect = jnp.sum(jnp.abs(tilt), axis=0) * width
    if blame is None:
        return effect
    first = hidden[0]
    parts = jnp.abs(first.layer.weight) * width[:, None]
    total = jnp.sum(parts, axis=0)
    shares = parts / jnp.where(total > 0, total, 1.0)[None]
    looseness = jnp.sum(jnp.abs(blame), axis=0) * first.gap
    return shares @ looseness + 0.05 * effect
