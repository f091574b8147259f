"""Table 1 for people: our scores, the paper's, and a figure."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ocbnn.plots.style import BASELINE, CONSTRAINED, SMALL, TEXT, figure, tidy
from ocbnn.studies.base import Result
from ocbnn.studies.tables import Table, number, spread

CASES = ("filtered", "unfiltered")
_SCORES = ("acc", "f1", "viol")
_HEADS = ("BNN, {}", "OC-BNN, {}")


def _printed(train: tuple[Any, ...], test: tuple[Any, ...]) -> Result:
    sides = {"train": train, "test": test}
    return {k: dict(zip(_SCORES, v, strict=True)) for k, v in sides.items()}


# Yang et al. (2019), Table 1. "first" and "second" are its pairs of columns.
_FIRST = {
    "bnn": _printed((0.745, 0.805, 0.151), (0.660, 0.746, 0.132)),
    "ocbnn": _printed((0.741, 0.801, 0.149), (0.665, 0.748, 0.126)),
}
_SECOND = {
    "bnn": _printed((0.881, 0.882, None), (0.647, 0.725, 0.117)),
    "ocbnn": _printed((0.878, 0.880, None), (0.649, 0.736, 0.039)),
}
PAPER: Result = {
    "figure": "Table 1",
    "claim": "the rule cuts its violations threefold when no training row shows what "
    "happens at low pressure, at no cost in accuracy",
    "as_printed": {
        key: {"filtered": _FIRST[key], "unfiltered": _SECOND[key]} for key in _FIRST
    },
    "as_described": {
        key: {"filtered": _SECOND[key], "unfiltered": _FIRST[key]} for key in _FIRST
    },
}


def tables_of(result: Result) -> list[Table]:
    """Four tables: ours, inside and outside the region, and the paper's twice."""
    ours, paper = result["models"], result["paper"]
    return [
        _scores(ours, "table1, ours: mean ± standard deviation over folds"),
        _sides(result),
        _scores(
            paper["as_described"],
            "The paper's, columns as its text and caption describe them",
        ),
        _scores(paper["as_printed"], "The paper's, columns as its table prints them"),
    ]


def _columns() -> list[tuple[str, str]]:
    return [(case, model) for case in CASES for model in ("bnn", "ocbnn")]


def _heads() -> tuple[str, ...]:
    return tuple(head.format(case) for case in CASES for head in _HEADS)


def _scores(numbers: Result, caption: str) -> Table:
    rows = tuple(
        (
            f"{side} {score.upper()}",
            *(spread(numbers[m][c][side], score, 3) for c, m in _columns()),
        )
        for side in ("train", "test")
        for score in _SCORES
    )
    return Table(caption, ("", *_heads()), rows)


def _sides(result: Result) -> Table:
    rows_shown = {
        "viol_inside": "VIOL inside",
        "acc_inside": "ACC inside",
        "acc_outside": "ACC outside",
        "f1_outside": "F1 outside",
    }
    test = {(c, m): result["models"][m][c]["test"] for c, m in _columns()}
    rows = [
        (label, *(spread(test[column], key, 3) for column in _columns()))
        for key, label in rows_shown.items()
    ]
    counts = ("rows inside, of all", *(_rows_inside(test[c]) for c in _columns()))
    return Table(
        "Test rows inside the rule's region (mean_bp < 65) and outside of it",
        ("", *_heads()),
        (*rows, counts),
    )


def _rows_inside(numbers: Result) -> str:
    return f"{number(numbers['rows_inside'], 0)} of {number(numbers['rows'], 0)}"


def draw_table1(result: Result) -> Figure:
    """Every fold's violation and scores, with the rule and without."""
    fig = figure(8.4, 3.8)
    left, right = fig.subplots(1, 2)
    panels: list[tuple[Axes, dict[str, tuple[str, str]]]] = [
        (
            left,
            {
                "region rows\nfiltered out": ("filtered", "viol"),
                "region rows\nkept": ("unfiltered", "viol"),
            },
        ),
        (
            right,
            {
                "accuracy\noutside": ("filtered", "acc_outside"),
                "F1\noutside": ("filtered", "f1_outside"),
                "accuracy\ninside": ("filtered", "acc_inside"),
            },
        ),
    ]
    for ax, wanted in panels:
        _dots(ax, result, wanted)
    left.set_ylabel("share of test predictions", fontsize=TEXT)
    left.set_ylim(bottom=-0.005)
    left.set_title("Predictions that break the rule", fontsize=TEXT)
    right.set_ylabel("score on test rows", fontsize=TEXT)
    right.set_title("Scores by side of the rule, region filtered out", fontsize=TEXT)
    fig.legend(
        handles=left.get_legend_handles_labels()[0],
        loc="outside lower center",
        ncols=2,
        fontsize=SMALL,
        frameon=False,
    )
    return fig


def _dots(ax: Axes, result: Result, labels: dict[str, tuple[str, str]]) -> None:
    looks = ((-0.12, "bnn", "s", BASELINE), (0.12, "ocbnn", "o", CONSTRAINED))
    for shift, key, marker, look in looks:
        values = np.array(
            [
                [split[key][case]["test"][score] for split in result["splits"]]
                for case, score in labels.values()
            ],
            float,
        )
        at = np.arange(len(labels)) + shift
        side = np.broadcast_to(at[:, None], values.shape)
        color = look["color"]
        folds = ax.plot(side, values, marker, ms=4, alpha=0.7, color=color)
        folds[0].set_label(f"{look['label']}: every fold, and their mean")
        ax.errorbar(
            at, values.mean(axis=1), xerr=0.09, fmt="none", elinewidth=2.5, ecolor=color
        )
    ax.set_xticks(range(len(labels)), list(labels))
    ax.set_xlim(-0.5, len(labels) - 0.5)
    tidy(ax, ("", ""))
