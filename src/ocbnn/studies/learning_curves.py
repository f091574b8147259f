"""Drawing learning curves: errors against rows of data."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator
from numpy.typing import ArrayLike

from ocbnn.plots import style

_, _ORANGE, _, _PINK, _SKY, _, _OLIVE, _ = style.HUES
# How each model looks, the same in every figure.
LOOKS: dict[str, dict[str, Any]] = {
    "bnn": {"color": style.GREY, "linestyle": style.DASHES[1]},
    "ocbnn": {"color": style.BLUE, "linestyle": style.DASHES[0]},
    "projection": {"color": style.GREEN, "linestyle": style.DASHES[3]},
    "gp": {"color": _ORANGE, "linestyle": style.DASHES[0]},
    "forest": {"color": _PINK, "linestyle": style.DASHES[2]},
    "boosting": {"color": _SKY, "linestyle": style.DASHES[1]},
    "linear": {"color": _OLIVE, "linestyle": style.DASHES[2]},
}
_MARKERS = dict(zip(LOOKS, style.MARKERS, strict=False))
# The least ratio of the ends of an axis whose marks are on a logarithmic scale.
_WIDE = 5


def draw_curve(
    ax: Axes, key: str, label: str, rows: ArrayLike, errors: ArrayLike,
    **settings: Any,
) -> None:  # fmt: skip
    """One model's learning curve."""
    look = {**LOOKS[key], "marker": _MARKERS[key], **settings}
    ax.plot(rows, errors, label=label, **look)


def scale_axes(ax: Axes, rows: Sequence[int]) -> None:
    """Logarithmic axes with plain numbers, and a mark at every number of rows."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(rows, [str(n) for n in rows])
    low, high = ax.get_ylim()
    # A narrow range has few round numbers of a logarithmic kind.
    narrow = MaxNLocator(6, steps=[1, 2, 5, 10])
    wide = LogLocator(subs=(1, 2, 3, 5, 7))
    ax.yaxis.set_major_locator(wide if high > _WIDE * low else narrow)
    ax.yaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_minor_locator(NullLocator())
