"""Choosing where a rule's points come from."""

from collections.abc import Callable

import jax
import numpy as np

from ocbnn.core.choices import are_choices
from ocbnn.core.points import (
    BoxPoints,
    GivenPoints,
    OwnPoints,
    PointSampler,
    PoolPoints,
    like_data_pool,
    rejection_pool,
)
from ocbnn.core.randomness import numpy_generator
from ocbnn.core.types import RandomKey
from ocbnn.core.units import Units
from ocbnn.errors import RegionError
from ocbnn.language.evaluate import truth
from ocbnn.language.standard import standard_condition
from ocbnn.rules import BoundRule


def make_sampler(
    bound: BoundRule,
    key: RandomKey,
    rows: np.ndarray | None = None,
    units: Units | None = None,
) -> PointSampler:
    """The sampler that a rule names, or the default for its region.

    Parameters
    ----------
    bound
        The rule.
    key
        Determines how the points are scrambled.
    rows
        Data rows in the user's units, for `sampler="like-data"`.
    units
        Units of the points; the user's own when left out. Points are converted in
        double precision, so that offsets cost no digits.

    Raises
    ------
    RegionError
        When the region is unbounded and no sampler was named, or when
        no point could be found in it.
    """
    choice = bound.rule.sampler
    if callable(choice):
        return OwnPoints(choice, units)  # pyright: ignore[reportArgumentType]
    units_or_plain = units or Units.plain(len(bound.schema.inputs), 0)
    if choice is not None and not isinstance(choice, str):
        points = _checked_points(bound, np.asarray(choice, float))
        return GivenPoints(units_or_plain.standard_inputs(points))
    if choice == "like-data":
        return PoolPoints(units_or_plain.standard_inputs(_like_data(bound, key, rows)))
    return _in_box(bound, key, units_or_plain)


def point_count(bound: BoundRule) -> int:
    """At how many points a rule is evaluated: all given ones, or as many as it says."""
    choice = bound.rule.sampler
    is_given = (
        choice is not None and not isinstance(choice, str) and not callable(choice)
    )
    return len(np.asarray(choice)) if is_given else bound.rule.points


def _in_box(bound: BoundRule, key: RandomKey, units: Units) -> PointSampler:
    lower, upper = bound.region.box()
    unbounded = ~(np.isfinite(lower) & np.isfinite(upper))
    if unbounded.any():
        names = [bound.schema.inputs[i] for i in np.flatnonzero(unbounded)]
        raise RegionError(
            f"the region of rule {bound.name!r} has no bounds for "
            f"{', '.join(map(repr, names))}, so no points can be drawn evenly in it. "
            f"Bound it (for example `0 <= {names[0]} <= 1` in the condition), or write "
            'sampler="like-data" (in text `[sampler=like-data]`) to move data rows '
            "into the region, or pass your own sampler=function or sampler=points."
        )
    seed = int(numpy_generator(key).integers(2**31))
    if bound.region.is_box:
        low, high = units.standard_inputs(lower), units.standard_inputs(upper)
        choices = bound.schema.choices
        return BoxPoints(low, high, bound.rule.points, seed, choices)
    assert bound.region.condition is not None
    inside = standard_condition(bound.region.condition, units)
    contains = lambda points: truth(inside, points, None, np)
    settings = {"units": units, "choices": bound.schema.choices}
    return PoolPoints(
        rejection_pool(bound.name, contains, lower, upper, seed, **settings)
    )


def _like_data(bound: BoundRule, key: RandomKey, rows: np.ndarray | None) -> np.ndarray:
    if rows is None or len(rows) == 0:
        raise RegionError(
            f'rule {bound.name!r} asks for sampler="like-data", but there are no data. '
            "Fit with data, or bound the region and leave the sampler out."
        )
    lower, upper = bound.region.box()
    return like_data_pool(
        bound.name,
        bound.region.contains,
        tuple(bound.region.columns),
        lower,
        upper,
        np.asarray(rows, float),
        numpy_generator(key),
        choices=bound.schema.choices,
    )


def _checked_points(bound: BoundRule, points: np.ndarray) -> np.ndarray:
    width = len(bound.schema.inputs)
    if points.ndim != 2 or points.shape[1] != width or len(points) == 0:
        raise RegionError(
            f"the points given to rule {bound.name!r} must be an array of shape "
            f"(points, {width}), one column per input, got {points.shape}."
        )
    _refuse_outside(bound, points, bound.region.contains(points))
    return points


def check_own_sampler(
    bound: BoundRule, function: Callable[..., object], key: RandomKey
) -> None:
    """Refuse a user's sampler whose points have a wrong shape or lie outside."""
    count, width = bound.rule.points, len(bound.schema.inputs)
    shape = getattr(jax.eval_shape(lambda k: function(k, count), key), "shape", None)
    if shape != (count, width):
        raise RegionError(
            f"the sampler of rule {bound.name!r} must return an array of shape "
            f"({count}, {width}) when called with (key, {count}), got {shape}."
        )
    points = np.asarray(function(key, count), float)
    # Points on the boundary are rounded to single precision, and may lie just outside.
    nudge = 1e-6 * (points.mean(axis=0) - points)
    variants = [points, points + nudge, points - nudge]
    _refuse_outside(
        bound, points, np.any([*map(bound.region.contains, variants)], axis=0)
    )


def _refuse_outside(bound: BoundRule, points: np.ndarray, inside: np.ndarray) -> None:
    mixed = np.flatnonzero(~are_choices(points, bound.schema.choices))
    if len(mixed):
        raise RegionError(
            f"{len(mixed)} of the {len(points)} points given to rule {bound.name!r} do "
            "not choose exactly one level of each category: one of its columns must be "
            f"1 and the others 0. The first is {points[mixed[0]].tolist()}."
        )
    if inside.all():
        return
    first = points[np.flatnonzero(~inside)[0]].tolist()
    raise RegionError(
        f"{int((~inside).sum())} of the {len(points)} points given to rule "
        f"{bound.name!r} lie outside its region, the first at {first}. Leave them out, "
        "or widen the region."
    )
