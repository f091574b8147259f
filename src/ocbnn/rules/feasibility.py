"""Whether unknown numbers can satisfy several inequalities at once.

The answer "no" is always correct: linear inequalities are decided, and for nonlinear
ones only what interval arithmetic proves counts.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from ocbnn.language.evaluate import evaluate
from ocbnn.language.intervals import Arithmetic, Interval
from ocbnn.language.normal_form import leaves
from ocbnn.language.tree import Expression, Slot
from ocbnn.rules.multipliers import is_contradictory

# The largest number of boxes, and how often they are halved.
_MOST_BOXES, _MOST_HALVINGS = 256, 48
# Clips logarithms of box ends, where an end is infinite.
_FAR = 50.0
# With more unknowns, halving boxes takes too long.
_MOST_UNKNOWNS = 4
# Searches in total, and searches that end undecided: the user waits for the answer.
_MOST_SEARCHES, _MOST_SURRENDERS = 100, 20
# Bounds closer than this count as equal, since they are computed with rounding.
_ROUNDING = 1e-12


class HalfSpace(NamedTuple):
    """`slopes · v + constant <= 0`, or `<` when strict."""

    slopes: tuple[float, ...]
    constant: float
    strict: bool


class NonlinearConstraint(NamedTuple):
    """`expr <= 0`, or `<` when strict, of unknowns in slots."""

    expr: Expression
    strict: bool


Case: TypeAlias = tuple[HalfSpace | NonlinearConstraint, ...]


class FeasibilityChecker:
    """Decides cases and caches the answers, since most inputs give the same case."""

    def __init__(self) -> None:
        self._answers: dict[Case, bool] = {}
        self._searches = self._surrenders = 0

    def __call__(self, case: Case) -> bool:
        """Whether the inequalities can hold together; True if that is not known."""
        if case not in self._answers:
            self._answers[case] = self._decided(case)
        return self._answers[case]

    def _decided(self, case: Case) -> bool:
        linear = [part for part in case if isinstance(part, HalfSpace)]
        nonlinear = [part for part in case if isinstance(part, NonlinearConstraint)]
        if not _can_hold(linear):
            return False
        is_late = self._searches >= _MOST_SEARCHES
        if not nonlinear or is_late or self._surrenders >= _MOST_SURRENDERS:
            return True
        self._searches += 1
        answer = _searched(linear, nonlinear)
        self._surrenders += answer is None
        return answer is not False


def _can_hold(case: Sequence[HalfSpace]) -> bool:
    named = [sum(map(bool, space.slopes)) for space in case]
    if max(named, default=0) > 1:
        slopes, constants, strict = map(np.array, zip(*case, strict=True))
        return not is_contradictory(slopes, constants, strict)
    ends: dict[int, list[tuple[float, float, bool]]] = {}
    for space, count in zip(case, named, strict=True):
        if not count:
            if space.constant > 0 or (space.strict and space.constant == 0):
                return False
            continue
        index = next(i for i, slope in enumerate(space.slopes) if slope)
        line = space.slopes[index], space.constant, space.strict
        ends.setdefault(index, []).append(line)
    return all(map(_interval, ends.values()))


def _interval(lines: Sequence[tuple[float, float, bool]]) -> bool:
    """Whether one unknown can satisfy `slope * v + constant <= 0`, all of them."""
    lower, upper, open_below, open_above = -math.inf, math.inf, False, False
    for slope, constant, strict in lines:
        bound = -constant / slope
        if slope > 0:
            upper, open_above = min((upper, not open_above), (bound, not strict))
            open_above = not open_above
        else:
            lower, open_below = max((lower, open_below), (bound, strict))
    # Equal ends may differ by rounding; otherwise the interval must have a width.
    is_near = math.isclose(lower, upper, rel_tol=_ROUNDING)
    return lower < upper or (is_near and not (open_below or open_above))


def _searched(
    linear: Sequence[HalfSpace], nonlinear: Sequence[NonlinearConstraint]
) -> bool | None:
    """Halve boxes until a point is found or no box is left; None if undecided."""
    count = max([len(space.slopes) for space in linear], default=0)
    slots = [slot for part in nonlinear for slot in _slots(part.expr)]
    used = sorted({*slots, *(i for s in linear for i, a in enumerate(s.slopes) if a)})
    if len(used) > _MOST_UNKNOWNS:
        return None
    count = max([count, *(slot + 1 for slot in slots)])
    bounds = _bounds(linear, count)
    slack = [_ROUNDING * np.where(np.isinf(end), 0.0, np.abs(end)) for end in bounds]
    low, high = (bounds[0] - slack[0])[None], (bounds[1] + slack[1])[None]
    with np.errstate(all="ignore"):
        for _ in range(_MOST_HALVINGS):
            alive = np.ones(len(low), bool)
            for part in (*linear, *nonlinear):
                lower = _lower_bound(part, low, high)
                # NaN compares false, so an unknown bound keeps its box.
                alive &= ~(lower >= 0 if part.strict else lower > 0)
            low, high = low[alive], high[alive]
            if not len(low):
                return False
            middle = _middles(low, high)
            # A point that barely satisfies all inequalities is often a corner.
            ends = (np.where(np.isfinite(end), end, middle) for end in (low, high))
            tried = np.clip(np.concatenate([middle, *ends]), *bounds)
            if _holds((*linear, *nonlinear), tried).any():
                return True
            if len(low) > _MOST_BOXES:
                return None
            low, high = _halved(low, high, middle, used)
    return None


def _bounds(linear: Sequence[HalfSpace], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on each unknown from the inequalities that mention no other."""
    low, high = np.full(count, -math.inf), np.full(count, math.inf)
    for slopes, constant, _ in linear:
        used = [i for i, slope in enumerate(slopes) if slope]
        if len(used) == 1:
            (i,) = used
            end = -constant / slopes[i]
            low[i] = max(low[i], end) if slopes[i] < 0 else low[i]
            high[i] = min(high[i], end) if slopes[i] > 0 else high[i]
    return low, high


