"""The tables and figures of the study `worth-functions`."""

import numpy as np
from matplotlib.figure import Figure

from ocbnn.plots import style
from ocbnn.studies.base import Result
from ocbnn.studies.learning_curves import draw_curve, scale_axes
from ocbnn.studies.tables import Table, number
from ocbnn.studies.worth import MODELS, RULED, rows_in_words


def mean_table(result: Result) -> Table:
    """Means over functions, at each number of rows."""
    heads = (
        "rows",
        "model",
        "error",
        "ratio",
        "better, %",
        "worth, rows",
        "coverage, %",
        "broken, %",
        "noise / true",
        "mixed, %",
        "seconds",
    )
    rows = []
    for count in map(str, result["rows"]):
        for key, label in MODELS.items():
            cell, has_rules = result["models"][key][count], key in RULED
            ratio = f"{cell['ratio']:.2f} ± {cell['ratio_se']:.2f}"
            rows.append(
                (
                    count,
                    label,
                    number(cell["error"], 3),
                    ratio if has_rules else number(None),
                    number(100 * cell["better"] if has_rules else None, 0),
                    rows_in_words(cell) if has_rules else number(None),
                    f"{100 * cell['coverage']:.1f} ± {100 * cell['coverage_se']:.1f}",
                    number(100 * cell["violation"], 2),
                    number(cell["noise"], 2),
                    number(100 * cell["mixed"], 0),
                    number(cell["seconds"], 0),
                )
            )
    caption = f"What rules are worth: means over {len(result['functions'])} functions"
    return Table(caption, heads, tuple(rows))


def function_table(result: Result) -> Table:
    """Each function's own errors."""
    heads = ("function", *(f"{n} rows" for n in result["rows"]))
    rows = tuple(
        (
            name,
            *(
                " / ".join(number(cell[key]["error"], 3) for key in MODELS)
                for cell in curve.values()
            ),
        )
        for name, curve in result["functions"].items()
    )
    return Table(f"Errors: {' / '.join(MODELS.values())}", heads, rows)


def mean_figure(result: Result) -> Figure:
    """Mean learning curves."""
    fig = style.figure(5.4, 3.8)
    ax = fig.add_subplot()
    for key, label in MODELS.items():
        errors = [result["models"][key][str(n)]["error"] for n in result["rows"]]
        draw_curve(ax, key, label, result["rows"], errors)
    scale_axes(ax, result["rows"])
    count = len(result["functions"])
    style.tidy(ax, ("rows of data", f"error / spread, mean of {count} functions"))
    style.legend(ax)
    return fig


def functions_figure(result: Result) -> Figure:
    """Every function's own learning curves."""
    curves = result["functions"]
    across = min(5, len(curves))
    down = -(-len(curves) // across)
    fig = style.figure(2.1 * across + 0.6, 1.8 * down + 0.6)
    axes = np.atleast_2d(fig.subplots(down, across, sharex=True, squeeze=False))
    for ax in axes.flat[len(curves) :]:
        ax.set_visible(False)
    for ax, (name, curve) in zip(axes.flat, curves.items(), strict=False):
        for key, label in MODELS.items():
            errors = [curve[str(n)][key]["error"] for n in result["rows"]]
            draw_curve(ax, key, label, result["rows"], errors, markersize=3)
        scale_axes(ax, result["rows"])
        ax.set_title(name, fontsize=style.SMALL)
        style.tidy(ax, (" ", " "))
    fig.supxlabel("rows of data", fontsize=style.TEXT)
    fig.supylabel("error / spread", fontsize=style.TEXT)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    fig.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=3,
        fontsize=style.SMALL,
        frameon=False,
    )
    return fig
