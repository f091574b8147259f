"""The tables and figures of the study `worth-tables`."""

import numpy as np
from matplotlib.figure import Figure

from ocbnn.plots import style
from ocbnn.studies.base import Result
from ocbnn.studies.baselines import BASELINES
from ocbnn.studies.learning_curves import LOOKS, draw_curve, scale_axes
from ocbnn.studies.tables import NONE, Table, number
from ocbnn.studies.worth import MODELS, RULED, rows_in_words

_ALL = {**MODELS, **BASELINES}
_ERRORS = {"rmse": "RMSE", "log_loss": "log loss"}
# How far curves stand apart, as a share of the rows, so that their bars show.
_APART = 0.02
_OURS = {"linewidth": 1.8, "markersize": 5, "zorder": 3}
_THEIRS = {"linewidth": 1.1, "markersize": 4, "zorder": 2}


def worth_words(result: Result, name: str, rows: str) -> str:
    """Both ratios of errors for one table."""
    cells = [result["models"][key][name][rows] for key in RULED]
    return " / ".join(f"{cell['ratio']:.2f}" for cell in cells)


def numbers_table(result: Result, name: str) -> Table:
    """One table's numbers for every number of rows and every model."""
    first = result["models"]["bnn"][name][str(result["rows"][0])]
    other = "accuracy" if first["error"] == "log_loss" else "log_likelihood"
    heads = (
        "rows",
        "model",
        _ERRORS[first["error"]],
        "ratio",
        "worth, rows",
        other.replace("_", " "),
        "coverage, %",
        "broken, %",
        "mixed, %",
        "seconds",
    )
    rows = []
    for count in map(str, result["rows"]):
        for key, label in _ALL.items():
            cell = result["models"][key][name][count]
            rows.append(
                (
                    count,
                    label,
                    _with_error(cell, cell["error"], 3),
                    NONE if key == "bnn" else _with_error(cell, "ratio", 2),
                    rows_in_words(cell) if key in RULED else NONE,
                    _with_error(cell, other, 3),
                    _percent(cell, "coverage"),
                    _percent(cell, "violation"),
                    _percent(cell, "mixed"),
                    number(cell["seconds"], 1),
                )
            )
    splits = len(result["splits"][name][str(result["rows"][0])])
    caption = f"{name}: mean ± standard error over {splits} splits"
    return Table(caption, heads, tuple(rows))


def truth_table(result: Result) -> Table:
    """How far each rule agrees with its whole table."""
    rows = tuple(
        (
            f"{name}: {rule}",
            f"{cell['count']} {cell['compared']}",
            number(None if cell["share"] is None else 100 * cell["share"], 1),
        )
        for name, rules in result["truth"].items()
        for rule, cell in rules.items()
    )
    caption = (
        "How true the rules are on the whole table: rows in the region that agree, or "
        "pairs of rows that differ in the rule's input alone"
    )
    return Table(caption, ("rule", "compared", "agree, %"), rows)


def table_figure(result: Result, name: str) -> Figure:
    """Learning curves of all models, with standard errors."""
    fig = style.figure(5.4, 4.0)
    ax = fig.add_subplot()
    rows = np.array(result["rows"], float)
    error = result["models"]["bnn"][name][str(result["rows"][0])]["error"]
    for place, (key, label) in enumerate(_ALL.items()):
        cells = [result["models"][key][name][str(n)] for n in result["rows"]]
        at = rows * (1 + _APART) ** (place - len(_ALL) // 2)
        means, spread = (
            np.array([c[k] for c in cells]) for k in (error, f"{error}_se")
        )
        # Baselines stand behind.
        look = _OURS if key in MODELS else _THEIRS
        draw_curve(ax, key, label, at, means, **look)
        ax.vlines(at, means - spread, means + spread, color=LOOKS[key]["color"],
                  linewidth=1, zorder=look["zorder"])  # fmt: skip
    scale_axes(ax, result["rows"])
    style.tidy(ax, ("rows of data", f"{name}: {_ERRORS[error]} on test rows"))
    style.legend(ax)
    return fig


def _with_error(cell: Result, key: str, digits: int) -> str:
    return f"{number(cell[key], digits)} ± {number(cell[f'{key}_se'], digits)}"


def _percent(cell: Result, key: str) -> str:
    return number(100 * cell[key] if key in cell else None, 1)
