"""Every algorithm on every small problem: accuracy and cost.

Not in the paper, which says that any black-box inference will do. This study shows
which ones do, on the six synthetic problems and on two tables of the UCI repository.
"""

import dataclasses
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ocbnn.datasets.uci import split, uci
from ocbnn.estimators import OCBNNRegressor
from ocbnn.inference import (
    HMC,
    MCLMC,
    NUTS,
    SGHMC,
    SGLD,
    SMC,
    SVGD,
    VI,
    AdjustedMCLMC,
    Ensemble,
    Laplace,
    Plan,
    WarmStart,
)
from ocbnn.inference.progress import ProgressReporter, SubtaskReporter, make_reporter
from ocbnn.metrics import mean_log_likelihood
from ocbnn.studies import uci as tables
from ocbnn.studies.base import Headline, Outcome, Request, Result, Study, summed_up
from ocbnn.studies.measures import measure, view_grid
from ocbnn.studies.tables import Table, number, spread
from ocbnn.studies.toy_runs import Model, fit_toy
from ocbnn.studies.toys import TOYS, Toy, smaller

# One list for networks of about thirty weights, where moves are cheap, and one for
# about five hundred weights and a thousand rows.
_DESCENTS: dict[str, Plan] = {
    "SVGD": SVGD(particles=75, iterations=1000, learning_rate=0.5),
    "annealed SVGD": SVGD(particles=75, iterations=3000, learning_rate=0.5, cycles=5),
    "VI": VI(iterations=5000),
    "Laplace, all weights": Laplace(over="all"),
    "Laplace, last layer": Laplace(over="last"),
    "Ensemble": Ensemble(members=20),
}
SMALL: dict[str, Plan] = {
    "NUTS": NUTS(warmup=1000, draws=1000),
    "HMC, adapted": HMC(adapt=True, jitter=True, warmup=1000, draws=1000),
    "AdjustedMCLMC": AdjustedMCLMC(warmup=1000, draws=1000),
    "SMC": SMC(particles=400, moves=2, steps=100, polish=10),
    "MCLMC": MCLMC(warmup=3000, draws=1000, thin=20),
    "NUTS from an ensemble": WarmStart(
        sampler=NUTS(chains=8, warmup=500, draws=500), iterations=1000
    ),
    "MCLMC from an ensemble": WarmStart(
        sampler=MCLMC(chains=8, warmup=2000, draws=500, thin=20), iterations=1000
    ),
    "SGLD": SGLD(warmup=3000, draws=1000, thin=20),
    "SGHMC": SGHMC(warmup=3000, draws=1000, thin=20),
    **_DESCENTS,
}
LARGE: dict[str, Plan] = {
    "NUTS": NUTS(warmup=300, draws=100, max_depth=7),
    "HMC, adapted": HMC(adapt=True, jitter=True, warmup=300, draws=100, steps=100),
    "AdjustedMCLMC": AdjustedMCLMC(warmup=300, draws=100, max_steps=200),
    "SMC": SMC(particles=100, moves=1, steps=20, polish=2),
    "MCLMC": MCLMC(warmup=5000, draws=100, thin=20),
    "NUTS from an ensemble": WarmStart(
        sampler=NUTS(chains=8, warmup=200, draws=50, max_depth=7)
    ),
    "MCLMC from an ensemble": WarmStart(
        sampler=MCLMC(chains=8, warmup=2000, draws=100, thin=20)
    ),
    "SGLD": SGLD(warmup=5000, draws=100, thin=20),
    "SGHMC": SGHMC(warmup=5000, draws=100, thin=20),
    **_DESCENTS,
}
TABLES = ("yacht", "concrete")
SPLITS = 3
_REMARK = (
    "Not in the paper. All fits have the rules. Violation is the share of (draw, "
    "input) pairs at which a function breaks a rule. Seconds include compilation. ESS "
    "is the least effective sample size of the function's values, for algorithms "
    "whose draws form chains; a population or a fitted density has none. Synthetic "
    "problems have no rows to spare, so errors and log likelihoods are those of the "
    "training rows, and `spread` is the functions' standard deviation over the "
    "figure relative to that of the study's best inference: 1 is right, less is "
    "overconfident. The tables train on nine tenths of their rows and test on the "
    "rest, with one noise for all inputs."
)
_SCORES = ("rmse", "log_likelihood")
_HEADS = {
    "rmse": ("RMSE", 3),
    "accuracy": ("accuracy", 3),
    "log_likelihood": ("log likelihood", 3),
    "spread": ("spread", 2),
    "coverage": ("coverage of 90 %", 3),
    "violation": ("violation", 4),
    "rhat_max": ("R-hat", 2),
    "seconds": ("seconds", 1),
    "ess_per_second": ("ESS per second", 2),
}


