"""Refinement: fit, search for inputs where draws break a rule, add them, fit again.

Each chain of a run continues from where the same chain of the previous run ended, and
all runs but the last are short. The last run is as long as the plan says. Shapes never
change, so that nothing is compiled anew from round to round.
"""

import dataclasses
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from ocbnn.core.processes import is_first
from ocbnn.core.types import Position, RandomKey
from ocbnn.inference import Draws, Plan, WarmStart, sample
from ocbnn.inference.progress import make_reporter
from ocbnn.metrics import rmse
from ocbnn.posterior import Categorical, Target
from ocbnn.predictive import Predictive
from ocbnn.predictive.feasible_predictions import feasible_classes
from ocbnn.predictive.predictive import predict_with
from ocbnn.refinement.added_points import with_points, with_rooms
from ocbnn.refinement.data_start import (
    chains_of,
    climbed_starts,
    data_starts,
    final_positions,
    sample_from_data,
)
from ocbnn.refinement.hard import kept_rules
from ocbnn.refinement.record import RefinementRecord, Round, RuleRound
from ocbnn.refinement.rule_search import RuleSearch, is_met, search_rules
from ocbnn.refinement.settings import Refine, Refinement, as_refinement, unsearchable

# How many draws are searched after a short run, and after a full one.
_SHORT_RUN_DRAWS, _FULL_RUN_DRAWS = 500, 2000
# A short run has one in so many of the plan's moves, but at least these.
_SHORTER_BY, _LEAST_WARMUP, _LEAST_DRAWS = 4, 100, 100
# Training rows on which the error is measured.
_MAX_ROWS = 10_000


class Run(NamedTuple):
    """How to draw from a target, and the training rows.

    Attributes
    ----------
    plan
        The algorithm and its settings.
    data
        Inputs, and outputs or class numbers.
    progress, devices
        As an estimator takes them.
    checkpoint
        A folder to save runs in.
    """

    plan: Plan
    data: tuple[np.ndarray, np.ndarray]
    progress: object = "auto"
    devices: object = None
    checkpoint: str | Path | None = None

    def draw(
        self, target: Target, key: RandomKey, plan: Plan | None = None, **overrides: Any
    ) -> Draws:
        """Run the plan or another one, with settings overridden where given."""
        return sample(plan or self.plan, target, key, **self.settings | overrides)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of `sample`."""
        return {
            "progress": self.progress,
            "devices": self.devices,
            "checkpoint": self.checkpoint,
        }


class FitDraws(NamedTuple):
    """A target, draws from it and their numbers, and the record of a refinement."""

    target: Target
    draws: Draws
    kept: np.ndarray
    refinement: RefinementRecord | None = None


def fit_draws(target: Target, run: Run, key: RandomKey, refine: Refine) -> FitDraws:
    """Draw from a target, in several rounds if `refine` or a rule asks for that."""
    refinement = as_refinement(refine, tuple(term.bound for term in target.rules))
    record = None
    if refinement is None:
        draws = sample_from_data(run.plan, target, key, **run.settings)
    else:
        explicit = refine is not None
        target, draws, record = refine_fit(
            target, run, refinement, key, explicit=explicit
        )
    return FitDraws(target, draws, np.arange(draws.size), record)


def refine_fit(
    target: Target, run: Run, refinement: Refinement, key: RandomKey, *, explicit: bool
) -> tuple[Target, Draws, RefinementRecord]:
    """Draw from a target and refine its rules, round by round.

    Parameters
    ----------
    target
        The log density.
    run
        How to draw from it.
    refinement
        How to refine.
    key
        Determines every random number.
    explicit
        Whether the user asked for refinement; if so, soft rules get points, too.
    """
    key_room, key_run, key_search = jax.random.split(key, 3)
    target = with_rooms(target, refinement, key_room, explicit)
    plan, short_plan = run.plan, shorter(run.plan)
    is_full, rounds_done, sampled_target = short_plan is None, 0, target
    starts = data_starts(plan, target, key_run, **run.settings)
    draws: Draws | None = None
    rounds: list[Round] = []
    earlier_shares: dict[str, float] = {}
    while True:
        index, started = len(rounds), time.monotonic()
        length_plan = plan if is_full or short_plan is None else short_plan
        # The last run continues as well: points were added where these chains break a
        # rule, and chains that started elsewhere would break it elsewhere.
        round_plan = length_plan if starts is None else chains_of(length_plan)
        key_draw = jax.random.fold_in(key_run, index)
        try:
            new = _run(target, round_plan, key_draw, index, starts, run)
        except KeyboardInterrupt:
            if draws is None:
                raise
            # This run has no draws yet, so those of the previous run are kept.
            target, draws = sampled_target, dataclasses.replace(draws, interrupted=True)
            break
        draws, starts = new, final_positions(new, plan)
        predictive = predict_with(target, draws, run.devices)
        key_round = jax.random.fold_in(key_search, index)
        max_draws = _FULL_RUN_DRAWS if is_full else _SHORT_RUN_DRAWS
        searches = search_rules(
            target, predictive, run.data[0], refinement, key_round, max_draws
        )
        if is_met(searches, refinement) and not draws.interrupted:
            # The search may have missed violations, so a longer one must agree.
            thorough = dataclasses.replace(
                refinement, starts=2 * refinement.starts, steps=2 * refinement.steps
            )
            key_check = jax.random.fold_in(key_round, 1)
            searches = search_rules(
                target, predictive, run.data[0], thorough, key_check, max_draws
            )
        target_met = is_met(searches, refinement)
        is_last = draws.interrupted or (
            is_full and (target_met or rounds_done >= refinement.rounds)
        )
        added, sampled_target = {}, target
        if not (is_last or target_met) and rounds_done < refinement.rounds:
            target, added = with_points(
                target, searches, refinement, rounds_done, earlier_shares
            )
            rounds_done += 1
        seconds = time.monotonic() - started
        error = _error(target, predictive, *run.data)
        rounds.append(_to_round(searches, added, is_full, error, seconds))
        _report_round(run.progress, index, rounds[-1])
        if is_last:
            break
        is_full = is_full or target_met or rounds_done >= refinement.rounds
    unsearched = unsearchable(term.bound for term in target.rules) if explicit else ()
    record = RefinementRecord(
        refinement.target, _error_name(target), (*rounds,), unsearched
    )
    return target, draws, record


def shorter(plan: Plan) -> Plan | None:
    """A plan for the runs before the last; None if a run cannot be shortened."""
    if isinstance(plan, WarmStart):
        short = shorter(plan.sampler)
        return None if short is None else dataclasses.replace(plan, sampler=short)
    if not plan.is_chain:
        return None
    return dataclasses.replace(
        plan,
        warmup=min(plan.warmup, max(_LEAST_WARMUP, plan.warmup // _SHORTER_BY)),
        draws=min(plan.draws, max(_LEAST_DRAWS, plan.draws // _SHORTER_BY)),
    )


def _run(
    target: Target,
    plan: Plan,
    key: RandomKey,
    index: int,
    starts: Position | None,
    run: Run,
) -> Draws:
    """One run, from the final positions of the previous run's chains."""
    starts = climbed_starts(plan, target, starts)
    folder = None
    if run.checkpoint is not None:
        folder = Path(run.checkpoint) / f"run-{index}"
    label = f"{plan.label}, {_run_name(index)}"
    return run.draw(
        target, key, plan=plan, label=label, checkpoint=folder, starts=starts
    )


