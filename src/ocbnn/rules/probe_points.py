"""Inputs at which rules are compared: where few or many of them apply."""

import functools
import itertools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from ocbnn.core.choices import (
    Choices,
    free_columns,
    pick,
    say_levels,
    settle_boxes,
    typical,
)
from ocbnn.core.points import sobol
from ocbnn.core.rows import evenly
from ocbnn.rules.bound import BoundRule

# Limits on what is tried: overlaps of regions, inputs in each, and cells.
MOST_OVERLAPS, TRIED_INSIDE, MOST_CELLS = 100, 8, 2000
# The number of inputs along which corners of an overlap are tried.
_MOST_CORNERED = 3

Points = Float[np.ndarray, "_ inputs"]
Box = tuple[Float[np.ndarray, " inputs"], Float[np.ndarray, " inputs"]]


def one_of_each_kind(rules: Sequence[BoundRule], X: Points) -> Points | None:
    """One input for every set of rules that can apply together, and some more.

    Thresholds on single inputs cut the space into cells. The same rules apply
    throughout a cell, and throughout each of its faces, so one input of each suffices.
    None where a region has another shape, or where there are too many cells. Inputs
    without thresholds take typical values of `X`.

    >>> from ocbnn.rules import Schema, bind, parse_rule
    >>> rule = bind(parse_rule("if 0 <= x <= 1 then y > 0"), Schema(("x",), ("y",)))
    >>> one_of_each_kind([rule], np.zeros((0, 1))).ravel().tolist()
    [-1.0, 0.0, 0.5, 1.0, 2.0]
    """
    choices = rules[0].schema.choices
    chosen = {column: group for group in choices for column in group}
    values: dict[int, set[float]] = {}
    for rule in rules:
        edges = rule.region.edges()
        if edges is None:
            return None
        for column, edge in edges:
            values.setdefault(column, set()).add(edge)
    # A number is tried at and between its thresholds, and a choice at all its levels.
    tried: dict[tuple[int, ...], list[tuple[float, ...]]] = {
        (column,): [(value,) for value in _around(sorted(edges))]
        for column, edges in values.items()
        if column not in chosen
    }
    for group in dict.fromkeys(chosen[c] for c in values if c in chosen):
        tried[group] = [tuple(level) for level in np.eye(len(group)).tolist()]
    if np.prod([float(len(levels)) for levels in tried.values()]) > MOST_CELLS:
        return None
    base = np.zeros((1, len(rules[0].schema.inputs)))
    base = typical(X if len(X) else base, choices)
    cells = [sum(cell, ()) for cell in itertools.product(*tried.values())]
    points = np.tile(base, (len(cells), 1))
    points[:, [column for group in tried for column in group]] = cells
    return points


def where_regions_overlap(rules: Sequence[BoundRule], X: Points) -> Points:
    """Inputs inside the overlaps of regions, the narrowest overlaps first.

    Points drawn for one rule alone miss its overlap with another if that is a small
    part of both regions. Where nothing bounds an overlap, it is cut to the range of
    `X`.
    """
    inputs = len(rules[0].schema.inputs)
    choices = rules[0].schema.choices
    finite = (_within(box, X) for box in _overlaps(_parts(rules), choices))
    boxes = [box for box in finite if box is not None]
    widths = np.array([high - low for low, high in boxes]).reshape(-1, inputs)
    widest = widths.max(axis=0, initial=0.0)
    relative = np.divide(widths, widest, out=np.ones_like(widths), where=widest > 0)
    order = np.argsort(np.prod(relative, axis=1), kind="stable")[:MOST_OVERLAPS]
    points = [_inside(boxes[index], choices) for index in order]
    return np.concatenate([np.zeros((0, inputs)), *points])


def across(rules: Sequence[BoundRule], X: Points, column: int, count: int) -> Points:
    """Base points of lines along a column that cross several regions.

    The column itself is zero in all of them.
    """
    parts = []
    for i, (low, high) in _parts(rules):
        low[column] = high[column] = 0.0
        parts.append((i, (low, high)))
    choices = rules[0].schema.choices
    either = (*_overlaps(parts, choices), *(b for _, b in parts))
    boxes = filter(None, (_within(box, X) for box in either))
    middles = [
        pick((0.5 * low + 0.5 * high)[None], choices, high)[0] for low, high in boxes
    ]
    cells = one_of_each_kind(rules, X)
    rows = X[evenly(len(X), 20)]
    cells = np.zeros((0, X.shape[1])) if cells is None else cells
    points = np.concatenate([*(middle[None] for middle in middles), cells, rows])
    points[:, column] = 0.0
    return each_once(points)[:count]


def each_once(points: Points) -> Points:
    """The inputs without duplicates, in the same order."""
    _, first_indices = np.unique(points, axis=0, return_index=True)
    return points[np.sort(first_indices)]


def well_inside(rule: BoundRule, X: Points) -> Bool[np.ndarray, " _"]:
    """Whether a rule applies at each row; a rule about slopes not exactly at its edge.

    A function may have a kink where one such rule ends and the next begins.
    """
    inside = rule.applies(X)
    for column in {column for along in rule.slopes for column in along}:
        off_edge = np.zeros(len(X), bool)
        for low, high in rule.region.boxes():
            values, start, end = X[:, column], low[column], high[column]
            off_edge |= ((start < values) & (values < end)) | (
                (start == values) & (values == end)
            )
        inside &= off_edge
    return inside