class AlgorithmStudy(Study):
    """One table for each problem, one row for each algorithm."""

    name = "algorithms"

    def __init__(
        self, small: Mapping[str, Plan] = SMALL, large: Mapping[str, Plan] = LARGE
    ) -> None:
        self._small, self._large = small, large

    def run(self, request: Request) -> Outcome:
        """Fit every problem with every algorithm."""
        started = time.monotonic()
        quiet = dataclasses.replace(request, progress=False)
        count = 1 if request.quick else SPLITS
        problems: Result = {}
        with make_reporter(request.progress) as bar:
            bar.begin(
                f"{self.name}, {len(TOYS)} figures and {len(TABLES)} tables", None
            )
            for toy in TOYS.values():
                problems[toy.name] = request.parts.get(
                    toy.name, partial(run_toy, toy, self._small, quiet, bar)
                )
            for name in TABLES:
                seeds = [request.seed + split for split in range(count)]
                problems[name] = request.parts.get(
                    name,
                    partial(run_table, name, seeds, self._large, bar, request.quick),
                )
            bar.finish("done")
        numbers: Result = {
            "paper": {"figure": "every algorithm on every problem"},
            "rules": [],
            "remark": _REMARK,
            "inference": {
                "small": {key: repr(plan) for key, plan in self._small.items()},
                "large": {key: repr(plan) for key, plan in self._large.items()},
            },
            "models": {"bnn": {}, "ocbnn": problems},
        }
        return Outcome(numbers, {}, time.monotonic() - started)

    def tables(self, result: Result) -> list[Table]:
        """One for each problem."""
        problems = result["models"]["ocbnn"]
        return [_table(name, algorithms) for name, algorithms in problems.items()]

    def headline(self, result: Result) -> Headline:
        """None: algorithms are compared, not models."""
        return Headline(None, None)

    def line(self, result: Result) -> str:
        """The number of fits."""
        problems = result["models"]["ocbnn"]
        fits = sum(len(algorithms) for algorithms in problems.values())
        return f"{fits} pairs of a problem and an algorithm; see table.md"


def run_toy(
    toy: Toy,
    plans: Mapping[str, Plan],
    request: Request,
    bar: ProgressReporter | None = None,
) -> dict[str, Result]:
    """Every algorithm on one synthetic problem, compared with its best inference."""
    grid = view_grid(toy, 201)
    reference = _spread(
        _fit_toy(toy, toy.plans["best"], request, bar, "reference"), grid
    )
    numbers = {}
    for label, plan in plans.items():
        model = _fit_toy(toy, plan, request, bar, label)
        numbers[label] = toy_numbers(toy, model, reference, grid)
    return numbers


def _fit_toy(
    toy: Toy, plan: Plan, request: Request, bar: ProgressReporter | None, label: str
) -> Model:
    progress = SubtaskReporter(bar, f"{toy.name}, {label}") if bar else False
    plan = smaller_still(plan) if request.quick else plan
    # Algorithms are compared on the paper's densities, for every preset.
    paper_request = dataclasses.replace(request, progress=progress, preset="paper")
    return fit_toy(toy, plan, paper_request, with_rules=True)


def toy_numbers(toy: Toy, model: Model, reference: float, grid: np.ndarray) -> Result:
    """The table's numbers for one algorithm on one synthetic problem."""
    measures = measure(toy, model)
    return {
        "rmse": measures.get("train_rmse"),
        "accuracy": measures.get("train_accuracy"),
        "log_likelihood": _log_likelihood(toy, model),
        "spread": _spread(model, grid) / reference,
        **_common(
            model, measures["violation"], measures["ess_min"], measures["rhat_max"]
        ),
    }


