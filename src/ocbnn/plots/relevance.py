"""How much each input matters, one line per input."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from ocbnn.errors import DataError
from ocbnn.plots.style import BLUE, GREY, legend, literal, tidy


def relevance_bars(ax: Axes, names: Sequence[str], shares: np.ndarray) -> Axes:
    """Draw each input's median share and its 90 % interval, the first one on top.

    Thick lines contain half of the draws, thin ones 90 %. A dashed line shows the share
    that every input would have if all mattered equally.

    Parameters
    ----------
    ax
        Where to draw.
    names
        The inputs' names.
    shares
        Every draw's share of each input: (draws, inputs).
    """
    shares = np.asarray(shares, float)
    if shares.ndim != 2 or shares.shape[1] != len(names) or not len(shares):
        raise DataError(
            f"`shares` has shape (draws, {len(names)}), as there are {len(names)} "
            f"names, got {shares.shape}. Pass one row per draw."
        )
    positions = np.arange(len(names))
    low, lower_quartile, median, upper_quartile, high = np.quantile(
        shares, [0.05, 0.25, 0.5, 0.75, 0.95], axis=0
    )
    ax.axvline(1 / len(names), color=GREY, ls="--", lw=1, label="if all mattered alike")
    ax.hlines(positions, low, high, color=BLUE, lw=1.2, label="90 % of draws")
    ax.hlines(
        positions,
        lower_quartile,
        upper_quartile,
        color=BLUE,
        lw=4.5,
        alpha=0.55,
        label="50 %",
    )
    ax.plot(
        median, positions, "o", color=BLUE, mec="white", ms=6, zorder=3, label="median"
    )
    ax.set_yticks(positions, [literal(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlim(0, 1.02 * float(max(high.max(), 1 / len(names))))
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    tidy(ax, ("relevance: share of each input", ""))
    legend(ax)
    return ax