def _slots(expr: Expression) -> list[int]:
    return [leaf.place for leaf in leaves(expr) if isinstance(leaf, Slot)]


def _lower_bound(
    part: HalfSpace | NonlinearConstraint, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """A lower bound on the left-hand side, for every box."""
    if isinstance(part, NonlinearConstraint):
        slots = [Interval(*ends) for ends in zip(low.T, high.T, strict=True)]
        return np.broadcast_to(
            Arithmetic(np).range_of(part.expr, slots).low, (len(low),)
        )
    used = [i for i, slope in enumerate(part.slopes) if slope]
    slopes = np.array(part.slopes)[used]
    parts = np.where(slopes > 0, slopes * low[:, used], slopes * high[:, used])
    size = np.abs(parts).sum(axis=1) + abs(part.constant)
    return parts.sum(axis=1) + part.constant - _ROUNDING * size


def _middles(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A point of each box; where an end is infinite, twice as far as the other end."""
    beyond = np.maximum(1.0, np.where(np.isinf(high), low, -high) * 2.0)
    outer = np.where(np.isinf(high), beyond, -beyond)
    is_unbounded = np.isinf(low) & np.isinf(high)
    is_closed = np.isfinite(low) & np.isfinite(high)
    return np.where(
        is_closed, low + 0.5 * (high - low), np.where(is_unbounded, 0.0, outer)
    )


def _holds(
    parts: Sequence[HalfSpace | NonlinearConstraint], points: np.ndarray
) -> np.ndarray:
    holds = np.ones(len(points), bool)
    for part in parts:
        if isinstance(part, NonlinearConstraint):
            value = evaluate(part.expr, points, None, np, numbers=points.T)
        else:
            slopes = np.zeros(points.shape[1])
            slopes[: len(part.slopes)] = part.slopes
            value = points @ slopes + part.constant
        holds &= value < 0 if part.strict else value <= 0
    return holds


def _halved(
    low: np.ndarray, high: np.ndarray, middle: np.ndarray, used: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Both halves of every box, cut where it is widest relative to its size."""
    # An infinite end counts as a large number, so that other axes are cut, too.
    logs = [np.clip(np.arcsinh(end[:, used]), -_FAR, _FAR) for end in (low, high)]
    width = logs[1] - logs[0]
    axis = np.array(used)[np.argmax(width, axis=1)]
    rows = np.arange(len(low))
    upper, lower = high.copy(), low.copy()
    upper[rows, axis] = lower[rows, axis] = middle[rows, axis]
    return np.concatenate([low, lower]), np.concatenate([upper, high])
