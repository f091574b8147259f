"""The exact outline of a set in the plane, from a membership test alone.

The set is cut along vertical lines. Bisection finds the ends of each cut, and the
positions where cuts appear, vanish, split or jump, so edges are exact and do not depend
on a mesh. Only parts that are thinner than the mesh can be missed.
"""

import dataclasses
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
from matplotlib.path import Path

# Whether each of n points lies in the set, given their two coordinates (n,).
Inside: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
Limits: TypeAlias = tuple[float, float]

_COLUMNS, _ROWS = 301, 601
_HALVINGS = 28
_NEAR = 1e-9  # of the width: columns this close are not cut again
_JUMP = 0.02  # of the height: ends that move further between columns may have jumped
_MOST_COLUMNS = 4000


@dataclasses.dataclass(frozen=True)
class Outline:
    """A set as a path to fill, and its boundary as (m, 2) lines separated by NaN.

    `curves` are the boundary's lower and upper ends, `sides` its vertical parts. Limits
    that cut the set off are not part of the boundary.
    """

    fill: Path
    curves: np.ndarray
    sides: np.ndarray

    @property
    def boundary(self) -> np.ndarray:
        """Curves and sides together."""
        return np.concatenate([self.curves, self.sides])

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the set was found within the limits."""
        return np.size(self.fill.vertices) == 0


def trace(
    inside: Inside, xlim: Limits, ylim: Limits, at: Iterable[float] = ()
) -> Outline:
    """Find a set's outline within limits; `at` are positions of additional cuts.

    >>> import numpy as np
    >>> disc = trace(lambda x, y: x**2 + y**2 <= 1, (-2, 2), (-2, 2))
    >>> bool(np.abs(np.nanmax(disc.curves) - 1) < 1e-6)
    True
    """
    ys = np.linspace(*ylim, _ROWS)
    extra = [x for x in at if xlim[0] <= x <= xlim[1]]
    xs = np.union1d(np.linspace(*xlim, _COLUMNS), extra)
    xs, cuts = _refine(inside, xs, ys)
    jump = _JUMP * (ylim[1] - ylim[0])
    breaks = [i + 1 for i in range(len(xs) - 1) if _differ(cuts[i], cuts[i + 1], jump)]
    polygons, curves, sides = [], [], []
    for run in np.split(np.arange(len(xs)), breaks):
        if len(run) < 2 or len(cuts[run[0]]) == 0:
            continue
        ends = np.stack([cuts[i] for i in run], axis=1)
        polygons += _polygons(xs[run], ends)
        curves += [_curve(xs[run], end, ylim) for end in ends]
    for i in breaks:
        sides += _sides((xs[i - 1] + xs[i]) / 2, cuts[i - 1], cuts[i])
    fill = Path.make_compound_path(*polygons) if polygons else Path(np.empty((0, 2)))
    return Outline(fill, _joined(curves), _joined(sides))


def _refine(
    inside: Inside, xs: np.ndarray, ys: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Halve the gap between columns whose cuts differ until it is negligible."""
    cuts = _cut(inside, xs, ys)
    gap, jump = _NEAR * (xs[-1] - xs[0]), _JUMP * (ys[-1] - ys[0])
    for _ in range(_HALVINGS):
        wide = np.flatnonzero(np.diff(xs) > gap)
        split = [i for i in wide if _differ(cuts[i], cuts[i + 1], jump)]
        if not split or len(xs) > _MOST_COLUMNS:
            break
        middle = np.array([(xs[i] + xs[i + 1]) / 2 for i in split])
        for i, new in reversed(list(zip(split, _cut(inside, middle, ys), strict=True))):
            cuts.insert(i + 1, new)
        xs = np.insert(xs, np.array(split) + 1, middle)
    return xs, cuts


def _cut(inside: Inside, xs: np.ndarray, ys: np.ndarray) -> list[np.ndarray]:
    """Ends of the set's intervals along each column, upwards."""
    mask = inside(np.repeat(xs, len(ys)), np.tile(ys, len(xs))).reshape(len(xs), -1)
    padded = np.pad(mask, ((0, 0), (1, 1)))
    column, row = np.nonzero(padded[:, 1:] != padded[:, :-1])
    below = ys[np.maximum(row - 1, 0)]
    above = ys[np.minimum(row, len(ys) - 1)]
    state, where = padded[column, row], xs[column]
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        is_same = inside(where, middle) == state
        below, above = (
            np.where(is_same, middle, below),
            np.where(is_same, above, middle),
        )
    starts = np.searchsorted(column, np.arange(1, len(xs)))
    return np.split((below + above) / 2, starts)


def _differ(left: np.ndarray, right: np.ndarray, jump: float) -> bool:
    if len(left) != len(right):
        return True
    return bool(len(left) and np.abs(left - right).max() > jump)


def _polygons(xs: np.ndarray, ends: np.ndarray) -> list[Path]:
    around = np.concatenate([xs, xs[::-1]])
    return [
        Path(np.column_stack([around, np.concatenate([low, high[::-1]])]), closed=False)
        for low, high in zip(ends[::2], ends[1::2], strict=True)
    ]


def _curve(xs: np.ndarray, end: np.ndarray, ylim: Limits) -> np.ndarray:
    cut_off = (end <= ylim[0]) | (end >= ylim[1])
    padded = np.pad(cut_off, 1, constant_values=True)
    # A curve keeps the point at which it reaches the limit.
    is_outside = padded[:-2] & cut_off & padded[2:]
    return np.column_stack([xs, np.where(is_outside, np.nan, end)])


def _sides(x: float, left: np.ndarray, right: np.ndarray) -> list[np.ndarray]:
    # Pairs of the sorted ends are the intervals that lie in exactly one of the sets.
    pairs = np.sort(np.concatenate([left, right])).reshape(-1, 2)
    return [np.array([[x, low], [x, high]]) for low, high in pairs if high > low]


def _joined(lines: list[np.ndarray]) -> np.ndarray:
    gap = np.full((1, 2), np.nan)
    pieces = [piece for line in lines for piece in (line, gap)]
    return np.concatenate(pieces) if pieces else np.empty((0, 2))
