"""Table 2 and Figure 3 as studies, with the paper's numbers."""

from pathlib import Path

from ocbnn.studies.base import Headline, Outcome, Request, Result, Study, models
from ocbnn.studies.motion import run_table2
from ocbnn.studies.motion_figures import run_fig3
from ocbnn.studies.tables import Table, number, spread

_HEADS = ("", "BNN, train", "OC-BNN, train", "BNN, test", "OC-BNN, test")
_COLUMNS = tuple((side, key) for side in ("train", "test") for key in ("bnn", "ocbnn"))
# Label, key, decimal places, and factor.
_PAPER_ROWS = (
    ("RMSE [10⁻³ rad]", "rmse", 3, 1e3),
    ("HO-LL", "ho_ll", 1, 1.0),
    ("PP-VIOL [%]", "pp_viol", 3, 1.0),
)
_MORE_ROWS = (
    ("HO-LL per state", "ho_ll_per_state", 3, 1.0),
    ("log score", "log_score", 1, 1.0),
    ("functions outside [%]", "f_viol", 3, 1.0),
    ("states", "states", 0, 1.0),
)


class _Motion(Study):
    """The summary of test numbers that the table and the figure share."""

    def headline(self, result: Result) -> Headline:
        """Predictive mass outside the limits on test states, as a share."""
        base, ours = (numbers["test"]["pp_viol"] / 100 for numbers in models(result))
        return Headline(base, ours)

    def line(self, result: Result) -> str:
        """The test numbers."""
        base, ours = (numbers["test"] for numbers in models(result))
        return (
            f"test PP-VIOL {base['pp_viol']:.3g} % -> {ours['pp_viol']:.3g} %, "
            f"RMSE {base['rmse']:.4f} -> {ours['rmse']:.4f} rad, "
            f"HO-LL {base['ho_ll']:.0f} -> {ours['ho_ll']:.0f}"
        )


class MotionTable(_Motion):
    """Table 2 of the paper, on CMU's reaches or Kratzer's recordings."""

    name = "table2"

    def run(self, request: Request) -> Outcome:
        """Fit both models on every split."""
        numbers = run_table2(*_arguments(request))
        fitted = numbers.pop("seconds")["fit"]
        return Outcome(numbers, {}, fitted)

    def tables(self, result: Result) -> list[Table]:
        """Ours over splits, and the paper's."""
        ours = "table2, ours: mean ± standard deviation over splits"
        return [
            _table(ours, result["models"], (*_PAPER_ROWS, *_MORE_ROWS)),
            _table("The paper's", result["paper"]["models"], _PAPER_ROWS),
        ]


class MotionFigure(_Motion):
    """Figure 3 of the paper, and a whole reach."""

    name = "fig3"

    def run(self, request: Request) -> Outcome:
        """Fit both models on the first split, and draw their predictions."""
        numbers, figures = run_fig3(*_arguments(request))
        fitted = numbers.pop("seconds")["fit"]
        return Outcome(numbers, figures, fitted)

    def tables(self, result: Result) -> list[Table]:
        """The predictions of both models at the five points."""
        base, ours = models(result)
        rows = tuple(
            (
                str(frame),
                number(truth, 3),
                *(
                    text
                    for numbers in (base, ours)
                    for text in (
                        f"{numbers['mean'][i]:.3f} ± {numbers['sd'][i]:.3f}",
                        number(numbers["outside"][i], 3),
                    )
                ),
            )
            for i, (frame, truth) in enumerate(
                zip(result["frames"], result["truth"], strict=True)
            )
        )
        low, high = result["limits"]
        heads = ("frame", "truth", "BNN", "outside [%]", "OC-BNN", "outside [%]")
        caption = (
            f"{result['joint']} in radians, mean ± standard deviation of an "
            f"observation; limits {low:.3f} to {high:.3f}"
        )
        return [Table(caption, heads, rows)]


def _table(
    caption: str, numbers: Result, wanted: tuple[tuple[str, str, int, float], ...]
) -> Table:
    rows = tuple(
        (
            label,
            *(
                spread(numbers[model][side], key, digits, scale)
                for side, model in _COLUMNS
            ),
        )
        for label, key, digits, scale in wanted
    )
    return Table(caption, _HEADS, rows)


def _arguments(request: Request) -> tuple[str, int, bool, object, Path | None]:
    return (
        request.preset,
        request.seed,
        request.quick,
        request.progress,
        request.data,
    )
