"""Divide boxes until each is decided, or the budget is spent."""

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ocbnn.core.choices import Choices, pick, settle_boxes
from ocbnn.proofs.prover import BoxVerdicts, Prover

HOLDS, BROKEN, UNDECIDED = 1, -1, 0
# A box narrower than this share of its root is not divided again.
_NARROW = 2.0**-40
_LEAF = -1
# How many chunks of boxes are examined between reports of progress.
_CHUNKS = 8
# Limits on halvings, and on boxes, when testing whether a region meets a box.
_HALVINGS, _MAX_PARTS = 12, 20_000


class Roots(NamedTuple):
    """Boxes to decide, each for one draw, in the user's units."""

    draws: Int[np.ndarray, " roots"]
    low: Float[np.ndarray, "roots inputs"]
    high: Float[np.ndarray, "roots inputs"]


@dataclasses.dataclass(frozen=True)
class SearchResult:
    """The results of a search for its roots.

    Attributes
    ----------
    status
        1 if the rule holds on the whole box, -1 if it is violated, otherwise 0.
    broken_at
        An input that violates it; NaN if there is none.
    splits
        For each root where it holds, how the box was divided: the inputs along
        which boxes are halved, parents before their lower and then their upper
        half, and -1 for a box that is not halved.
    boxes
        How many boxes were examined in all.
    is_over
        Whether the search is complete.
    """

    status: Int[np.ndarray, " roots"]
    broken_at: Float[np.ndarray, "roots inputs"]
    splits: list[list[int]]
    boxes: int
    is_over: bool


class _Frontier(NamedTuple):
    """Boxes that are not decided yet."""

    node: Int[np.ndarray, " boxes"]
    root: Int[np.ndarray, " boxes"]
    low: Float[np.ndarray, "boxes inputs"]
    high: Float[np.ndarray, "boxes inputs"]

    def only(self, keep: np.ndarray | slice) -> "_Frontier":
        return _Frontier(*(part[keep] for part in self))

    def joined(self, other: "_Frontier") -> "_Frontier":
        """These and other boxes, sorted by root."""
        parts = zip(self, other, strict=True)
        both = _Frontier(*(np.concatenate(pair) for pair in parts))
        return both.only(np.argsort(both.root, kind="stable"))


