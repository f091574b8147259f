"""A small class map in a corner of a large one."""

from collections.abc import Sequence

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection

from ocbnn.core.words import listing
from ocbnn.errors import SettingError
from ocbnn.plots.classes import class_map
from ocbnn.plots.style import INK, SMALL
from ocbnn.rules import BoundRule

_INSET = 5.0
_CORNERS = {
    "upper right": (1, 1),
    "upper left": (0, 1),
    "lower right": (1, 0),
    "lower left": (0, 0),
}


def class_inset(
    ax: Axes,
    grid_x: np.ndarray,
    grid_y: np.ndarray,
    probabilities: np.ndarray,
    *,
    classes: Sequence[object],
    X: np.ndarray | None = None,
    y: np.ndarray | None = None,
    rules: Sequence[BoundRule] = (),
    title: str = "BNN",
    corner: str | None = None,
    size: float = 0.34,
    inputs: tuple[int, int] = (0, 1),
    at: np.ndarray | None = None,
) -> Axes:
    """Put a small map, of the baseline say, into a corner of another one.

    The corner with the fewest data points and rules is taken unless one is named:
    "upper right", "upper left", "lower right" or "lower left". `size` is the share of
    each side it takes. The other arguments are those of `class_map`.

    Returns
    -------
    Axes
        The inset's own axes.
    """
    if corner is not None and corner not in _CORNERS:
        raise SettingError(
            f"`corner` is one of {listing(map(repr, _CORNERS))}, got {corner!r}."
        )
    if not 0 < size < 1:
        raise SettingError(
            f"`size` is a share of the axes between 0 and 1, got {size}."
        )
    right, top = _CORNERS[corner or _emptiest(ax, size)]
    left, low = (1 - size) * right, (1 - size) * top
    inset = ax.inset_axes((left, low, size, size), zorder=_INSET)
    class_map(
        inset,
        grid_x,
        grid_y,
        probabilities,
        classes=classes,
        X=X,
        y=y,
        rules=rules,
        inputs=inputs,
        at=at,
        with_legend=False,
    )
    for points in _markers(inset):
        points.set(sizes=[7], linewidths=0.4)
    for line in inset.lines:
        line.set_linewidth(line.get_linewidth() / 2)
    for patch in inset.patches:
        patch.set_hatch("")
    inset.set(xlabel="", ylabel="", xticks=[], yticks=[])
    inset.spines[:].set(visible=True, color=INK, linewidth=1.2)
    inset.text(
        0.05,
        0.95,
        title,
        transform=inset.transAxes,
        va="top",
        fontsize=SMALL,
        path_effects=[patheffects.withStroke(linewidth=2.5, foreground="white")],
        zorder=_INSET,
    )
    return inset


def _markers(ax: Axes) -> list[PathCollection]:
    return [found for found in ax.collections if isinstance(found, PathCollection)]


def _emptiest(ax: Axes, size: float) -> str:
    marks = [np.asarray(found.get_offsets()) for found in _markers(ax)]
    marks += [np.asarray(patch.get_path().vertices) for patch in ax.patches]
    placed = [mark for mark in marks if len(mark)]
    if not placed:
        return "upper right"
    spots = ax.transData.transform(np.concatenate(placed))
    spots = ax.transAxes.inverted().transform(spots)

    def covered(corner: str) -> int:
        right, top = _CORNERS[corner]
        beside = spots[:, 0] > 1 - size if right else spots[:, 0] < size
        level = spots[:, 1] > 1 - size if top else spots[:, 1] < size
        return int((beside & level).sum())

    return min(_CORNERS, key=covered)
