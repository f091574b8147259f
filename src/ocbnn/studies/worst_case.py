"""Soft and firm rules compared at the worst input that a search can find.

Not in the paper, whose violation is a mean over points. Here a draw keeps a rule only
if it does so at every one of many fresh points, and if no search finds an input at
which it violates the rule.
"""

import time
import warnings
from collections.abc import Mapping
from functools import partial

import jax
import numpy as np

from ocbnn.errors import InferenceWarning
from ocbnn.inference import MCLMC, Plan, WarmStart
from ocbnn.inference.progress import ProgressReporter, SubtaskReporter, make_reporter
from ocbnn.metrics import find_worst, rmse
from ocbnn.metrics.worst import draws_broken_at
from ocbnn.studies.base import (
    Headline,
    Outcome,
    Request,
    Result,
    Study,
    finished,
    summed_up,
)
from ocbnn.studies.tables import Table, number, spread
from ocbnn.studies.worst_problems import (
    OTHERS,
    PROBLEMS,
    ROWS,
    Material,
    Model,
    Problem,
)

PLAN = WarmStart(
    sampler=MCLMC(chains=4, warmup=1000, draws=100, thin=5), iterations=1000
)
QUICK_PLAN = WarmStart(
    sampler=MCLMC(chains=2, warmup=200, draws=20, thin=2), iterations=200
)
SEEDS = 3
POINTS, QUICK_POINTS = 100_000, 2000
# A stronger search than the refinement's own, and with other random numbers.
_STARTS, _STEPS = 256, 80
STRENGTHS = ("soft", "firm")
_REMARK = (
    "Not in the paper. `at points`: the share of draws that keep the rule at every one "
    "of {points} fresh points of its region. `under attack`: the share for which "
    "gradient descent from {starts} starts finds no input that violates it; the "
    "refinement itself searches from 64 starts, and from 128 in its last check. Slack "
    "is that at each draw's worst input, in the natural scale of the claim (standard "
    "deviations of the output; logits for classes): the 5 % quantile and the median "
    "over draws. Training error is the root mean squared error in the units of the "
    "output, or the share of wrong classes; forced is its value if each prediction "
    "is moved to the nearest one that the rule allows; other rows, the error at up to "
    "{others} rows of the same table outside the training set. Tables train on "
    "{rows} rows, drawn by the seed; means and standard deviations over {seeds} seeds."
)


class WorstCaseStudy(Study):
    """The same rules, soft and firm, under the same attack."""

    name = "worst-case"

    def __init__(
        self,
        plan: Plan | None = None,
        problems: Mapping[str, Problem] = PROBLEMS,
        points: int | None = None,
    ) -> None:
        self._plan, self._problems, self._points = plan, problems, points

    def run(self, request: Request) -> Outcome:
        """Fit every problem with soft and with firm rules."""
        quick = request.quick
        plan = self._plan or (QUICK_PLAN if quick else PLAN)
        points = self._points or (QUICK_POINTS if quick else POINTS)
        seeds = [request.seed + offset for offset in range(1 if quick else SEEDS)]
        started = time.monotonic()
        results: dict[str, list[Result]] = {}
        with make_reporter(request.progress) as bar:
            bar.begin(f"{self.name}, {len(self._problems)} problems", None)
            for name, problem in self._problems.items():
                results[name] = [
                    request.parts.get(
                        f"{name}, seed {seed}",
                        partial(run_problem, problem, seed, plan, points, bar),
                    )
                    for seed in seeds
                ]
            bar.finish("done")
        seconds = time.monotonic() - started
        numbers: Result = {
            "paper": {"figure": "soft and firm rules under attack"},
            "rules": [f"{k}: {p.region}" for k, p in self._problems.items()],
            "remark": _REMARK.format(
                points=f"{points:,}",
                starts=_STARTS,
                rows=ROWS,
                others=f"{OTHERS:,}",
                seeds=len(seeds),
            ),
            "inference": {"plan": repr(plan)},
            "inputs": {k: p.inputs for k, p in self._problems.items()},
            "models": {
                "bnn": {},
                "ocbnn": {k: summed_up(splits) for k, splits in results.items()},
            },
            "splits": results,
        }
        return Outcome(numbers, {}, seconds)

    def tables(self, result: Result) -> list[Table]:
        """One row for each problem and strength."""
        return [_table(result)]

    def headline(self, result: Result) -> Headline:
        """None: strengths are compared, not models with and without rules."""
        return Headline(None, None)

    def line(self, result: Result) -> str:
        """Shares of draws that keep the rule under attack, per problem."""
        return "; ".join(
            f"{name} {strengths['soft']['under_attack']:.1%} -> "
            f"{strengths['firm']['under_attack']:.1%}"
            for name, strengths in result["models"]["ocbnn"].items()
        )


