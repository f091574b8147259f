"""Columns that are one choice: exactly one of a group is 1, and the others are 0.

A network takes numbers, so a category becomes one column for each of its values. A
point in between, half of one clinic and half of another, is not an input.
"""

from collections.abc import Sequence
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ocbnn.core.words import spell

# Positions of the columns of each group.
Choices: TypeAlias = tuple[tuple[int, ...], ...]

Points = Float[np.ndarray, "points inputs"]


def free_columns(count: int, choices: Choices) -> tuple[int, ...]:
    """Columns that are ordinary numbers, not part of a choice.

    >>> free_columns(4, ((1, 2),))
    (0, 3)
    """
    bound = {column for group in choices for column in group}
    return tuple(column for column in range(count) if column not in bound)


def are_choices(X: Points, choices: Choices) -> Bool[np.ndarray, " points"]:
    """Which rows choose exactly one column of each group."""
    valid = np.ones(len(X), bool)
    for group in choices:
        part = X[:, list(group)]
        valid &= np.isin(part, (0.0, 1.0)).all(axis=1) & (part.sum(axis=1) == 1)
    return valid


def remaining_levels(
    can_be_zero: Bool[np.ndarray, "boxes group"],
    can_be_one: Bool[np.ndarray, "boxes group"],
) -> Bool[np.ndarray, "boxes group"]:
    """Which columns of a group can be the 1, given the values each column can have."""
    others_at_zero = can_be_zero.sum(axis=1, keepdims=True) - can_be_zero
    return can_be_one & (others_at_zero == can_be_zero.shape[1] - 1)


def settle_boxes(
    low: Points, high: Points, choices: Choices
) -> tuple[Points, Points, Bool[np.ndarray, " points"]]:
    """Narrow boxes to the choices they contain; also say which contain any.

    A column that can be chosen ranges from 0 to 1, the only possible choice is 1, and
    all other columns are 0. No choice that lay in a box is lost.

    >>> low, high, _ = settle_boxes(
    ...     np.array([[-9.0, 0.0, 0.0]]), np.array([[9.0, 0.4, 1.0]]), ((0, 1, 2),)
    ... )
    >>> low.tolist(), high.tolist()
    ([[0.0, 0.0, 0.0]], [[1.0, 0.0, 1.0]])
    """
    low, high, possible = low.copy(), high.copy(), np.ones(len(low), bool)
    for group in map(list, choices):
        lower, upper = low[:, group], high[:, group]
        remaining = remaining_levels(
            (lower <= 0) & (upper >= 0), (lower <= 1) & (upper >= 1)
        )
        count = remaining.sum(axis=1, keepdims=True)
        possible &= count[:, 0] > 0
        low[:, group], high[:, group] = remaining & (count == 1), remaining
    return low, high, possible


def pick(points: Points, choices: Choices, high: np.ndarray | None = None) -> Points:
    """Points with one choice per group: the largest column among those `high` allows.

    >>> pick(np.array([[0.2, 0.7, 5.0]]), ((0, 1),)).tolist()
    [[0.0, 1.0, 5.0]]
    """
    points = points.copy()
    for group in map(list, choices):
        part = points[:, group]
        if high is not None:
            part = np.where(np.broadcast_to(high, points.shape)[:, group] > 0, part, -1)
        points[:, group] = np.eye(len(group))[part.argmax(axis=1)]
    return points


def pick_traced(
    unit: Float[Array, "points inputs"], choices: Choices
) -> Float[Array, "points inputs"]:
    """The same for points of the unit cube, in compiled code."""
    for group in map(list, choices):
        level = jnp.argmax(unit[:, np.array(group)], axis=1)
        chosen = jax.nn.one_hot(level, len(group), dtype=unit.dtype)
        unit = unit.at[:, np.array(group)].set(chosen)
    return unit


def switched(
    x: Float[Array, " inputs"],
    slope: Float[Array, " inputs"],
    choices: Choices,
    high: Float[Array, " inputs"],
) -> Float[Array, " inputs"]:
    """Set each choice to the column of the lowest slope, among those `high` allows."""
    for group in map(np.array, choices):
        cost = jnp.where(high[group] > 0, slope[group], jnp.inf)
        chosen = jax.nn.one_hot(jnp.argmin(cost), len(group), dtype=x.dtype)
        x = x.at[group].set(chosen)
    return x


def open_choices(lower: np.ndarray, upper: np.ndarray, choices: Choices) -> Choices:
    """For each group, the columns that a settled box still leaves open."""
    wide = upper > lower
    groups = (tuple(i for i in group if wide[i]) for group in choices)
    return tuple(group for group in groups if len(group) > 1)


