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
    """Draw a small map, such as the baseline's, in a corner of another one.

    By default, it takes the corner with the fewest data points and rules; `corner` can
    be "upper right", "upper left", "lower right" or "lower left". `size` is its share
    of each side. The other arguments are those of `class_map`.

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
    return [artist for artist in ax.collections if isinstance(artist, PathCollection)]


def _emptiest(ax: Axes, size: float) -> str:
    marks = [np.asarray(marker.get_offsets()) for marker in _markers(ax)]
    marks += [np.asarray(patch.get_path().vertices) for patch in ax.patches]
    nonempty = [mark for mark in marks if len(mark)]
    if not nonempty:
        return "upper right"
    points = ax.transData.transform(np.concatenate(nonempty))
    points = ax.transAxes.inverted().transform(points)

    def covered(corner: str) -> int:
        right, top = _CORNERS[corner]
        beside = points[:, 0] > 1 - size if right else points[:, 0] < size
        level = points[:, 1] > 1 - size if top else points[:, 1] < size
        return int((beside & level).sum())

    return min(_CORNERS, key=covered)
