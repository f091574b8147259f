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
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ocbnn.core.processes import is_first
from ocbnn.core.types import Position, RandomKey
from ocbnn.inference import Draws, Plan, WarmStart, sample
from ocbnn.inference.driver import can_start
from ocbnn.inference.mcmc import climbed
from ocbnn.inference.progress import make_reporter
from ocbnn.metrics import rmse
from ocbnn.posterior import Categorical, Target
from ocbnn.predictive import Predictive
from ocbnn.predictive.feasible_predictions import feasible_classes
from ocbnn.predictive.predictive import predict_with
from ocbnn.refinement.added_points import with_points, with_rooms
from ocbnn.refinement.hard import kept_rules
from ocbnn.refinement.record import RefinementRecord, Round, RuleRound
from ocbnn.refinement.rule_search import RuleSearch, is_met, search_rules
from ocbnn.refinement.settings import Refinement, as_refinement

# Steps uphill before a chain continues.
_CLIMB = 300
# Draws that are searched, after a short run and after the last.
_SOME, _MANY = 500, 2000
# A short run has this share of the moves, but no fewer than so many.
_SHORTER, _LEAST_WARMUP, _LEAST_DRAWS = 4, 100, 100
# Training rows that the error is measured on.
_MOST_ROWS = 10_000


class Run(NamedTuple):
    """What draws from targets, which rows are looked at, and how it is done.

    Attributes
    ----------
    plan
        The algorithm and its settings.
    data
        Inputs, and outputs or class numbers.
    progress
        As an estimator takes it, like what follows.
    devices
        Where.
    checkpoint
        A folder to save runs in.
    """

    plan: Plan
    data: tuple[np.ndarray, np.ndarray]
    progress: object = "auto"
    devices: object = None
    checkpoint: str | Path | None = None

    def draw(
        self, target: Target, key: RandomKey, plan: Plan | None = None, **others: Any
    ) -> Draws:
        """Run the plan or another one, with other settings where they are given."""
        usual = {"progress": self.progress, "devices": self.devices}
        settings = {**usual, "checkpoint": self.checkpoint, **others}
        return sample(plan or self.plan, target, key, **settings)


class FitDraws(NamedTuple):
    """A target, draws from it and their numbers, and what a refinement found."""

    target: Target
    draws: Draws
    kept: np.ndarray
    refinement: RefinementRecord | None = None