def _to_round(
    searches: list[RuleSearch],
    added: dict[str, int],
    is_full: bool,
    error: float,
    seconds: float,
) -> Round:
    rules = tuple(
        RuleRound(
            rule=search.term.bound.name,
            held=1.0 - search.share_broken,
            at_points=search.at_points,
            worst=float(search.worst.slack.min()),
            slack=_quantiles(search.worst.slack),
            strength=float(search.term.law.weight),
            added=added.get(search.term.bound.name, 0),
        )
        for search in searches
    )
    return Round(is_full, len(searches[0].broken), error, seconds, rules)


def _quantiles(slack: Float[np.ndarray, " draws"]) -> tuple[float, float, float]:
    low, middle, high = np.quantile(slack, [0.05, 0.5, 0.95], method="nearest")
    return float(low), float(middle), float(high)


def _error(
    target: Target, predictive: Predictive, X: np.ndarray, Y: np.ndarray
) -> float:
    """The training error of the draws' predictions."""
    X, Y = X[:_MAX_ROWS], Y[:_MAX_ROWS]
    if isinstance(target.likelihood, Categorical):
        rules = kept_rules(term.bound for term in target.rules)
        predicted = feasible_classes(rules, X, predictive.probabilities(X))
        return float(np.mean(predicted != Y))
    return rmse(predictive.mean_and_sd(X)[0], Y)


def _error_name(target: Target) -> str:
    if isinstance(target.likelihood, Categorical):
        return "the share of wrong classes"
    return "the root mean squared error"


def _run_name(index: int) -> str:
    return f"run {index + 1}"


def _report_round(progress: object, index: int, result: Round) -> None:
    with make_reporter(progress if is_first() else False) as reporter:
        reporter.begin(_run_name(index), None)
        reporter.finish(f"{result} ({result.seconds:.1f} s)")