class Search:
    """Roots that are being decided, with at most `most` boxes for each.

    First `glance` at every root, then `divide` those that are left, one root after the
    other as far as cores allow. The `result` is true at any time, even after an
    interrupt: a root counts as decided only if none of its boxes is waiting.
    """

    def __init__(self, prover: Prover, roots: Roots, most: int) -> None:
        count = len(roots.draws)
        self._prover, self._roots, self._most = prover, roots, most
        self._broken_at = np.full(roots.low.shape, np.nan)
        self._given_up = np.zeros(count, bool)
        self._used = np.ones(count, int)
        self._trees = _Trees(count, prover.choices)
        self._new = _Frontier(np.arange(count), np.arange(count), roots.low, roots.high)
        self._open = self._new.only(slice(0))
        self._boxes = 0
        self._room = _CHUNKS * prover.chunk

    @property
    def new(self) -> int:
        """How many roots wait for a first glance."""
        return len(self._new.node)

    @property
    def is_open(self) -> bool:
        """Whether a box waits to be examined."""
        return bool(len(self._open.node))

    @property
    def left(self) -> int:
        """How many roots are not decided and not given up."""
        return self.new + len(np.unique(self._open.root))

    def glance(self) -> None:
        """Examine some roots as they are, without dividing them first."""
        batch = self._new.only(slice(self._room))
        halves = self._examine(batch, is_first=True)
        # In this order, an interrupt in between duplicates boxes and loses none.
        self._open = self._open.joined(halves)
        self._new = self._new.only(slice(self._room, None))

    def divide(self) -> None:
        """Examine some boxes."""
        batch = self._open.only(slice(self._room))
        halves = self._examine(batch, is_first=False)
        waiting = self._open.only(slice(self._room, None)).joined(halves)
        self._open = waiting.only(~self._is_closed[waiting.root])

    def result(self) -> SearchResult:
        """The results so far."""
        status = np.full(len(self._used), HOLDS)
        for waiting in (self._new.root, self._open.root, self._given_up):
            status[waiting] = UNDECIDED
        status[self._is_broken] = BROKEN
        splits = [
            self._trees.axes_of(root) if status[root] == HOLDS else []
            for root in range(len(status))
        ]
        is_over = not (self.new or self.is_open)
        return SearchResult(status, self._broken_at, splits, self._boxes, is_over)

    @property
    def _is_broken(self) -> Bool[np.ndarray, " roots"]:
        return np.asarray(np.isfinite(self._broken_at).all(axis=1))

    @property
    def _is_closed(self) -> Bool[np.ndarray, " roots"]:
        return self._given_up | self._is_broken

    def _examine(self, boxes: _Frontier, *, is_first: bool) -> _Frontier:
        """Judge boxes, and halve those that are not decided."""
        self._boxes += len(boxes.node)
        roots = self._roots
        draws = roots.draws[boxes.root]
        verdicts = self._prover.judge(draws, boxes.low, boxes.high)
        self._refute(draws, boxes, verdicts)
        if is_first:
            self._attack(boxes.root[~verdicts.holds])
        is_undecided = ~verdicts.holds & ~self._is_closed[boxes.root]
        undecided, influence = (
            boxes.only(is_undecided),
            verdicts.influence[is_undecided],
        )
        width = undecided.high - undecided.low
        start = roots.high[undecided.root] - roots.low[undecided.root]
        is_divisible = width > _NARROW * start
        axis = np.argmax(np.where(is_divisible, influence + 1e-300, -1.0), axis=1)
        np.add.at(self._used, undecided.root, 2)
        is_exhausted = (self._used[undecided.root] > self._most) | ~is_divisible.any(
            axis=1
        )
        self._given_up[undecided.root[is_exhausted]] = True
        is_continued = ~self._given_up[undecided.root]
        return self._trees.divide(undecided.only(is_continued), axis[is_continued])

    def _refute(
        self, draws: Int[np.ndarray, " boxes"], boxes: _Frontier, verdicts: BoxVerdicts
    ) -> None:
        """Check rigorously where the rule seems violated, and store what is proved."""
        for guess in range(verdicts.worst.shape[1]):
            rows = np.flatnonzero(verdicts.suspicious[:, guess])
            rows = rows[~self._is_broken[boxes.root[rows]]]
            # One place for each root is enough; more come with the next boxes.
            _, first = np.unique(boxes.root[rows], return_index=True)
            rows = rows[first]
            self._note(boxes.root[rows], draws[rows], verdicts.worst[rows, guess])

    def _attack(self, roots: Int[np.ndarray, " _"]) -> None:
        """Descend to likely violations in roots that were not decided as a whole."""
        roots = roots[~self._is_broken[roots]]
        if not len(roots):
            return
        draws = self._roots.draws[roots]
        box = self._roots.low[roots], self._roots.high[roots]
        points, broken = self._prover.attack(draws, *box)
        self._note(roots[broken], draws[broken], points[broken])

    def _note(
        self,
        roots: Int[np.ndarray, " _"],
        draws: Int[np.ndarray, " _"],
        points: Float[np.ndarray, "_ inputs"],
    ) -> None:
        """Store inputs that provably violate the rule."""
        if len(roots):
            proved = self._prover.is_broken(draws, points)
            self._broken_at[roots[proved]] = points[proved]


def search(prover: Prover, roots: Roots, most: int) -> SearchResult:
    """Decide each root, with at most `most` boxes for each."""
    run = Search(prover, roots, most)
    while run.new:
        run.glance()
    while run.is_open:
        run.divide()
    return run.result()