def _common(
    model: Model, violation: float, ess: float | None, rhat: float | None
) -> Result:
    seconds = model.draws_.seconds
    plan = model.draws_.plan
    is_chain = plan.is_chain or plan.is_exact
    return {
        "violation": violation,
        "rhat_max": rhat if is_chain else None,
        "seconds": seconds,
        "ess_per_second": ess / seconds if is_chain and ess is not None else None,
    }


def _spread(model: Model, grid: np.ndarray) -> float:
    """The mean standard deviation of functions or probabilities over the figure."""
    if isinstance(model, OCBNNRegressor):
        return float(model.sample_functions(grid, 1000).std(axis=0).mean())
    logits = model.sample_functions(grid, 1000)
    probabilities = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    return float(probabilities.std(axis=0).mean())


def _log_likelihood(toy: Toy, model: Model) -> float:
    if isinstance(model, OCBNNRegressor):
        values = model.sample_functions(toy.X, model.draws_.size)[..., None]
        noise = model.sample_noise(toy.X, model.draws_.size)[..., None]
        return mean_log_likelihood(values, noise, toy.y[:, None])
    probabilities = model.predict_proba(toy.X)
    classes = np.searchsorted(model.classes_, toy.y)
    return float(np.log(probabilities[np.arange(len(classes)), classes]).mean())


def run_table(
    name: str,
    seeds: list[int],
    plans: Mapping[str, Plan],
    bar: ProgressReporter | None = None,
    quick: bool = False,
) -> dict[str, Result]:
    """Every algorithm on some splits of one table: means and spreads over splits."""
    numbers = {}
    for label, plan in plans.items():
        sized_plan = smaller_still(plan) if quick else plan
        splits = [table_numbers(name, seed, sized_plan, bar, label) for seed in seeds]
        numbers[label] = summed_up(splits)
    return numbers


def table_numbers(
    name: str,
    seed: int,
    plan: Plan,
    bar: ProgressReporter | None = None,
    label: str = "",
) -> Result:
    """The table's numbers for one algorithm on one split of one table."""
    table = uci(name)
    train, test = split(len(table.y), seed)
    progress = SubtaskReporter(bar, f"{name}, split {seed}, {label}") if bar else False
    model = tables.fit(name, table, train, seed, plan, with_rules=True, noise="infer",
                       progress=progress)  # fmt: skip
    X, y = table.X[test], table.y[test]
    measures = tables.measure(model, tables.bind_all(name, table), X, y)
    verdict = model.judge_at(X)
    return {
        "rmse": measures["rmse"],
        "log_likelihood": measures["log_likelihood"],
        "coverage": measures["coverage"],
        **_common(model, measures["violation"], verdict.ess_min, verdict.rhat_max),
    }


def smaller_still(plan: Plan) -> Plan:
    """Any plan, shortened for a quick look."""
    changes: dict[str, Any] = {}
    match plan:
        case WarmStart():
            return dataclasses.replace(
                plan, sampler=smaller_still(plan.sampler), iterations=100
            )
        case SVGD() | VI() | Laplace() | Ensemble():
            return dataclasses.replace(plan, iterations=100)
        case SMC() | HMC(adapt=False):
            return smaller(plan)
        case MCLMC() | SGLD() | SGHMC():
            changes = {"thin": 2, "climb": 100}
        case NUTS():
            changes = {"max_depth": 5}
    return dataclasses.replace(plan, chains=2, warmup=200, draws=50, **changes)


def _table(name: str, algorithms: dict[str, Result]) -> Table:
    columns = {
        key: head
        for key, head in _HEADS.items()
        if any(numbers.get(key) is not None for numbers in algorithms.values())
    }
    cell = lambda numbers, key, digits: (
        spread(numbers, key, digits)
        if key in _SCORES
        else number(numbers.get(key), digits)
    )
    rows = tuple(
        (label, *(cell(numbers, key, digits) for key, (_, digits) in columns.items()))
        for label, numbers in algorithms.items()
    )
    what = TOYS[name].figure if name in TOYS else "mean ± deviation over splits"
    return Table(f"{name}: {what}", ("", *(head for head, _ in columns.values())), rows)