def run_problem(
    problem: Problem,
    seed: int,
    plan: Plan,
    points: int,
    bar: ProgressReporter | None = None,
) -> dict[str, Result]:
    """Both strengths on one problem."""
    material, results = problem.make(seed), {}
    for strength in STRENGTHS:
        label = f"{problem.name}, seed {seed}, {strength}"
        started = time.monotonic()
        model = material.model(
            strength,
            inference=plan,
            random_state=seed,
            progress=SubtaskReporter(bar, label) if bar else False,
        )
        with warnings.catch_warnings():
            # The table reports disagreeing chains and missed targets as numbers.
            warnings.simplefilter("ignore", InferenceWarning)
            finished(model.fit(material.X, material.y))
        seconds = time.monotonic() - started
        results[strength] = {
            **measure(model, material, points),
            "runs": 1 if model.refinement_ is None else len(model.refinement_.rounds),
            "strength": float(model.target_.rules[0].law.weight),
            "seconds": seconds,
        }
    return results


def measure(model: Model, material: Material, points: int) -> Result:
    """The study's numbers for one model and its single rule."""
    term, draws = model.target_.rules[0], model.fitted_.predictive
    key_points, key_attack = jax.random.split(jax.random.key(90210))
    fresh = term.many(key_points, points)
    worst = find_worst(
        draws, term, key_attack, starts=_STARTS, steps=_STEPS, rows=material.X
    )
    low, median = np.quantile(worst.slack, [0.05, 0.5])
    predicted = model.predict(material.X)
    error = rmse if model.schema_.classes is None else _share_wrong
    return {
        "at_points": 1.0
        - float(draws_broken_at(draws, term, fresh).any(axis=1).mean()),
        "under_attack": 1.0 - float(worst.broken.mean()),
        "slack_low": float(low),
        "slack_median": float(median),
        "error": error(predicted, material.y),
        "forced": error(material.allowed(material.X, predicted), material.y),
        "held_out": None
        if material.others is None
        else error(model.predict(material.others[0]), material.others[1]),
    }


def _share_wrong(predicted: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(predicted != y))


def _table(result: Result) -> Table:
    heads = (
        "problem",
        "inputs",
        "rule",
        "at points, %",
        "under attack, %",
        "slack 5 %",
        "slack 50 %",
        "training error",
        "forced",
        "other rows",
        "runs",
        "weight",
        "seconds",
    )
    rows = []
    for name, strengths in result["models"]["ocbnn"].items():
        for strength in STRENGTHS:
            numbers = strengths[strength]
            rows.append(
                (
                    name,
                    str(result["inputs"][name]),
                    strength,
                    spread(numbers, "at_points", 1, 100.0),
                    spread(numbers, "under_attack", 1, 100.0),
                    spread(numbers, "slack_low", 2),
                    spread(numbers, "slack_median", 2),
                    spread(numbers, "error", 4),
                    spread(numbers, "forced", 4),
                    spread(numbers, "held_out", 4),
                    number(numbers["runs"], 1),
                    number(numbers["strength"]),
                    number(numbers["seconds"], 0),
                )
            )
    seeds = len(next(iter(result["splits"].values())))
    caption = f"Draws that hold their rule everywhere: mean ± sd over {seeds} seeds"
    return Table(caption, heads, tuple(rows))
