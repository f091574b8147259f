"""The figure to download: the page's view, with rules and without."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ocbnn import plots
from ocbnn.core.words import spell
from ocbnn.plots.style import GREY, HUES, INK, SMALL, literal, tidy
from ocbnn.projects.columns import Rows
from ocbnn.rules import BoundRule
from ocbnn.studio.function_summaries import predictions_in_view
from ocbnn.studio.layers import layer_of
from ocbnn.studio.viewport import Viewport

_SHOWN = 12
_TITLES = {"with": "with rules", "without": "without rules"}
_LOOKS = {"with": plots.CONSTRAINED, "without": plots.BASELINE}
# Beyond this many rows, points are smaller and paler so that functions stay visible.
_MANY = 200


def draw(
    models: dict[str, Any], viewport: Viewport, rows: Rows, colours: Sequence[int]
) -> Figure:
    """One picture for each fitted model.

    Parameters
    ----------
    models
        Fitted models; the one with rules comes first.
    viewport
        The view.
    rows
        The data.
    colours
        One for each rule, in order.
    """
    fig = plots.figure(4.6 * len(models), 3.6)
    axes = fig.subplots(1, len(models), squeeze=False)[0]
    summaries = {
        which: predictions_in_view(model, viewport) for which, model in models.items()
    }
    rules = _coloured(next(iter(models.values())).rules_, colours)
    filled = None
    for ax, which in zip(axes, models, strict=True):
        if summaries[which]["kind"] == "map":
            filled = _mean_map(ax, summaries, which, viewport, rows)
        elif summaries[which]["kind"] == "class-map":
            _class_map(ax, summaries[which], viewport, rows)
        elif summaries[which]["kind"] == "classes":
            _class_lines(ax, summaries[which], viewport)
        else:
            _curve(ax, summaries[which], which, viewport, rows)
        if summaries[which]["kind"] == "curve":
            _shade(ax, rules, viewport)
        else:
            _regions(ax, rules, viewport)
        plots.legend(ax)
        ax.set_title(_TITLES[which], fontsize=9)
    if filled is not None:
        name = f"mean of {literal(viewport.schema.outputs[viewport.output])}"
        fig.colorbar(filled, ax=list(axes), label=name)
    if footnote := _held_inputs(viewport):
        fig.supxlabel(footnote, fontsize=SMALL, color=GREY)
    return fig


def _coloured(
    rules: Sequence[BoundRule], colours: Sequence[int]
) -> list[tuple[BoundRule, str]]:
    padded = [*colours, *[5] * len(rules)]
    return [(rule, HUES[c]) for rule, c in zip(rules, padded, strict=False)]


def _curve(
    ax: Axes, summary: dict[str, Any], which: str, viewport: Viewport, rows: Rows
) -> None:
    x, color = viewport.axes[0], _LOOKS[which]["color"]
    band = lambda low, high, alpha, label: ax.fill_between(
        x,
        np.array(summary[low], float),
        np.array(summary[high], float),
        color=color,
        alpha=alpha,
        linewidth=0,
        label=label,
        zorder=1.0,
    )
    band("low", "high", 0.14, "95 % of new rows")
    band("function_low", "function_high", 0.26, "95 % of functions")
    for line in summary["functions"][:_SHOWN]:
        ax.plot(x, line, color=color, linewidth=0.6, alpha=0.6, zorder=1.5)
    style = _LOOKS[which]["linestyle"]
    ax.plot(
        x, summary["mean"], color=color, linestyle=style, lw=2.2, label="mean", zorder=3
    )
    size, alpha = _marks(len(rows.X))
    ax.plot(
        rows.X[:, viewport.shown[0]],
        rows.y[:, viewport.output].astype(float),
        "o",
        color=INK,
        markeredgecolor="white",
        markeredgewidth=0.8 if alpha == 1 else 0.0,
        markersize=size,
        alpha=alpha,
        label="data",
        zorder=2.0,
    )
    ax.set(xlim=viewport.xlim, ylim=viewport.limits)
    tidy(
        ax,
        (
            viewport.schema.inputs[viewport.shown[0]],
            viewport.schema.outputs[viewport.output],
        ),
    )


def _shade(
    ax: Axes, rules: Sequence[tuple[BoundRule, str]], viewport: Viewport
) -> None:
    plots.shade_rules(
        ax,
        [bound for bound, _ in rules],
        viewport.xlim,
        viewport.limits,
        viewport.shown[0],
        viewport.output,
        at=viewport.at,
        colors=[color for _, color in rules],
        with_legend=False,
    )


def _class_lines(ax: Axes, summary: dict[str, Any], viewport: Viewport) -> None:
    for number, label in enumerate(summary["classes"]):
        color = HUES[number % len(HUES)]
        low, high = (np.array(summary[end][number], float) for end in ("low", "high"))
        ax.fill_between(
            viewport.axes[0], low, high, color=color, alpha=0.13, linewidth=0
        )
        line = summary["probability"][number]
        ax.plot(
            viewport.axes[0],
            line,
            color=color,
            label=f"{literal(label)}, with 95 % of draws",
        )
    ax.set(xlim=viewport.xlim, ylim=(0, 1))
    tidy(ax, (viewport.schema.inputs[viewport.shown[0]], "probability"))


def _class_map(
    ax: Axes, summary: dict[str, Any], viewport: Viewport, rows: Rows
) -> None:
    table = np.moveaxis(np.array(summary["probability"], float), 0, -1)
    first, second = viewport.shown
    plots.class_map(
        ax,
        viewport.axes[0],
        viewport.axes[1],
        table,
        classes=viewport.schema.classes or (),
        predicted=np.array(summary["predicted"]),
        X=rows.X[:, [first, second]],
        y=rows.y,
        names=(viewport.schema.inputs[first], viewport.schema.inputs[second]),
        inputs=(first, second),
        with_legend=False,
    )


def _mean_map(
    ax: Axes, summaries: dict[str, Any], which: str, viewport: Viewport, rows: Rows
) -> Any:
    """A map of the mean, on a colour scale shared by all models."""
    tables = {
        name: np.array(summary["z"], float) for name, summary in summaries.items()
    }
    low = min(float(table.min()) for table in tables.values())
    high = max(float(table.max()) for table in tables.values())
    levels = MaxNLocator(12).tick_values(low, high if high > low else low + 1)
    filled = ax.contourf(*viewport.axes, tables[which], levels=levels, cmap="cividis")
    first, second = viewport.shown
    size, alpha = _marks(len(rows.X))
    ax.scatter(
        rows.X[:, first],
        rows.X[:, second],
        s=size**2,
        color=INK,
        edgecolors="white",
        linewidths=0.6,
        alpha=alpha,
        label="data",
        zorder=2.0,
    )
    ax.set(xlim=viewport.xlim, ylim=viewport.limits)
    tidy(ax, (viewport.schema.inputs[first], viewport.schema.inputs[second]))
    return filled


def _regions(
    ax: Axes, rules: Sequence[tuple[BoundRule, str]], viewport: Viewport
) -> None:
    """Outline the regions of rules in their own colours."""
    for bound, color in rules:
        if not bound.is_checkable:
            continue
        layer = layer_of(bound, viewport)
        if layer["line"] is None:
            continue
        x, y = (np.array(layer["line"][end], float) for end in "xy")
        ax.plot(x, y, color="white", linewidth=3.6, zorder=2.5)
        label = f"“{literal(bound.name)}”: {literal(layer['label'])}"
        ax.plot(x, y, color=color, linewidth=1.8, label=label, zorder=2.6)


def _marks(rows: int) -> tuple[float, float]:
    """The size and opacity of points."""
    if rows <= _MANY:
        return 5.5, 1.0
    return 3.5, max(0.12, (_MANY / rows) ** 0.5)


def _held_inputs(viewport: Viewport) -> str:
    """The values of the inputs that are not shown, as a footnote."""
    unseen = [
        (name, value)
        for place, (name, value) in enumerate(
            zip(viewport.schema.inputs, viewport.at.tolist(), strict=True)
        )
        if place not in viewport.shown
    ]
    # A categorical column is one input per category, each 1 or 0.
    numeric = [
        f"{n} {spell(v, digits=4 if abs(v) < 1e4 else 12)}"
        for n, v in unseen
        if not ("=" in n and v in (0.0, 1.0))
    ]
    categories = [n.replace("=", " ") for n, v in unseen if "=" in n and v == 1.0]
    values = ", ".join([*numeric, *categories])
    return textwrap.fill(f"Others at: {literal(values)}", 110) if values else ""
