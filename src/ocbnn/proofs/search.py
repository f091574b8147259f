"""Divide boxes until each is decided, or the budget is spent."""

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ocbnn.proofs.prover import Prover

HOLDS, BROKEN, UNDECIDED = 1, -1, 0
# A box this many times narrower than what it came from is not divided again.
_NARROW = 2.0**-40
_LEAF = -1
# How often boxes are halved to see whether a region meets them, and how many at most.
_HALVINGS, _MOST_PARTS = 12, 20_000


class Roots(NamedTuple):
    """What shall be decided: boxes, each for one draw, in a person's units."""

    draws: Int[np.ndarray, " roots"]
    low: Float[np.ndarray, "roots inputs"]
    high: Float[np.ndarray, "roots inputs"]


@dataclasses.dataclass(frozen=True)
class Found:
    """What a search found out about its roots.

    Attributes:
        status: 1 where the rule holds on the whole box, -1 where it is broken, else 0.
        broken_at: An input that breaks it, nan where there is none.
        splits: For each root where it holds, how the box was divided: the inputs along
            which boxes are halved, parents before their lower and then their upper
            half, -1 for a box that is not.
        boxes: How many boxes were looked at in all.
    """

    status: Int[np.ndarray, " roots"]
    broken_at: Float[np.ndarray, "roots inputs"]
    splits: list[list[int]]
    boxes: int


class _Frontier(NamedTuple):
    """Boxes that are not decided yet."""

    node: Int[np.ndarray, " boxes"]
    root: Int[np.ndarray, " boxes"]
    low: Float[np.ndarray, "boxes inputs"]
    high: Float[np.ndarray, "boxes inputs"]

    def only(self, keep: Bool[np.ndarray, " boxes"]) -> "_Frontier":
        return _Frontier(*(part[keep] for part in self))


def search(prover: Prover, roots: Roots, most: int) -> Found:
    """Decide each root, with at most `most` boxes for each."""
    count = len(roots.draws)
    status = np.full(count, HOLDS)
    broken_at = np.full(roots.low.shape, np.nan)
    used = np.ones(count, int)
    trees = _Trees(count)
    open_boxes = _Frontier(np.arange(count), np.arange(count), roots.low, roots.high)
    looked = 0
    while len(open_boxes.node):
        looked += len(open_boxes.node)
        draws = roots.draws[open_boxes.root]
        judged = prover.judge(draws, open_boxes.low, open_boxes.high)
        _refute(prover, draws, open_boxes, judged.worst, judged.suspicious, broken_at)
        if looked == count:
            _attack(prover, roots, judged.holds, broken_at)
        status[~np.isnan(broken_at).any(axis=1)] = BROKEN
        left = ~judged.holds & (status[open_boxes.root] != BROKEN)
        rest, influence = open_boxes.only(left), judged.influence[left]
        width = rest.high - rest.low
        start = roots.high[rest.root] - roots.low[rest.root]
        can = width > _NARROW * start
        axis = np.argmax(np.where(can, influence + 1e-300, -1.0), axis=1)
        np.add.at(used, rest.root, 2)
        spent = (used[rest.root] > most) | ~can.any(axis=1)
        status[rest.root[spent]] = UNDECIDED
        go_on = status[rest.root] == HOLDS
        open_boxes = trees.divide(rest.only(go_on), axis[go_on])
    splits = [
        trees.told(root) if status[root] == HOLDS else [] for root in range(count)
    ]
    return Found(status, broken_at, splits, looked)


def _refute(
    prover: Prover,
    draws: Int[np.ndarray, " boxes"],
    boxes: _Frontier,
    worst: Float[np.ndarray, "boxes 2 inputs"],
    suspicious: Bool[np.ndarray, "boxes 2"],
    broken_at: Float[np.ndarray, "roots inputs"],
) -> None:
    """Look rigorously at places where the rule seems broken, and note them."""
    for guess in range(worst.shape[1]):
        rows = np.flatnonzero(suspicious[:, guess])
        rows = rows[np.isnan(broken_at[boxes.root[rows]]).any(axis=1)]
        # A few places for each root are enough; more come with the next boxes.
        _, first = np.unique(boxes.root[rows], return_index=True)
        rows = rows[first]
        if len(rows):
            points = worst[rows, guess]
            proved = prover.is_broken(draws[rows], points)
            broken_at[boxes.root[rows[proved]]] = points[proved]


