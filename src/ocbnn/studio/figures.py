"""The figure that a person takes away: the page's view, with rules and without."""

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
# Rows beyond which points are smaller and paler, so that functions are seen.
_MANY = 200


def draw(
    models: dict[str, Any], seen: Viewport, rows: Rows, colours: Sequence[int]
) -> Figure:
    """One picture for each fitted model.

    Parameters
    ----------
    models
        The one with rules comes first.
    seen
        The view.
    rows
        The data.
    colours
        Of the rules, in their order.
    """
    fig = plots.figure(4.6 * len(models), 3.6)
    axes = fig.subplots(1, len(models), squeeze=False)[0]
    summaries = {
        which: predictions_in_view(model, seen) for which, model in models.items()
    }
    rules = _coloured(next(iter(models.values())).rules_, colours)
    painted = None
    for ax, which in zip(axes, models, strict=True):
        if summaries[which]["kind"] == "map":
            painted = _mean_map(ax, summaries, which, seen, rows)
        elif summaries[which]["kind"] == "class-map":
            _class_map(ax, summaries[which], seen, rows)
        elif summaries[which]["kind"] == "classes":
            _class_lines(ax, summaries[which], seen)
        else:
            _curve(ax, summaries[which], which, seen, rows)
        if summaries[which]["kind"] == "curve":
            _shade(ax, rules, seen)
        else:
            _regions(ax, rules, seen)
        plots.legend(ax)
        ax.set_title(_TITLES[which], fontsize=9)
    if painted is not None:
        name = f"mean of {literal(seen.schema.outputs[seen.output])}"
        fig.colorbar(painted, ax=list(axes), label=name)
    if footnote := _held(seen):
        fig.supxlabel(footnote, fontsize=SMALL, color=GREY)
    return fig


def _coloured(
    rules: Sequence[BoundRule], colours: Sequence[int]
) -> list[tuple[BoundRule, str]]:
    given = [*colours, *[5] * len(rules)]
    return [(rule, HUES[c]) for rule, c in zip(rules, given, strict=False)]


def _curve(
    ax: Axes, summary: dict[str, Any], which: str, seen: Viewport, rows: Rows
) -> None:
    x, color = seen.axes[0], _LOOKS[which]["color"]
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
        rows.X[:, seen.shown[0]],
        rows.y[:, seen.output].astype(float),
        "o",
        color=INK,
        markeredgecolor="white",
        markeredgewidth=0.8 if alpha == 1 else 0.0,
        markersize=size,
        alpha=alpha,
        label="data",
        zorder=2.0,
    )
    ax.set(xlim=seen.xlim, ylim=seen.limits)
    tidy(ax, (seen.schema.inputs[seen.shown[0]], seen.schema.outputs[seen.output]))


def _shade(ax: Axes, rules: Sequence[tuple[BoundRule, str]], seen: Viewport) -> None:
    plots.shade_rules(
        ax,
        [bound for bound, _ in rules],
        seen.xlim,
        seen.limits,
        seen.shown[0],
        seen.output,
        at=seen.at,
        colors=[color for _, color in rules],
        with_legend=False,
    )


def _class_lines(ax: Axes, summary: dict[str, Any], seen: Viewport) -> None:
    for number, label in enumerate(summary["classes"]):
        color = HUES[number % len(HUES)]
        low, high = (np.array(summary[end][number], float) for end in ("low", "high"))
        ax.fill_between(seen.axes[0], low, high, color=color, alpha=0.13, linewidth=0)
        line = summary["probability"][number]
        ax.plot(
            seen.axes[0],
            line,
            color=color,
            label=f"{literal(label)}, with 95 % of draws",
        )
    ax.set(xlim=seen.xlim, ylim=(0, 1))
    tidy(ax, (seen.schema.inputs[seen.shown[0]], "probability"))


def _class_map(ax: Axes, summary: dict[str, Any], seen: Viewport, rows: Rows) -> None:
    table = np.moveaxis(np.array(summary["probability"], float), 0, -1)
    first, second = seen.shown
    plots.class_map(
        ax,
        seen.axes[0],
        seen.axes[1],
        table,
        classes=seen.schema.classes or (),
        predicted=np.array(summary["predicted"]),
        X=rows.X[:, [first, second]],
        y=rows.y,
        names=(seen.schema.inputs[first], seen.schema.inputs[second]),
        inputs=(first, second),
        with_legend=False,
    )


def _mean_map(
    ax: Axes, summaries: dict[str, Any], which: str, seen: Viewport, rows: Rows
) -> Any:
    """A map whose colours mean the same beside its neighbour."""
    tables = {
        name: np.array(summary["z"], float) for name, summary in summaries.items()
    }
    low = min(float(table.min()) for table in tables.values())
    high = max(float(table.max()) for table in tables.values())
    levels = MaxNLocator(12).tick_values(low, high if high > low else low + 1)
    drawn = ax.contourf(*seen.axes, tables[which], levels=levels, cmap="cividis")
    first, second = seen.shown
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
    ax.set(xlim=seen.xlim, ylim=seen.limits)
    tidy(ax, (seen.schema.inputs[first], seen.schema.inputs[second]))
    return drawn


def _regions(ax: Axes, rules: Sequence[tuple[BoundRule, str]], seen: Viewport) -> None:
    """Where rules speak, in their own colours."""
    for bound, color in rules:
        if not bound.is_checkable:
            continue
        layer = layer_of(bound, seen)
        if layer["line"] is None:
            continue
        x, y = (np.array(layer["line"][end], float) for end in "xy")
        ax.plot(x, y, color="white", linewidth=3.6, zorder=2.5)
        label = f"“{literal(bound.name)}”: {literal(layer['label'])}"
        ax.plot(x, y, color=color, linewidth=1.8, label=label, zorder=2.6)


def _marks(rows: int) -> tuple[float, float]:
    """How large and how opaque points are."""
    if rows <= _MANY:
        return 5.5, 1.0
    return 3.5, max(0.12, (_MANY / rows) ** 0.5)


def _held(seen: Viewport) -> str:
    """Where the inputs are held that are not shown."""
    others = [
        (name, value)
        for place, (name, value) in enumerate(
            zip(seen.schema.inputs, seen.at.tolist(), strict=True)
        )
        if place not in seen.shown
    ]
    # A column of names is as many inputs as it has names, each 1 or 0.
    plain = [
        f"{n} {spell(v, digits=4 if abs(v) < 1e4 else 12)}"
        for n, v in others
        if not ("=" in n and v in (0.0, 1.0))
    ]
    named = [n.replace("=", " ") for n, v in others if "=" in n and v == 1.0]
    values = ", ".join([*plain, *named])
    return textwrap.fill(f"Others at: {literal(values)}", 110) if values else ""
