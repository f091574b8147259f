"""Table 1: whether to treat a patient, with the rule that low pressure requires it.

Patients, not rows, are split into folds. Every fold is fitted four times: with and
without the training rows in the rule's region, and with and without the rule.
"""

import dataclasses
import time
from collections.abc import Iterator
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.model_selection import StratifiedGroupKFold

from ocbnn.datasets.clinical import ClinicalTable, clinical_windows, impute
from ocbnn.errors import DataError
from ocbnn.estimators import OCBNNClassifier
from ocbnn.inference import SVGD
from ocbnn.inference.progress import ProgressReporter, SubtaskReporter, make_reporter
from ocbnn.rules import BoundRule, Schema, bind, parse_rule
from ocbnn.studies.base import (
    Headline,
    Outcome,
    Request,
    Result,
    Study,
    finished,
    models,
    summed_up,
)
from ocbnn.studies.clinical_report import PAPER, draw_table1, tables_of
from ocbnn.studies.tables import Table

FOLDS, QUICK_FOLDS = 5, 2
ACT = "act"
_MODELS = ("bnn", "ocbnn")
_HIDDEN = (200, 200)
_BATCH = 128
Rows = Float[np.ndarray, "rows features"]


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of a preset, including everything that the paper leaves open."""

    weight_prior: Literal["fan-in", "isotropic"]
    learning_rate: float
    rule: str


_RULE = "low pressure: if mean_bp < 65 then action in {act} "
SETTINGS = {
    "paper": Settings("isotropic", 0.1, _RULE + "[sampler=like-data, weight=1]"),
    "best": Settings("fan-in", 0.01, _RULE + "[sampler=like-data, weight=50]"),
}
_REMARK = (
    "The labels say what was done: of the windows of low pressure, {share} were "
    "followed by treatment. A model that keeps the rule must disagree with the others, "
    "so accuracy is also given inside the rule's region and outside of it. F1 is that "
    "of acting. VIOL is a share of all rows; VIOL inside, of those in the rule's "
    "region. Numbers are means over folds of patients, with their standard deviation."
)


class Fold(NamedTuple):
    """The training and test rows of one fold."""

    train: tuple[Rows, np.ndarray]
    test: tuple[Rows, np.ndarray]


class ClinicalStudy(Study):
    """Table 1 of the paper, on MIMIC-III's demo or your own folder."""

    name = "table1"

    def run(self, request: Request) -> Outcome:
        """Fit every fold, with and without the rule, filtered and unfiltered."""
        table = clinical_windows(request.data)
        settings = SETTINGS[request.preset]
        plan = SVGD(
            particles=50,
            iterations=200 if request.quick else 1500,
            learning_rate=settings.learning_rate,
        )
        fold_count = QUICK_FOLDS if request.quick else FOLDS
        started = time.monotonic()
        folds: list[Result] = []
        with make_reporter(request.progress) as bar:
            fits = 4 * (fold_count - request.parts.count())
            bar.begin(f"{self.name}, {fits} fits", fits * (plan.warmup + plan.draws))
            for index in range(fold_count):
                run = partial(_run_fold, table, settings, plan, request.seed, index)
                folds.append(request.parts.get(f"fold {index + 1}", partial(run, bar)))
            bar.finish("done")
        fitted = time.monotonic() - started
        counts = _counts(table)
        numbers: Result = {
            "paper": PAPER,
            "rules": [settings.rule],
            "remark": _REMARK.format(share=f"{counts['act_in_region'] or 0:.0%}"),
            "data": counts,
            "inference": {**dataclasses.asdict(settings), "batch_size": _BATCH},
            "models": {key: summed_up([f[key] for f in folds]) for key in _MODELS},
            "splits": folds,
        }
        return Outcome(numbers, {self.name: draw_table1(numbers)}, fitted)

    def tables(self, result: Result) -> list[Table]:
        """Our scores and the paper's, and scores inside and outside the region."""
        return tables_of(result)

    def headline(self, result: Result) -> Headline:
        """Violation on test rows, with the region filtered out of training."""
        base, ours = models(result)
        violation = lambda scores: scores["filtered"]["test"]["viol"]
        return Headline(violation(base), violation(ours))

    def line(self, result: Result) -> str:
        """The filtered test numbers."""
        base, ours = (scores["filtered"]["test"] for scores in models(result))
        parts = [
            f"{label} {base[key]:.3f} -> {ours[key]:.3f}"
            for key, label in (
                ("viol", "filtered test VIOL"),
                ("acc_outside", "ACC outside the region"),
                ("f1_outside", "F1 outside"),
            )
        ]
        return ", ".join(parts)