def _attack(
    prover: Prover,
    roots: Roots,
    holds: Bool[np.ndarray, " roots"],
    broken_at: Float[np.ndarray, "roots inputs"],
) -> None:
    """Go downhill in every root that is not decided at first sight."""
    rows = np.flatnonzero(~holds & np.isnan(broken_at).any(axis=1))
    if not len(rows):
        return
    points, broken = prover.attack(roots.draws[rows], roots.low[rows], roots.high[rows])
    rows, points = rows[broken], points[broken]
    if len(rows):
        proved = prover.is_broken(roots.draws[rows], points)
        broken_at[rows[proved]] = points[proved]


class _Trees:
    """How every root was divided."""

    def __init__(self, roots: int) -> None:
        self._axis = np.full(roots, _LEAF)
        self._lower = np.full(roots, _LEAF)

    def divide(self, boxes: _Frontier, axis: Int[np.ndarray, " boxes"]) -> _Frontier:
        """Halve each box along an input."""
        first = len(self._axis)
        count = len(boxes.node)
        self._axis[boxes.node] = axis
        self._lower[boxes.node] = first + 2 * np.arange(count)
        self._axis = np.concatenate([self._axis, np.full(2 * count, _LEAF)])
        self._lower = np.concatenate([self._lower, np.full(2 * count, _LEAF)])
        low, high = halves(boxes.low, boxes.high, axis)
        return _Frontier(
            first + np.arange(2 * count), np.repeat(boxes.root, 2), low, high
        )

    def told(self, root: int) -> list[int]:
        """The divisions of one root, parents first."""
        found, stack = [], [root]
        while stack:
            node = stack.pop()
            found.append(int(self._axis[node]))
            if self._axis[node] != _LEAF:
                stack += [self._lower[node] + 1, self._lower[node]]
        return found


def halves(
    low: Float[np.ndarray, "boxes inputs"],
    high: Float[np.ndarray, "boxes inputs"],
    axis: Int[np.ndarray, " boxes"],
) -> tuple[Float[np.ndarray, "halves inputs"], Float[np.ndarray, "halves inputs"]]:
    """The lower and the upper half of each box, in turn. Together they are the box."""
    rows = np.arange(len(low))
    middle = 0.5 * (low[rows, axis] + high[rows, axis])
    low, high = np.repeat(low, 2, axis=0), np.repeat(high, 2, axis=0)
    high[2 * rows, axis] = middle
    low[2 * rows + 1, axis] = middle
    return low, high


def leaves(
    splits: list[int], low: Float[np.ndarray, " inputs"], high: np.ndarray
) -> tuple[Float[np.ndarray, "leaves inputs"], Float[np.ndarray, "leaves inputs"]]:
    """The boxes that a root was divided into, from how it was.

    Raises:
        ValueError: When the list ends too early or too late, or names no input.
    """
    found: list[tuple[np.ndarray, np.ndarray]] = []
    stack = [(np.asarray(low, float), np.asarray(high, float))]
    for axis in splits:
        if not stack or not _LEAF <= axis < len(low):
            raise ValueError("the divisions of a box make no sense")
        box = stack.pop()
        if axis == _LEAF:
            found.append(box)
            continue
        lows, highs = halves(box[0][None], box[1][None], np.array([axis]))
        stack += [(lows[1], highs[1]), (lows[0], highs[0])]
    if stack:
        raise ValueError("the divisions of a box end too early")
    lows, highs = zip(*found, strict=True)
    return np.stack(lows), np.stack(highs)


def misses(
    prover: Prover,
    low: Float[np.ndarray, "places inputs"],
    high: Float[np.ndarray, "places inputs"],
) -> Bool[np.ndarray, " places"]:
    """Which boxes have no input that the rule speaks of: proved, not guessed.

    A region that is no box may leave out all of a box that its bounds meet.
    """
    owner, met = np.arange(len(low)), np.zeros(len(low), bool)
    region = prover.bound.region
    if region.is_box:
        return met
    width = np.where(high > low, high - low, 1.0)
    for _ in range(_HALVINGS):
        met[owner[region.contains(0.5 * (low + high))]] = True
        is_open = ~met[owner]
        owner, low, high = owner[is_open], low[is_open], high[is_open]
        if not len(owner) or len(owner) > max(_MOST_PARTS, 4 * len(met)):
            break
        is_open = ~prover.judge(np.zeros(len(owner), int), low, high).outside
        owner, low, high = owner[is_open], low[is_open], high[is_open]
        share = (high - low) / width[owner]
        axis = np.asarray(region.columns)[share[:, region.columns].argmax(axis=1)]
        rows, middle = np.arange(len(owner)), 0.5 * (low + high)
        left, right = high.copy(), low.copy()
        left[rows, axis] = right[rows, axis] = middle[rows, axis]
        low, high = np.concatenate([low, right]), np.concatenate([left, high])
        owner = np.concatenate([owner, owner])
    # What is left over could be anything.
    met[owner] = True
    return ~met
