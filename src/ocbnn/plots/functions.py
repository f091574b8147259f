"""Function draws along one input: posterior bands and prior draws."""

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.container import Container

from ocbnn.errors import SettingError
from ocbnn.plots import checks
from ocbnn.plots.shading import shade_rules
from ocbnn.plots.style import BLUE, GREY, INK, legend, tidy
from ocbnn.rules import BoundRule

_BAND, _DRAW, _MEAN, _DATA = 1.0, 1.5, 3.0, 4.0


def regression(
    ax: Axes,
    x: np.ndarray,
    values: np.ndarray,
    *,
    X: np.ndarray | None = None,
    y: np.ndarray | None = None,
    rules: Sequence[BoundRule] = (),
    label: str | None = None,
    color: str = BLUE,
    linestyle: str = "-",
    shown: int = 0,
    bands: bool = True,
    mean: bool = True,
    names: tuple[str, str] | None = None,
    input: int = 0,
    output: int = 0,
    at: np.ndarray | None = None,
    with_legend: bool = True,
) -> Axes:
    """Draw a posterior of functions: its mean, and bands of one and two sd.

    Call it twice on one axes to compare, the second on top:
    `regression(ax, x, without, **BASELINE)` and
    `regression(ax, x, with_rules, **CONSTRAINED, X=X, y=y, rules=rules)`.

    Parameters
    ----------
    ax
        Where to draw.
    x
        Inputs (n,), increasing.
    values
        Every draw's function at these inputs (draws, n).
    X
        Inputs of the data (rows,) or (rows, 1).
    y
        Outputs of the data, likewise.
    rules
        Bound rules to shade; see `shade_rules`. They are drawn up to one view's
        height beyond the view: for wider limits, set these before.
    label
        The name of these functions in the legend.
    color
        Colour of the mean, the bands and the draws.
    linestyle
        Line style of the mean.
    shown
        How many single draws to show, evenly spaced.
    bands
        Whether to draw the bands. If draws are in several modes, mean and sd lie where
        no draw is: switch off `bands` and `mean`, and set `shown`.
    mean
        Whether to draw the mean.
    names
        Names of the two axes; by default, those of the rules' columns.
    input
        Position of the input along `x`, for rules about several.
    output
        Position of the output, likewise.
    at
        Values (inputs,) at which the other inputs are held.
    with_legend
        Whether to put a legend below the axes.
    """
    x = checks.along(x)
    values = checks.draws(values, len(x))
    data = checks.points(X, y)
    parts = [("mean", mean), ("±1 and ±2 sd", bands), ("draws", shown > 0)]
    description = ", ".join(part for part, is_drawn in parts if is_drawn)
    if checks.count(shown, "shown") == 0 and not description:
        raise SettingError(
            "there is nothing to draw: `mean` and `bands` are off and `shown` is 0. "
            "Pass `shown=50` for single draws."
        )
    artists: list[Artist] = []
    middle, sd = values.mean(axis=0), values.std(axis=0)
    if bands:
        artists += [
            ax.fill_between(
                x,
                middle - width * sd,
                middle + width * sd,
                color=color,
                alpha=alpha,
                linewidth=0,
                zorder=_BAND,
            )
            for width, alpha in ((2, 0.16), (1, 0.24))
        ]
    if shown:
        artists.append(_draw_lines(ax, x, values, shown, color))
    if mean:
        artists += ax.plot(
            x, middle, color=color, linestyle=linestyle, linewidth=2.2, zorder=_MEAN
        )
    if label is not None:
        ax.add_container(Container(artists, label=f"{label}: {description}"))
    if data is not None:
        ax.plot(
            *data,
            "o",
            color=INK,
            markeredgecolor="white",
            markersize=5.5,
            markeredgewidth=0.8,
            label="data",
            zorder=_DATA,
        )
    return _finish(ax, rules, names, input, output, at, with_legend)


def prior_predictive(
    ax: Axes,
    x: np.ndarray,
    values: np.ndarray,
    *,
    rules: Sequence[BoundRule] = (),
    shown: int = 100,
    label: str = "prior draws",
    color: str = GREY,
    names: tuple[str, str] | None = None,
    input: int = 0,
    output: int = 0,
    at: np.ndarray | None = None,
    with_legend: bool = True,
) -> Axes:
    """Draw many functions of a prior as thin lines, with the rules.

    The arguments are those of `regression`; at most `shown` draws are drawn, evenly
    spaced, and the legend says of how many.
    """
    x = checks.along(x)
    values = checks.draws(values, len(x))
    lines = _draw_lines(ax, x, values, checks.count(shown, "shown"), color)
    few, many = min(shown, len(values)), len(values)
    lines.set_label(f"{few} {label}" if few == many else f"{few} of {many} {label}")
    return _finish(ax, rules, names, input, output, at, with_legend)


def _draw_lines(
    ax: Axes, x: np.ndarray, values: np.ndarray, shown: int, color: str
) -> LineCollection:
    chosen = np.linspace(0, len(values) - 1, min(shown, len(values))).round()
    lines = [np.column_stack([x, draw]) for draw in values[chosen.astype(int)]]
    # Many lines need to be fainter to be distinguishable.
    alpha = float(np.clip(3.0 / max(len(lines), 1) ** 0.5, 0.25, 0.8))
    collection = LineCollection(lines, colors=color, lw=0.7, alpha=alpha, zorder=_DRAW)
    ax.add_collection(collection)
    return collection


def _finish(
    ax: Axes,
    rules: Sequence[BoundRule],
    names: tuple[str, str] | None,
    input: int,
    output: int,
    at: np.ndarray | None,
    with_legend: bool,
) -> Axes:
    ax.set_xmargin(0.0)
    ax.autoscale_view()
    if rules:
        left, right = sorted(ax.get_xlim())
        low, high = sorted(ax.get_ylim())
        xlim, ylim = (left, right), (2 * low - high, 2 * high - low)
        shade_rules(ax, rules, xlim, ylim, input, output, at=at, with_legend=False)
        schema = rules[0].schema
        names = names or (schema.inputs[input], schema.outputs[output])
    tidy(ax, names or ("x", "y"))
    if with_legend:
        legend(ax)
    return ax
