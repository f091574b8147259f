"""What rules are worth on real tables, beside what people use there.

Not in the paper. Six tables are learned from few rows, with rules that domain knowledge
supports and without, and by baselines from scikit-learn. All models see the same rows
and are tested on the same other rows.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ocbnn.estimators import OCBNNClassifier, OCBNNRegressor
from ocbnn.inference import Plan
from ocbnn.inference.progress import Progress, ProgressReporter, make_reporter
from ocbnn.rules import BoundRule
from ocbnn.studies import uci
from ocbnn.studies.base import Headline, Outcome, Request, Result, Study
from ocbnn.studies.baselines import (
    BASELINES,
    class_scores,
    predict_classes,
    predict_values,
    value_scores,
)
from ocbnn.studies.tables import Table
from ocbnn.studies.worth import (
    LEVEL,
    MIXED,
    MODELS,
    PLAN,
    QUICK_PLAN,
    WEIGHT_PRIOR,
    compared,
    fit_models,
    share_mixed,
    standard_error,
)
from ocbnn.studies.worth_rules import (
    KNOWN,
    RuledTable,
    directions,
    draw_split,
    ruled_table,
    truth,
)
from ocbnn.studies.worth_tables_report import (
    numbers_table,
    table_figure,
    truth_table,
    worth_words,
)

ROWS, QUICK_ROWS = (15, 30, 60, 120), (15, 30)
SPLITS, QUICK_SPLITS = 5, 1
TEST_ROWS = 300
_REMARK = (
    "Not in the paper. Every split draws rows at random to learn from, fewer being the "
    "first of more, and tests on up to {test} others; numbers are means over {splits} "
    "splits with their standard errors. Error: RMSE in the target's unit, or log loss "
    "for classes. Log likelihood: of a test row; a Gaussian process has its own "
    "normal, and other baselines one around their prediction, as wide as their "
    "residuals in cross-validation. Ratio: error over that of the network without "
    "rules, from the same rows; geometric mean, with its standard error from the "
    "pairs. Worth: how many more rows the network without rules needs for the same "
    "error, read off its learning curve. Coverage: the share of test rows inside 90 % "
    "intervals. Broken: the share of (draw, test row) pairs at which a function breaks "
    "a rule. Mixed: the share of fits with an R-hat of at most {mixed}; projection "
    "moves the draws of the fit without rules. Monotone boosting knows with which "
    "inputs the target rises or falls, and no other rule."
)


class WorthTablesStudy(Study):
    """Learning curves of real tables: rules, no rules, and baselines."""

    name = "worth-tables"

    def __init__(
        self,
        plan: Plan | None = None,
        tables: Sequence[str] | None = None,
        rows: Sequence[int] | None = None,
        splits: int | None = None,
    ) -> None:
        self._plan, self._tables = plan, tables or tuple(KNOWN)
        self._rows, self._splits = rows, splits

    def run(self, request: Request) -> Outcome:
        """Fit every split of every table at every number of rows, with all models."""
        quick = request.quick
        plan = self._plan or (QUICK_PLAN if quick else PLAN)
        rows = self._rows or (QUICK_ROWS if quick else ROWS)
        splits = self._splits or (QUICK_SPLITS if quick else SPLITS)
        tables = [ruled_table(name) for name in self._tables]
        seeds = [request.seed + index for index in range(splits)]
        started = time.monotonic()
        with make_reporter(request.progress) as bar:
            cells = len(tables) * len(rows) * splits - request.parts.count()
            bar.begin(f"{self.name}, {cells} times {len(MODELS)} models", None)
            cell = lambda table, count, seed: request.parts.get(
                f"{table.name}, {count} rows, split {seed}",
                partial(run_cell, table, count, seed, rows, plan, bar),
            )
            curves = {
                table.name: {
                    str(count): [cell(table, count, seed) for seed in seeds]
                    for count in rows
                }
                for table in tables
            }
            bar.finish("done")
        numbers: Result = {
            "paper": {"figure": "what a rule is worth on real tables"},
            "rules": [
                f"{table.name}, {name}: {known}"
                for table in tables
                for name, known in table.known.items()
            ],
            "remark": _REMARK.format(test=TEST_ROWS, splits=splits, mixed=MIXED),
            "inference": {"plan": repr(plan), "weight_prior": WEIGHT_PRIOR},
            "rows": list(rows),
            "truth": {table.name: truth(table) for table in tables},
            "models": {
                key: {
                    name: summary_of(curve, rows, key) for name, curve in curves.items()
                }
                for key in (*MODELS, *BASELINES)
            },
            "splits": curves,
        }
        figures = {table.name: table_figure(numbers, table.name) for table in tables}
        return Outcome(numbers, figures, time.monotonic() - started)

    def tables(self, result: Result) -> list[Table]:
        """Each table's numbers, and how true the rules are."""
        numbers = [numbers_table(result, name) for name in result["splits"]]
        return [*numbers, truth_table(result)]

    def headline(self, result: Result) -> Headline:
        """Violation over all tables and numbers of rows."""
        shown = lambda key: float(
            np.mean(
                [
                    cell["violation"]
                    for curve in result["models"][key].values()
                    for cell in curve.values()
                ]
            )
        )
        return Headline(shown("bnn"), shown("ocbnn"))

    def line(self, result: Result) -> str:
        """The ratio of errors at the fewest rows, table by table."""
        rows = str(result["rows"][0])
        return f"at {rows} rows " + "; ".join(
            f"{name} {worth_words(result, name, rows)}" for name in result["splits"]
        )


