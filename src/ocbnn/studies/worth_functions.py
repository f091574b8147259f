"""What true rules are worth, in rows of data.

Not in the paper. Twenty known functions are learned from few noisy rows: without rules,
with rules multiplied into the prior, and with the draws of the first model moved to the
nearest functions that obey the rules. All three see the same rows and are compared with
the truth.
"""

import time
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ocbnn.estimators import OCBNNRegressor
from ocbnn.inference import Plan
from ocbnn.inference.progress import Progress, ProgressReporter, make_reporter
from ocbnn.metrics import coverage, rmse
from ocbnn.studies.base import Headline, Outcome, Request, Result, Study
from ocbnn.studies.parts import Parts
from ocbnn.studies.tables import Table
from ocbnn.studies.worth import (
    LEVEL,
    MIXED,
    MODELS,
    PLAN,
    QUICK_PLAN,
    RULED,
    WEIGHT_PRIOR,
    compared,
    fit_models,
    rows_in_words,
    share_mixed,
    standard_error,
)
from ocbnn.studies.worth_functions_report import (
    function_table,
    functions_figure,
    mean_figure,
    mean_table,
)
from ocbnn.studies.worth_truths import NOISE_SHARE, TRUTHS, Truth

ROWS, QUICK_ROWS = (8, 15, 30, 60, 120), (8, 15)
QUICK_TRUTHS = ("dose response", "enzyme with inhibitor")
TEST_ROWS = 1000
_REMARK = (
    "Not in the paper. Error: root mean squared distance of the prediction from the "
    "true function at {test:,} fresh inputs, as a share of the function's standard "
    "deviation. Every observation has noise of {noise:.0%} of that. Ratio: error with "
    "rules over error without, from the same rows; the geometric mean over {count} "
    "functions, with its standard error from the pairs. Worth: how many more rows the "
    "model without rules needs for the same error, read off the mean of its learning "
    "curve. Coverage: the share of new observations inside 90 % intervals. Broken: the "
    "share of (draw, point) pairs that violate a rule, the mean over rules. Mixed: the "
    "share of fits with an R-hat of at most {mixed}; projection moves the draws of the "
    "fit without rules."
)


class WorthFunctionsStudy(Study):
    """Learning curves of known functions, with rules and without."""

    name = "worth-functions"

    def __init__(
        self,
        plan: Plan | None = None,
        truths: Mapping[str, Truth] | None = None,
        rows: Sequence[int] | None = None,
    ) -> None:
        self._plan, self._truths, self._rows = plan, truths, rows

    def run(self, request: Request) -> Outcome:
        """Fit every function at every number of rows, three times."""
        quick = request.quick
        plan = self._plan or (QUICK_PLAN if quick else PLAN)
        rows = self._rows or (QUICK_ROWS if quick else ROWS)
        truths = self._truths or (
            {name: TRUTHS[name] for name in QUICK_TRUTHS} if quick else TRUTHS
        )
        started = time.monotonic()
        with make_reporter(request.progress) as bar:
            bar.begin(f"{self.name}, {len(truths)} functions", None)
            curves = {
                name: run_truth(truth, request.seed, rows, plan, bar, request.parts)
                for name, truth in truths.items()
            }
            bar.finish("done")
        numbers: Result = {
            "paper": {"figure": "what a rule is worth"},
            "rules": [f"{name}: {r}" for name, t in truths.items() for r in t.claims],
            "remark": _REMARK.format(
                test=TEST_ROWS, noise=NOISE_SHARE, count=len(truths), mixed=MIXED
            ),
            "inference": {"plan": repr(plan), "weight_prior": WEIGHT_PRIOR},
            "rows": list(rows),
            "models": {key: summary_of(curves, rows, key) for key in MODELS},
            "functions": curves,
        }
        figures = {
            "means": mean_figure(numbers),
            "functions": functions_figure(numbers),
        }
        return Outcome(numbers, figures, time.monotonic() - started)

    def tables(self, result: Result) -> list[Table]:
        """Means over functions, and each function's own errors."""
        return [mean_table(result), function_table(result)]

    def headline(self, result: Result) -> Headline:
        """Violation over all functions and numbers of rows."""
        shown = lambda key: float(
            np.mean([cell["violation"] for cell in result["models"][key].values()])
        )
        return Headline(shown("bnn"), shown("ocbnn"))

    def line(self, result: Result) -> str:
        """The ratio of errors at the fewest rows, and what that is worth."""
        rows = str(result["rows"][0])
        return f"at {rows} rows " + "; ".join(
            f"{MODELS[key]} {cell['ratio']:.2f} of the error, "
            f"worth {rows_in_words(cell)} rows"
            for key in RULED
            for cell in [result["models"][key][rows]]
        )