def fit_draws(target: Target, run: Run, key: RandomKey, refine: object) -> FitDraws:
    """Draw from a target; in several rounds, where `refine` or rules ask for that."""
    refinement = as_refinement(refine, tuple(term.bound for term in target.rules))
    record = None
    if refinement is None:
        draws = run.draw(target, key)
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
        What draws from it.
    refinement
        How to refine.
    key
        Decides every random number.
    explicit
        Whether a person asked for it: then soft rules get points, too.
    """
    key_room, key_run, key_look = jax.random.split(key, 3)
    target = with_rooms(target, refinement, key_room, explicit)
    plan, short = run.plan, shorter(run.plan)
    is_full, spent, starts, drawn_from = short is None, 0, None, target
    draws: Draws | None = None
    rounds: list[Round] = []
    broken_before: dict[str, float] = {}
    while True:
        number, started = len(rounds), time.monotonic()
        asked_now = plan if is_full or short is None else short
        now = _continued(asked_now, starts)
        key_here = jax.random.fold_in(key_run, number)
        try:
            new = _run(target, now, key_here, number, starts, run)
        except KeyboardInterrupt:
            if draws is None:
                raise
            # Stopped before this run had draws: those of the last one are kept.
            target, draws = drawn_from, dataclasses.replace(draws, interrupted=True)
            break
        draws, starts = new, _ends(new, plan)
        predictive = predict_with(target, draws, run.devices)
        key_now = jax.random.fold_in(key_look, number)
        most = _MANY if is_full else _SOME
        looks = search_rules(target, predictive, run.data[0], refinement, key_now, most)
        if is_met(looks, refinement) and not draws.interrupted:
            # Too good to be true, perhaps.
            harder = dataclasses.replace(
                refinement, starts=2 * refinement.starts, steps=2 * refinement.steps
            )
            key_harder = jax.random.fold_in(key_now, 1)
            looks = search_rules(
                target, predictive, run.data[0], harder, key_harder, most
            )
        met = is_met(looks, refinement)
        is_last = draws.interrupted or (is_full and (met or spent >= refinement.rounds))
        added, drawn_from = {}, target
        if not (is_last or met) and spent < refinement.rounds:
            target, added = with_points(target, looks, refinement, spent, broken_before)
            spent += 1
        seconds = time.monotonic() - started
        error = _error(target, predictive, *run.data)
        rounds.append(_written(looks, added, is_full, error, seconds))
        _tell(run.progress, number, rounds[-1])
        if is_last:
            break
        is_full = is_full or met or spent >= refinement.rounds
    record = RefinementRecord(refinement.target, _error_is(target), (*rounds,))
    return target, draws, record


def shorter(plan: Plan) -> Plan | None:
    """A plan for the runs before the last; None where a run cannot be cut short."""
    if isinstance(plan, WarmStart):
        cut = shorter(plan.sampler)
        return None if cut is None else dataclasses.replace(plan, sampler=cut)
    if not plan.is_chain:
        return None
    return dataclasses.replace(
        plan,
        warmup=min(plan.warmup, max(_LEAST_WARMUP, plan.warmup // _SHORTER)),
        draws=min(plan.draws, max(_LEAST_DRAWS, plan.draws // _SHORTER)),
    )


def _continued(plan: Plan, starts: Position | None) -> Plan:
    """A plan that need not climb, where there is something to continue from.

    The last run, too, continues: what was found says where the chains so far break a
    rule, and chains that began elsewhere would break it elsewhere.
    """
    if isinstance(plan, WarmStart) and starts is not None:
        return plan.sampler
    return plan


def _run(
    target: Target,
    plan: Plan,
    key: RandomKey,
    number: int,
    starts: Position | None,
    run: Run,
) -> Draws:
    """One run, from where the chains of the last one have ended."""
    if starts is not None and can_start(plan, target):
        # Where a chain has ended, a rule may now be a cliff.
        starts = climbed(target, starts, jnp.asarray(_CLIMB))
    else:
        starts = None
    folder = None
    if run.checkpoint is not None:
        folder = Path(run.checkpoint) / f"run-{number}"
    label = f"{plan.label}, {_run_name(number)}"
    return run.draw(
        target, key, plan=plan, label=label, checkpoint=folder, starts=starts
    )


def _ends(draws: Draws, plan: Plan) -> Position | None:
    """Where each chain has ended, for the next run to continue from."""
    if not plan.is_chain or draws.chains != plan.chains:
        return None
    return jax.tree.map(lambda a: a[:, -1], draws.positions)


def _written(
    looks: list[RuleSearch],
    added: dict[str, int],
    is_full: bool,
    error: float,
    seconds: float,
) -> Round:
    rules = tuple(
        RuleRound(
            rule=look.term.bound.name,
            held=1.0 - look.share_broken,
            at_points=look.at_points,
            worst=float(look.worst.slack.min()),
            slack=_quantiles(look.worst.slack),
            strength=float(look.term.law.weight),
            added=added.get(look.term.bound.name, 0),
        )
        for look in looks
    )
    return Round(is_full, len(looks[0].broken), error, seconds, rules)


def _quantiles(slack: Float[np.ndarray, " draws"]) -> tuple[float, float, float]:
    low, middle, high = np.quantile(slack, [0.05, 0.5, 0.95], method="nearest")
    return float(low), float(middle), float(high)


def _error(
    target: Target, predictive: Predictive, X: np.ndarray, Y: np.ndarray
) -> float:
    """The training error of draws."""
    X, Y = X[:_MOST_ROWS], Y[:_MOST_ROWS]
    if isinstance(target.likelihood, Categorical):
        rules = kept_rules(term.bound for term in target.rules)
        predicted = feasible_classes(rules, X, predictive.probabilities(X))
        return float(np.mean(predicted != Y))
    return rmse(predictive.mean_and_sd(X)[0], Y)


def _error_is(target: Target) -> str:
    if isinstance(target.likelihood, Categorical):
        return "the share of wrong classes"
    return "the root mean squared error"


def _run_name(number: int) -> str:
    return f"run {number + 1}"


def _tell(progress: object, number: int, run: Round) -> None:
    with make_reporter(progress if is_first() else False) as reporter:
        reporter.begin(_run_name(number), None)
        reporter.finish(f"{run} ({run.seconds:.1f} s)")