def _run_fold(
    table: ClinicalTable,
    settings: Settings,
    plan: SVGD,
    seed: int,
    index: int,
    bar: ProgressReporter,
) -> Result:
    bound = bind(
        parse_rule(settings.rule), Schema(table.names, ("action",), (ACT, "not"))
    )
    scores: Result = {key: {} for key in _MODELS}
    for case in ("filtered", "unfiltered"):
        fold = _fold(table, bound, seed, index, is_filtered=case == "filtered")
        for key in _MODELS:
            rules = settings.rule if key == "ocbnn" else ()
            model = OCBNNClassifier(
                rules,
                inputs=table.names,
                outputs="action",
                hidden=_HIDDEN,
                activation="rbf",
                weight_prior=settings.weight_prior,
                inference=plan,
                batch_size=_BATCH,
                random_state=1000 * seed + index,
                progress=SubtaskReporter(bar, f"fold {index + 1}, {case}, {key}"),
            )
            finished(model.fit(*fold.train))
            scores[key][case] = {
                side: _scores(model.predict(X), bound, X, y)
                for side, (X, y) in zip(("train", "test"), fold, strict=True)
            }
    return scores


def _fold(
    table: ClinicalTable, bound: BoundRule, seed: int, index: int, *, is_filtered: bool
) -> Fold:
    """One fold of patients, balanced on both sides; the test rows are the same."""
    train, test = list(_patient_folds(table, seed))[index]
    rng = np.random.default_rng([seed, index])
    test = test[_balanced(table.y[test], rng)]
    if is_filtered:
        train = train[~bound.applies(table.X[train])]
    train = train[_balanced(table.y[train], rng)]
    X, test_X = impute(table.X[train], table.X[test])
    return Fold((X, table.y[train]), (test_X, table.y[test]))


def _patient_folds(
    table: ClinicalTable, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    patients = len(np.unique(table.subjects))
    if patients < FOLDS:
        raise DataError(
            f"table1 splits patients into {FOLDS} folds, but the table has "
            f"{patients} patients. Read more of MIMIC-III."
        )
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
    yield from folds.split(table.X, table.y, table.subjects)


def _balanced(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As many rows of one class as of the other, as many as possible."""
    groups = [np.flatnonzero(y == ACT), np.flatnonzero(y != ACT)]
    count = min(map(len, groups))
    if count == 0:
        raise DataError(
            "a fold of patients has a single class, so it cannot be balanced. "
            "Read more of MIMIC-III, or choose another seed."
        )
    chosen = [rng.choice(group, count, replace=False) for group in groups]
    return np.sort(np.concatenate(chosen))


def _scores(predicted: np.ndarray, bound: BoundRule, X: Rows, y: np.ndarray) -> Result:
    inside = bound.applies(X)
    violated = inside & (predicted != ACT)
    correct = predicted == y
    share = lambda values: float(np.mean(values)) if len(values) else None
    return {
        "acc": share(correct),
        "f1": _f1(predicted, y),
        # Without rows in the region there is nothing to violate.
        "viol": share(violated) if inside.any() else None,
        "viol_inside": share(violated[inside]),
        "acc_inside": share(correct[inside]),
        "acc_outside": share(correct[~inside]),
        "f1_outside": _f1(predicted[~inside], y[~inside]),
        "rows": len(y),
        "rows_inside": int(inside.sum()),
    }


def _f1(predicted: np.ndarray, y: np.ndarray) -> float | None:
    """F1 of acting; None if nothing was done and nothing predicted."""
    both = int(np.sum((predicted == ACT) & (y == ACT)))
    either = int(np.sum(predicted == ACT) + np.sum(y == ACT))
    return 2 * both / either if either else None


def _counts(table: ClinicalTable) -> Result:
    low = table.X[:, table.names.index("mean_bp")] < 65
    acted = table.y == ACT
    return {
        "rows": len(acted),
        "patients": len(np.unique(table.subjects)),
        "act": float(acted.mean()),
        "in_region": float(low.mean()),
        "act_in_region": float(acted[low].mean()) if low.any() else None,
    }