def run_truth(
    truth: Truth,
    seed: int,
    rows: Sequence[int],
    plan: Plan,
    bar: ProgressReporter | None = None,
    parts: Parts | None = None,
) -> dict[str, dict[str, Result]]:
    """All models of one function; fewer rows are the first of more."""
    parts = parts or Parts()
    # From its name, so that a function's rows do not depend on which others are run.
    rng = np.random.default_rng([seed, *truth.name.encode()])
    X, y = truth.draw_rows(rng, max(rows))
    test = truth.draw_rows(rng, TEST_ROWS)
    run = lambda n: partial(_run_rows, truth, seed, X[:n], y[:n], test, plan, bar)
    return {
        str(count): parts.get(f"{truth.name}, {count} rows", run(count))
        for count in rows
    }


def _run_rows(
    truth: Truth,
    seed: int,
    X: np.ndarray,
    y: np.ndarray,
    test: tuple[np.ndarray, np.ndarray],
    plan: Plan,
    bar: ProgressReporter | None,
) -> dict[str, Result]:
    def make(rules: Sequence[str], progress: Progress) -> OCBNNRegressor:
        return OCBNNRegressor(
            rules=rules,
            inputs=truth.inputs,
            outputs=truth.output,
            weight_prior=WEIGHT_PRIOR,
            inference=plan,
            random_state=seed,
            progress=progress,
        )

    label = f"{truth.name}, {len(y)} rows"
    score = lambda model: measure(model, truth, *test)
    return fit_models(make, X, y, truth.rules, score, bar, label)


def measure(
    model: OCBNNRegressor, truth: Truth, X: np.ndarray, y: np.ndarray
) -> Result:
    """One model's numbers, at inputs and observations that it has not seen."""
    lower, upper = model.predict_interval(X, LEVEL)
    inside = model.predict_interval(X, LEVEL, observation=False)
    checks = model.check_rules(rules=truth.rules)
    noise = model.noise_
    return {
        "error": rmse(model.predict(X), truth(X)) / truth.spread,
        "coverage": _covered(lower, upper, y),
        "coverage_of_truth": _covered(*inside, truth(X)),
        "violation": float(np.mean([check.violation for check in checks])),
        "noise": None
        if noise is None
        else float(np.mean(noise) / (NOISE_SHARE * truth.spread)),
    }


def summary_of(
    curves: Mapping[str, dict[str, dict[str, Result]]], rows: Sequence[int], key: str
) -> dict[str, Result]:
    """One model over all functions, at each number of rows."""
    logs = lambda model: np.log(
        [[curve[str(n)][model]["error"] for n in rows] for curve in curves.values()]
    )
    ours = logs(key)
    summary = {}
    for column, (count, pairs) in enumerate(
        zip(rows, compared(rows, logs("bnn"), ours), strict=True)
    ):
        cells = [curve[str(count)][key] for curve in curves.values()]
        mean = lambda name, cells=cells: float(np.mean([cell[name] for cell in cells]))
        summary[str(count)] = {
            "error": float(np.exp(np.mean(ours[:, column]))),
            **pairs,
            "coverage": mean("coverage"),
            "coverage_se": standard_error([cell["coverage"] for cell in cells]),
            "coverage_of_truth": mean("coverage_of_truth"),
            "violation": mean("violation"),
            "noise": mean("noise"),
            "mixed": share_mixed(cells),
            "seconds": mean("seconds"),
        }
    return summary


def _covered(lower: np.ndarray, upper: np.ndarray, values: np.ndarray) -> float:
    return coverage(lower[:, None], upper[:, None], values[:, None])
