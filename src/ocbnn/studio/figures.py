"""The figure that a person takes away: the same view, with rules and without."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import softmax

from ocbnn import plots
from ocbnn.plots.style import HUES, tidy
from ocbnn.projects.columns import Rows
from ocbnn.studio.window import Window

_DRAWS, _SHOWN = 400, 12
_TITLES = {"with": "with rules", "without": "without rules"}


def draw(models: dict[str, Any], seen: Window, rows: Rows) -> Figure:
    """One picture for each fitted model."""
    fig = plots.figure(4.6 * len(models), 3.6)
    axes = fig.subplots(1, len(models), squeeze=False)[0]
    for ax, (which, model) in zip(axes, models.items(), strict=True):
        _draw(ax, which, model, seen, rows)
        ax.set_title(_TITLES[which], fontsize=9)
    return fig


def _draw(ax: Axes, which: str, model: Any, seen: Window, rows: Rows) -> None:
    X = seen.inputs
    values = model.sample_functions(X, _DRAWS)
    values = values.reshape(len(values), len(X), -1)
    names = [seen.schema.inputs[index] for index in seen.shown]
    if seen.schema.classes is not None:
        chances = softmax(values, axis=-1).mean(axis=0)
        if seen.is_map:
            _class_map(ax, chances, seen, rows, model)
        else:
            _class_lines(ax, chances, seen)
        return
    output = seen.schema.outputs[seen.output]
    if seen.is_map:
        _mean_map(ax, values[..., seen.output], seen)
        tidy(ax, (names[0], names[1]))
        return
    look = plots.CONSTRAINED if which == "with" else plots.BASELINE
    plots.regression(
        ax,
        seen.axes[0],
        values[..., seen.output],
        X=rows.X[:, seen.shown[0]],
        y=rows.y[:, seen.output].astype(float),
        rules=model.rules_,
        shown=_SHOWN,
        names=(names[0], output),
        input=seen.shown[0],
        output=seen.output,
        at=seen.at,
        **{**look, "label": _TITLES[which]},
    )
    ax.set(xlim=seen.xlim, ylim=seen.limits)


def _class_map(
    ax: Axes, chances: np.ndarray, seen: Window, rows: Rows, model: Any
) -> None:
    table = chances.reshape(len(seen.axes[1]), len(seen.axes[0]), -1)
    first, second = seen.shown
    plots.class_map(
        ax,
        seen.axes[0],
        seen.axes[1],
        table,
        classes=seen.schema.classes or (),
        X=rows.X[:, [first, second]],
        y=rows.y,
        rules=model.rules_,
        names=(seen.schema.inputs[first], seen.schema.inputs[second]),
        inputs=(first, second),
        at=seen.at,
    )


def _class_lines(ax: Axes, chances: np.ndarray, seen: Window) -> None:
    classes = seen.schema.classes or ()
    for number, (label, line) in enumerate(zip(classes, chances.T, strict=True)):
        color = HUES[number % len(HUES)]
        ax.plot(seen.axes[0], line, color=color, label=str(label))
    ax.set(xlim=seen.xlim, ylim=(0, 1))
    tidy(ax, (seen.schema.inputs[seen.shown[0]], "probability"))
    plots.legend(ax)


def _mean_map(ax: Axes, values: np.ndarray, seen: Window) -> None:
    table = values.mean(axis=0).reshape(len(seen.axes[1]), len(seen.axes[0]))
    drawn = ax.contourf(seen.axes[0], seen.axes[1], table, levels=12, cmap="cividis")
    ax.figure.colorbar(drawn, ax=ax, label=seen.schema.outputs[seen.output])