def in_region(rule: BoundRule, X: Points, count: int) -> Points:
    """Inputs of a region: some rows of `X` that lie there, and evenly drawn points."""
    rows = X[rule.applies(X)] if len(X) else X
    rows = rows[evenly(len(rows), count)]
    boxes = [_within(box, X) for box in rule.region.boxes()]
    choices, per_box = rule.schema.choices, count // len(boxes)
    samples = [_inside(box, choices, per_box) for box in boxes if box is not None]
    points = np.concatenate([rows, *samples])
    return points[rule.applies(points)]


def shared_box(rules: Sequence[BoundRule], x: Float[np.ndarray, " inputs"]) -> Box:
    """Bounds around `x` of the overlap of the rules' regions."""
    around = []
    for rule in rules:
        boxes = [b for b in rule.region.boxes() if np.all((b[0] <= x) & (x <= b[1]))]
        around.append(boxes[0] if boxes else rule.region.box())
    lower, upper = zip(*around, strict=True)
    return np.max(lower, axis=0), np.min(upper, axis=0)


def say_box(box: Box, names: Sequence[str], choices: Choices = ()) -> str:
    """The bounds of a box in words; empty where nothing is bounded.

    >>> say_box((np.array([0, -np.inf, 2]), np.array([1, np.inf, np.inf])), "abc")
    'a between 0 and 1, c at least 2'
    """
    phrases, free = [], free_columns(len(names), choices)
    for column, (name, low, high) in enumerate(zip(names, *box, strict=True)):
        if column not in free:
            continue
        if low == high:
            phrases.append(f"{name} = {low:g}")
        elif np.isfinite(low) and np.isfinite(high):
            phrases.append(f"{name} between {low:g} and {high:g}")
        elif np.isfinite(low):
            phrases.append(f"{name} at least {low:g}")
        elif np.isfinite(high):
            phrases.append(f"{name} at most {high:g}")
    phrases += [say_levels(names, group, box[1].tolist()) for group in choices]
    return ", ".join(filter(None, phrases))


def _around(edges: Sequence[float]) -> list[float]:
    """Every edge, and a number between every two and beyond the outermost."""
    between = [a / 2 + b / 2 for a, b in itertools.pairwise(edges)]
    low, high = edges[0], edges[-1]
    ends = low - max(1.0, abs(low)), high + max(1.0, abs(high))
    return sorted({*edges, *between, *ends})


def _parts(rules: Sequence[BoundRule]) -> list[tuple[int, Box]]:
    """Boxes around regions, with the numbers of their rules."""
    return [(i, box) for i, rule in enumerate(rules) for box in rule.region.boxes()]


def _overlaps(parts: Sequence[tuple[int, Box]], choices: Choices) -> list[Box]:
    """Overlaps of every two regions, and of as many more as still share some inputs."""
    overlaps: dict[bytes, Box] = {}
    meet = functools.partial(_meet, choices=choices)
    for (i, first), (j, second) in itertools.combinations(parts, 2):
        pair = meet(first, second)
        if i == j or pair is None:
            continue
        largest = pair
        for _, third in parts:
            largest = meet(largest, third) or largest
        for box in (pair, largest):
            overlaps[np.concatenate(box).tobytes()] = box
        if len(overlaps) > 20 * MOST_OVERLAPS:
            break
    return list(overlaps.values())


def _meet(a: Box, b: Box, choices: Choices) -> Box | None:
    lower, upper = np.maximum(a[0], b[0]), np.minimum(a[1], b[1])
    low, high, possible = settle_boxes(lower[None], upper[None], choices)
    return (low[0], high[0]) if possible[0] and np.all(lower <= upper) else None


def _within(box: Box, X: Points) -> Box | None:
    """The box, cut to the range of `X` where nothing bounds it; None without rows."""
    lower, upper = box
    if np.isfinite(box).all():
        return box
    if not len(X):
        return None
    low, high = X.min(axis=0), X.max(axis=0)
    spread = np.where(high > low, X.std(axis=0), 1.0)
    below, above = np.isfinite(lower), np.isfinite(upper)
    start = np.where(
        below, lower, np.where(above, np.minimum(low, upper - spread), low)
    )
    end = np.where(
        above, upper, np.where(below, np.maximum(high, lower + spread), high)
    )
    return start, end


def _inside(box: Box, choices: Choices, count: int = TRIED_INSIDE) -> Points:
    """The middle, corners, and an even net of `count` points."""
    lower, upper = box
    wide = np.flatnonzero(upper > lower)[:_MOST_CORNERED]
    corners = np.full((2 ** len(wide), len(lower)), 0.5)
    corners[:, wide] = list(itertools.product((0.0, 1.0), repeat=len(wide)))
    middle = np.full((1, len(lower)), 0.5)
    unit = np.concatenate([middle, corners, _net(count, len(lower))])
    points = lower + unit * (upper - lower)
    return pick(np.clip(points, lower, upper), choices, upper)


@functools.lru_cache(maxsize=16)
def _net(count: int, dimension: int) -> np.ndarray:
    return sobol(count, dimension, seed=0)