class _Trees:
    """How every root was divided."""

    def __init__(self, roots: int, choices: Choices) -> None:
        self._choices = choices
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
        low, high = halves(boxes.low, boxes.high, axis, self._choices)
        return _Frontier(
            first + np.arange(2 * count), np.repeat(boxes.root, 2), low, high
        )

    def axes_of(self, root: int) -> list[int]:
        """The divisions of one root, parents first."""
        axes, stack = [], [root]
        while stack:
            node = stack.pop()
            axes.append(int(self._axis[node]))
            if self._axis[node] != _LEAF:
                stack += [self._lower[node] + 1, self._lower[node]]
        return axes


def halves(
    low: Float[np.ndarray, "boxes inputs"],
    high: Float[np.ndarray, "boxes inputs"],
    axis: Int[np.ndarray, " boxes"],
    choices: Choices = (),
) -> tuple[Float[np.ndarray, "halves inputs"], Float[np.ndarray, "halves inputs"]]:
    """The lower and the upper half of each box, in turn. Together they are the box.

    If a box is halved along a category's column, one half excludes this level and the
    other fixes it; values in between are not inputs.
    """
    rows = np.arange(len(low))
    middle = 0.5 * (low[rows, axis] + high[rows, axis])
    low, high = np.repeat(low, 2, axis=0), np.repeat(high, 2, axis=0)
    high[2 * rows, axis] = middle
    low[2 * rows + 1, axis] = middle
    return settle_boxes(low, high, choices)[:2]


def leaves(
    splits: list[int],
    low: Float[np.ndarray, " inputs"],
    high: np.ndarray,
    choices: Choices = (),
) -> tuple[Float[np.ndarray, "leaves inputs"], Float[np.ndarray, "leaves inputs"]]:
    """The boxes that a root was divided into, from its list of splits.

    Raises
    ------
    ValueError
        When the list is too short or too long, or names an input that does not exist.
    """
    boxes: list[tuple[np.ndarray, np.ndarray]] = []
    stack = [(np.asarray(low, float), np.asarray(high, float))]
    for axis in splits:
        if not stack or not _LEAF <= axis < len(low):
            raise ValueError("its splits are not valid")
        box = stack.pop()
        if axis == _LEAF:
            boxes.append(box)
            continue
        lows, highs = halves(box[0][None], box[1][None], np.array([axis]), choices)
        stack += [(lows[1], highs[1]), (lows[0], highs[0])]
    if stack:
        raise ValueError("its splits end too early")
    lows, highs = zip(*boxes, strict=True)
    return np.stack(lows), np.stack(highs)


def misses(
    prover: Prover,
    low: Float[np.ndarray, "places inputs"],
    high: Float[np.ndarray, "places inputs"],
) -> Bool[np.ndarray, " places"]:
    """Which boxes provably have no input to which the rule applies.

    A region that is not a box may miss a box that its bounds meet.
    """
    owner, is_met = np.arange(len(low)), np.zeros(len(low), bool)
    region, choices = prover.bound.region, prover.choices
    if region.is_box:
        return is_met
    width = np.where(high > low, high - low, 1.0)
    for _ in range(_HALVINGS):
        middle = pick(0.5 * (low + high), choices, high)
        is_met[owner[region.contains(middle)]] = True
        is_open = ~is_met[owner]
        owner, low, high = owner[is_open], low[is_open], high[is_open]
        if not len(owner) or len(owner) > max(_MAX_PARTS, 4 * len(is_met)):
            break
        is_open = ~prover.judge(np.zeros(len(owner), int), low, high).outside
        owner, low, high = owner[is_open], low[is_open], high[is_open]
        share = (high - low) / width[owner]
        axis = np.asarray(region.columns)[share[:, region.columns].argmax(axis=1)]
        rows, middle = np.arange(len(owner)), 0.5 * (low + high)
        left, right = high.copy(), low.copy()
        left[rows, axis] = right[rows, axis] = middle[rows, axis]
        low, high = np.concatenate([low, right]), np.concatenate([left, high])
        low, high, possible = settle_boxes(low, high, choices)
        owner = np.concatenate([owner, owner])[possible]
        low, high = low[possible], high[possible]
    # Undecided boxes may meet the region.
    is_met[owner] = True
    return ~is_met