def typical(X: Points, choices: Choices) -> Float[np.ndarray, " inputs"]:
    """The median of every input; for a choice, its most frequent level."""
    middle = np.median(X, axis=0)
    for group in map(list, choices):
        middle[group] = X[:, group].mean(axis=0)
    return pick(middle[None], choices)[0]


def choose_along(X: Points, swept: Sequence[int], choices: Choices) -> Points:
    """Make rows valid choices again after some columns were swept, for a plot.

    A swept column of a category is chosen from 0.5 on; below, the row keeps the choice
    it had before.

    >>> rows = np.array([[0.2, 0.0, 1.0], [0.7, 0.0, 1.0]])
    >>> choose_along(rows, [0], ((0, 1, 2),)).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    X = X.copy()
    for group in choices:
        if not {*group} & {*swept}:
            continue
        # Columns without a value are never chosen.
        X[:, list(group)] = np.nan_to_num(X[:, list(group)])
        for column in {*group} & {*swept}:
            X[:, column] = np.where(X[:, column] >= 0.5, 2.0, -1.0)
    return pick(X, tuple(group for group in choices if {*group} & {*swept}))


def say_choice(names: Sequence[str], group: Sequence[int]) -> tuple[str, list[str]]:
    """The name of a group and of each of its levels.

    >>> say_choice(["clinic=east", "clinic=north"], (0, 1))
    ('clinic', ['east', 'north'])
    >>> say_choice(["clinic=east"], (0,))
    ('clinic', ['east'])
    >>> say_choice(["red", "blue"], (0, 1))
    ('choice', ['red', 'blue'])
    """
    parts = [names[column].partition("=") for column in group]
    if len({name for name, _, _ in parts}) == 1 and all(sign for _, sign, _ in parts):
        return parts[0][0], [level for _, _, level in parts]
    return "choice", [names[column] for column in group]


def columns_of_inputs(
    names: Sequence[str], choices: Choices
) -> dict[str, tuple[int, ...]]:
    """The columns of each input; a category is one input.

    >>> columns_of_inputs(["age", "sex=f", "sex=m"], ((1, 2),))
    {'age': (0,), 'sex': (1, 2)}
    """
    starts = {group[0]: tuple(group) for group in choices}
    later = {column for group in choices for column in group[1:]}
    return {
        say_choice(names, starts[i])[0] if i in starts else name: starts.get(i, (i,))
        for i, name in enumerate(names)
        if i not in later
    }


def say_inputs(names: Sequence[str], choices: Choices) -> list[str]:
    """The names of a model's inputs; a category with its values.

    >>> say_inputs(["age", "sex=f", "sex=m"], ((1, 2),))
    ['age', 'sex (f, m)']
    """
    groups = {group[0]: say_choice(names, group) for group in choices}
    later = {column for group in choices for column in group[1:]}
    return [
        f"{groups[i][0]} ({', '.join(groups[i][1])})" if i in groups else name
        for i, name in enumerate(names)
        if i not in later
    ]


def say_levels(
    names: Sequence[str], group: Sequence[int], high: Sequence[float]
) -> str:
    """Which of a group's levels a settled box allows; empty if all are allowed.

    >>> say_levels(["a=x", "a=y", "a=z"], (0, 1, 2), [1.0, 0.0, 0.0])
    'a = x'
    """
    name, levels = say_choice(names, group)
    remaining = [
        level for level, column in zip(levels, group, strict=True) if high[column] > 0
    ]
    if len(remaining) == len(levels):
        return ""
    if len(remaining) == 1:
        return f"{name} = {remaining[0]}"
    return f"{name} one of {', '.join(remaining)}"


def say_point(
    names: Sequence[str],
    x: Sequence[float],
    choices: Choices = (),
    widths: Sequence[float] | None = None,
    digits: int = 6,
) -> list[str]:
    """The columns of a point and their values; a choice by its name and its level.

    >>> say_point(["age", "sex=f", "sex=m"], [41.0, 0.0, 1.0], ((1, 2),))
    ['age = 41', 'sex = m']
    """
    is_picked = bool(choices) and are_choices(np.asarray([x], float), choices)[0]
    groups = {group[0]: group for group in choices} if is_picked else {}
    later = {column for group in groups.values() for column in group[1:]}
    phrases = []
    for column, (name, value) in enumerate(zip(names, x, strict=True)):
        if column in groups:
            group = groups[column]
            title, levels = say_choice(names, group)
            phrases.append(f"{title} = {levels[[x[i] for i in group].index(1.0)]}")
        elif column not in later:
            width = 0.0 if widths is None else widths[column]
            phrases.append(f"{name} = {spell(value, width, digits)}")
    return phrases
