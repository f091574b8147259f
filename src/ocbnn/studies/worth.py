"""What true rules are worth, in rows of data.

Not in the paper. Twenty known functions are learned from few noisy rows: without rules,
with rules multiplied into the prior, and with the draws of the first model moved to the
nearest functions that obey the rules. All three see the same rows and are compared with
the truth.
"""

import time
import warnings
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from jaxtyping import Float

from ocbnn.errors import InferenceWarning
from ocbnn.estimators import OCBNNRegressor
from ocbnn.inference import NUTS, Plan
from ocbnn.inference.progress import ProgressReporter, SubtaskReporter, make_reporter
from ocbnn.metrics import coverage, rmse
from ocbnn.studies.base import Headline, Outcome, Request, Result, Study, finished
from ocbnn.studies.parts import Parts
from ocbnn.studies.tables import Table
from ocbnn.studies.worth_report import (
    MODELS,
    RULED,
    function_table,
    functions_figure,
    mean_figure,
    mean_table,
    rows_in_words,
)
from ocbnn.studies.worth_truths import NOISE_SHARE, TRUTHS, Truth

PLAN = NUTS(chains=2, warmup=500, draws=250, target_acceptance=0.9)
QUICK_PLAN = NUTS(chains=2, warmup=200, draws=100)
ROWS, QUICK_ROWS = (8, 15, 30, 60, 120), (8, 15)
QUICK_TRUTHS = ("dose response", "enzyme with inhibitor")
TEST_ROWS = 1000
LEVEL = 0.9
_WEIGHT_PRIOR = "learned"
# Above this, chains are usually said not to have mixed.
_MIXED = 1.05
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


class WorthStudy(Study):
    """Learning curves of known functions, with rules and without."""

    name = "worth"

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
                test=TEST_ROWS, noise=NOISE_SHARE, count=len(truths), mixed=_MIXED
            ),
            "inference": {"plan": repr(plan), "weight_prior": _WEIGHT_PRIOR},
            "rows": list(rows),
            "models": {key: summary_of(curves, rows, key) for key in MODELS},
            "functions": curves,
        }
        figures = {
            "worth": mean_figure(numbers),
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
    label = f"{truth.name}, {len(y)} rows"
    measures: dict[str, Result] = {}

    def keep(key: str, model: OCBNNRegressor, started: float) -> OCBNNRegressor:
        seconds = time.monotonic() - started
        measures[key] = {**measure(model, truth, *test), "seconds": seconds}
        return model

    def fit(key: str, rules: Sequence[str]) -> OCBNNRegressor:
        started = time.monotonic()
        model = OCBNNRegressor(
            rules=rules,
            inputs=truth.inputs,
            outputs=truth.output,
            weight_prior=_WEIGHT_PRIOR,
            inference=plan,
            random_state=seed,
            progress=SubtaskReporter(bar, f"{label}, {MODELS[key]}") if bar else False,
        )
        return keep(key, finished(model.fit(X, y)), started)

    with warnings.catch_warnings():
        # Chains disagree and rules are missed; the tables say so in numbers.
        warnings.simplefilter("ignore", InferenceWarning)
        free = fit("bnn", ())
        fit("ocbnn", truth.rules)
        started = time.monotonic()
        keep("projection", free.obey(truth.rules), started)
    return measures


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
        "rhat_max": model.verdict_.rhat_max,
    }


def summary_of(
    curves: Mapping[str, dict[str, dict[str, Result]]], rows: Sequence[int], key: str
) -> dict[str, Result]:
    """One model over all functions, at each number of rows."""
    logs = lambda model: np.log(
        [[curve[str(n)][model]["error"] for n in rows] for curve in curves.values()]
    )
    free, ours = logs("bnn"), logs(key)
    worth = rows_saved(rows, np.mean(free, 0), np.mean(ours, 0))
    summary = {}
    for column, count in enumerate(rows):
        cells = [curve[str(count)][key] for curve in curves.values()]
        mean = lambda name, cells=cells: float(np.mean([cell[name] for cell in cells]))
        ratios = ours[:, column] - free[:, column]
        summary[str(count)] = {
            "error": float(np.exp(np.mean(ours[:, column]))),
            "ratio": float(np.exp(np.mean(ratios))),
            "ratio_se": _standard_error(ratios) * float(np.exp(np.mean(ratios))),
            "better": float(np.mean(ratios < 0)),
            "worth": worth[column],
            "coverage": mean("coverage"),
            "coverage_se": _standard_error([cell["coverage"] for cell in cells]),
            "coverage_of_truth": mean("coverage_of_truth"),
            "violation": mean("violation"),
            "noise": mean("noise"),
            "mixed": float(np.mean([_has_mixed(cell["rhat_max"]) for cell in cells])),
            "seconds": mean("seconds"),
        }
    return summary


def rows_saved(
    rows: Sequence[int],
    free: Float[np.ndarray, " sizes"],
    ours: Float[np.ndarray, " sizes"],
) -> list[float | None]:
    """How many more rows the first curve needs to reach each error of the second.

    Curves are logarithms of errors, and straight between two numbers of rows on a
    logarithmic scale. None where the first curve does not reach so far.

    >>> rows_saved([10, 100], np.array([0.0, -1.0]), np.array([-1.0, -1.5]))
    [90.0, None]
    """
    # A curve that rises by chance would be read twice, so it is made to fall.
    falling = np.minimum.accumulate(free)
    saved = []
    for count, error in zip(rows, ours, strict=True):
        if not falling[-1] <= error <= falling[0]:
            saved.append(None)
            continue
        needed = np.exp(np.interp(-error, -falling, np.log(rows)))
        saved.append(round(float(needed) - count, 1))
    return saved


def _standard_error(values: Sequence[float] | np.ndarray) -> float:
    if len(values) < 2:
        return 0.0
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def _covered(lower: np.ndarray, upper: np.ndarray, values: np.ndarray) -> float:
    return coverage(lower[:, None], upper[:, None], values[:, None])


def _has_mixed(rhat: float | None) -> bool:
    return rhat is not None and rhat <= _MIXED