def run_cell(
    table: RuledTable,
    count: int,
    seed: int,
    rows: Sequence[int],
    plan: Plan,
    bar: ProgressReporter | None = None,
) -> dict[str, Result]:
    """All models of one split at one number of rows, with the same test rows."""
    train, test = draw_split(table, seed, max(rows), TEST_ROWS, min(rows))
    train = train[:count]
    is_classes, bounds = table.classes is not None, table.bounds

    def make(rules: Sequence[str], progress: Progress) -> Any:
        kind = OCBNNClassifier if is_classes else OCBNNRegressor
        return kind(
            rules=rules,
            inputs=table.inputs,
            outputs=[table.output],
            weight_prior=WEIGHT_PRIOR,
            inference=plan,
            random_state=seed,
            progress=progress,
        )

    X, y = table.X[test], table.targets[test]
    measure: Any = measure_classes if is_classes else uci.measure
    networks = fit_models(
        make,
        table.X[train],
        table.y[train],
        table.rules,
        lambda model: measure(model, bounds, X, y),
        bar,
        f"{table.name}, {count} rows, split {seed}",
    )
    return networks | {
        name: run_baseline(name, table, train, test, seed) for name in BASELINES
    }


def measure_classes(
    model: OCBNNClassifier, bounds: list[BoundRule], X: np.ndarray, y: np.ndarray
) -> Result:
    """One classifier's numbers on test rows."""
    chosen = model.sample_functions(X, model.draws_.size).argmax(axis=-1)
    broken = [~bound.holds(X, chosen) for bound in bounds]
    violation = float(np.any(broken, axis=0).mean())
    return {**class_scores(model.predict_proba(X), y), "violation": violation}


def run_baseline(
    name: str, table: RuledTable, train: np.ndarray, test: np.ndarray, seed: int
) -> Result:
    """One baseline's numbers on test rows."""
    started = time.monotonic()
    known = table.X[train], table.targets[train], table.X[test]
    signs = directions(table)
    if table.classes is None:
        mean, sd = predict_values(name, *known, signs, seed)
        scores = value_scores(mean, sd, table.targets[test], LEVEL)
    else:
        probabilities = predict_classes(name, *known, signs, seed)
        scores = class_scores(probabilities, table.targets[test])
    return {**scores, "seconds": time.monotonic() - started}


def summary_of(
    curve: dict[str, list[dict[str, Result]]], rows: Sequence[int], key: str
) -> dict[str, Result]:
    """One model over all splits of a table, at each number of rows."""
    first, *_ = curve.values()
    error = "rmse" if "rmse" in first[0][key] else "log_loss"
    table = lambda model: [
        [split[model][error] for split in curve[str(count)]] for count in rows
    ]
    logs = lambda model: np.log(table(model)).T
    summary = {}
    for count, pair in zip(rows, compared(rows, logs("bnn"), logs(key)), strict=True):
        cells = [split[key] for split in curve[str(count)]]
        numbers: Result = {"error": error, **pair}
        for name in (name for name in cells[0] if name != "rhat_max"):
            values = [cell[name] for cell in cells]
            numbers[name] = float(np.mean(values))
            numbers[f"{name}_se"] = standard_error(values)
        if key in MODELS:
            numbers["mixed"] = share_mixed(cells)
        summary[str(count)] = numbers
    return summary
