"""Refinement: fit, look for inputs where draws break a rule, be felt there, fit again.

Runs go on from where the chains of the run before have ended, each chain from its own,
and all but the last are short. The last run is as long as the plan says. Shapes never
change, so that nothing is compiled anew from round to round.
"""

import dataclasses
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from ocbnn.core.errors import InferenceWarning
from ocbnn.core.processes import is_first
from ocbnn.core.types import Position, RandomKey
from ocbnn.estimators.refinement import (
    Refinement,
    RefinementRecord,
    Round,
    RuleRound,
    as_refinement,
    is_strict,
)
from ocbnn.inference import Draws, Plan, WarmStart
from ocbnn.inference.driver import can_start
from ocbnn.inference.mcmc import climbed
from ocbnn.inference.progress import make_reporter
from ocbnn.metrics import Worst, find_worst, rmse
from ocbnn.metrics.worst import draws_broken_at
from ocbnn.posterior import Target
from ocbnn.predictive import Predictive
from ocbnn.priors import RuleTerm
from ocbnn.priors.refined import felt_fully, with_found, with_reach, with_room

# The cost of a violation grows by this much where it was not enough.
_FACTOR = 3.0
# And by this much in all: a steeper cliff is no better guard, and chains get stuck.
_MOST = 81.0
# Steps uphill before a chain goes on.
_CLIMB = 300
# Draws that are searched, after a short run and after the last.
_SOME, _MANY = 500, 2000
# A short run has this share of the moves, but no fewer than so many.
_SHORTER, _LEAST_WARMUP, _LEAST_DRAWS = 4, 100, 100
_POINTS_PER_INPUT = 50
# As many are enough where points walk, the steps that they take, and from how many
# inputs on. With one, fixed points lie close enough, and chains move more freely.
_WALKERS_PER_INPUT, _WALK, _WALK_FROM = 10, 8, 2
# Points of so many rounds are kept; then the oldest make way.
_KEPT = 3
# Training rows that the error is measured on.
_MOST_ROWS = 10_000
# Points this close, in widths of the region, are one.
_SAME = 1e-4


class Look(NamedTuple):
    """What was found about one rule in the draws of a run."""

    term: RuleTerm
    worst: Worst
    broken: Bool[np.ndarray, " draws"]  # by the search or at a test point
    at_points: float  # share of draws that break it where it was felt

    @property
    def share_broken(self) -> float:
        """The share of draws that break the rule somewhere."""
        return float(self.broken.mean())


def fit_draws(model: Any, refine: object, key: RandomKey) -> None:
    """Draw from a model's target; in several rounds, where rules are refined."""
    asked = as_refinement(refine, model.rules_)
    if asked is None:
        model.refinement_ = None
        model._draw(model.choice_.plan, key, checkpoint=model.checkpoint)
        model._conclude()
        return
    explicit = refine is not None
    model.refinement_ = refine_fit(model, asked, key, explicit=explicit)
    model._conclude()
    _warn_if_unmet(model.refinement_)


def refine_fit(
    model: Any, asked: Refinement, key: RandomKey, *, explicit: bool
) -> RefinementRecord:
    """Draw from a model's target and refine its rules, round by round.

    Args:
        model: The estimator.
        asked: How to refine.
        key: Decides every random number.
        explicit: Whether a person asked for it: then soft rules get points, too.
    """
    key_room, key_run, key_look = jax.random.split(key, 3)
    model.target_ = _with_rooms(model.target_, asked, key_room, explicit)
    plan: Plan = model.choice_.plan
    short = shorter(plan)
    is_full, spent, starts, felt = short is None, 0, None, model.target_
    rounds: list[Round] = []
    broken_before: dict[str, float] = {}
    while True:
        number, started = len(rounds), time.monotonic()
        asked_now = plan if is_full or short is None else short
        now = _continued(asked_now, starts)
        key_here = jax.random.fold_in(key_run, number)
        try:
            draws = _run(model, now, key_here, number, starts)
        except KeyboardInterrupt:
            if not rounds:
                raise
            # Stopped before this run had draws: those of the last one are kept.
            model.target_ = felt
            model.draws_ = dataclasses.replace(model.draws_, interrupted=True)
            break
        starts = _ends(draws, plan)
        key_now = jax.random.fold_in(key_look, number)
        most = _MANY if is_full else _SOME
        looks = _look(model, asked, key_now, most)
        if is_met(looks, asked) and not draws.interrupted:
            # Too good to be true, perhaps.
            harder = dataclasses.replace(
                asked, starts=2 * asked.starts, steps=2 * asked.steps
            )
            looks = _look(model, harder, jax.random.fold_in(key_now, 1), most)
        met = is_met(looks, asked)
        is_last = draws.interrupted or (is_full and (met or spent >= asked.rounds))
        added, felt = {}, model.target_
        if not (is_last or met) and spent < asked.rounds:
            added = _add_points(model, looks, asked, spent, broken_before)
            spent += 1
        seconds = time.monotonic() - started
        rounds.append(_written(model, looks, added, is_full, seconds))
        _tell(model, number, rounds[-1])
        if is_last:
            break
        is_full = is_full or met or spent >= asked.rounds
    return RefinementRecord(asked.target, _error_is(model), (*rounds,))


def is_met(looks: list[Look], asked: Refinement) -> bool:
    """Whether no rule is broken by more draws than may."""
    return all(look.share_broken <= asked.target for look in looks)


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
    """A plan that need not climb, where there is something to go on from.

    The last run, too, goes on: what was found says where the chains so far break a
    rule, and chains that began elsewhere would break it elsewhere.
    """
    if isinstance(plan, WarmStart) and starts is not None:
        return plan.sampler
    return plan


def spread_out(
    points: Float[np.ndarray, "draws inputs"],
    depth: Float[np.ndarray, " draws"],
    width: Float[np.ndarray, " inputs"],
    count: int,
) -> Float[np.ndarray, "chosen inputs"]:
    """Some of the points, deep ones and far from each other.

    Every draw has a worst input of its own, and many have nearly the same. One by one,
    the point is taken that is far from all that were, and where the rule is broken by
    much.

    Args:
        points: Where rules are broken.
        depth: By how much.
        width: That of the region, which distances are measured in.
        count: How many to choose; fewer when points are the same.
    """
    unit = points / np.where(width > 0, width, 1.0)
    weight = np.sqrt(depth / depth.max())
    chosen = [int(np.argmax(depth))]
    gaps = np.full(len(points), np.inf)
    while len(chosen) < count:
        gaps = np.minimum(gaps, np.abs(unit - unit[chosen[-1]]).max(axis=1))
        best = int(np.argmax(gaps * weight))
        if gaps[best] < _SAME:
            break
        chosen.append(best)
    return points[chosen]


def _with_rooms(
    target: Target, asked: Refinement, key: RandomKey, explicit: bool
) -> Target:
    """The target, whose refined rules have room for points."""
    keys = jax.random.split(key, len(target.rules))
    rules = []
    for term, one in zip(target.rules, keys, strict=True):
        strict, inputs = is_strict(term.bound), len(term.bound.schema.inputs)
        walks = strict and inputs >= _WALK_FROM
        if strict or (explicit and term.bound.is_checkable):
            each = _WALKERS_PER_INPUT if walks else _POINTS_PER_INPUT
            usual = max(term.count, each * inputs)
            term = with_room(term, asked.points or usual, one)  # noqa: PLW2901
        rules.append(with_reach(term, _WALK) if walks else term)
    return dataclasses.replace(target, rules=tuple(rules))


def _run(
    model: Any, plan: Plan, key: RandomKey, number: int, starts: Position | None
) -> Draws:
    """One run, whose draws the model then has."""
    if starts is not None and can_start(plan, model.target_):
        # Where a chain has ended, a rule may now be a cliff.
        starts = climbed(model.target_, starts, jnp.asarray(_CLIMB))
    else:
        starts = None
    folder = None
    if model.checkpoint is not None:
        folder = Path(model.checkpoint) / f"run-{number}"
    return model._draw(
        plan,
        key,
        label=f"{plan.label}, {_run_name(number)}",
        checkpoint=folder,
        starts=starts,
    )


def _ends(draws: Draws, plan: Plan) -> Position | None:
    """Where each chain has ended, for the next run to go on from."""
    if not plan.is_chain or draws.chains != plan.chains:
        return None
    return jax.tree.map(lambda a: a[:, -1], draws.positions)


def _look(model: Any, asked: Refinement, key: RandomKey, most: int) -> list[Look]:
    """Search the region of every rule that has room for points."""
    predictive: Predictive = model._predictive
    looks = []
    for number, term in enumerate(model.target_.rules):
        if not term.found:
            continue
        key_search, key_test = jax.random.split(jax.random.fold_in(key, number))
        worst = find_worst(
            predictive,
            term,
            key_search,
            starts=asked.starts,
            steps=asked.steps,
            most=most,
            rows=model._X,
        )
        tests = term.many(key_test, asked.test_points)
        at_tests = draws_broken_at(predictive, term, tests, most).any(axis=1)
        felt = term.places
        at_points = draws_broken_at(predictive, term, felt, most).any(axis=1)
        broken = worst.broken | at_tests | at_points
        looks.append(Look(term, worst, broken, float(at_points.mean())))
    return looks


def _add_points(
    model: Any,
    looks: list[Look],
    asked: Refinement,
    spent: int,
    broken_before: dict[str, float],
) -> dict[str, int]:
    """Let rules be felt where they were broken; how many points each one got."""
    terms: dict[str, RuleTerm] = {}
    added: dict[str, int] = {}
    for look in looks:
        name, term = look.term.bound.name, look.term
        if look.share_broken <= asked.target or not look.worst.broken.any():
            continue
        kept = min(asked.rounds, _KEPT)
        room = max(1, term.found // kept)
        start = min(spent % kept * room, term.found - room)
        depth = np.where(look.worst.broken, -look.worst.slack, 0.0)
        lower, upper = look.worst.points.min(axis=0), look.worst.points.max(axis=0)
        chosen = spread_out(look.worst.points, depth, upper - lower, room)
        # Where there are fewer than there is room for, each is felt more than once.
        found = np.resize(chosen, (room, chosen.shape[1]))
        weight = _weight(look, asked.target, broken_before.get(name))
        terms[name] = with_found(term, slice(start, start + room), found, weight)
        added[name], broken_before[name] = len(chosen), look.share_broken
    rules = tuple(terms.get(one.bound.name, one) for one in model.target_.rules)
    model.target_ = dataclasses.replace(model.target_, rules=rules)
    return added


def _weight(look: Look, target: float, before: float | None) -> float:
    """What a violation costs from now on.

    A firm rule gets dearer where draws break it although it is felt there, and where
    new points have not even halved the share of draws that break it.
    """
    first = before is None
    weight = felt_fully(look.term) if first else float(look.term.law.weight)
    fair = _fair_weight(look.term)
    is_stuck = before is not None and look.share_broken > 0.5 * before
    if is_strict(look.term.bound) and (look.at_points > target or is_stuck):
        return min(weight * _FACTOR, fair * _MOST)
    return weight


def _fair_weight(term: RuleTerm) -> float:
    """What the rule would weigh as it was given, with each of its points felt fully."""
    given = float(
        RuleTerm(term.bound, term.sampler, term.points, term.scales).law.weight
    )
    return given if term.law.at_each else given * term.count / (term.count - term.found)


def _written(
    model: Any,
    looks: list[Look],
    added: dict[str, int],
    is_full: bool,
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
    return Round(is_full, len(looks[0].broken), _error(model), seconds, rules)


def _quantiles(slack: Float[np.ndarray, " draws"]) -> tuple[float, float, float]:
    low, middle, high = np.quantile(slack, [0.05, 0.5, 0.95], method="nearest")
    return float(low), float(middle), float(high)


def _error(model: Any) -> float:
    """The training error of the draws that the model has now."""
    X, Y = model._X[:_MOST_ROWS], model._Y[:_MOST_ROWS]
    predictive: Predictive = model._predictive
    if model.schema_.classes is not None:
        predicted = model._chosen(X, predictive.probabilities(X))
        return float(np.mean(predicted != Y))
    return rmse(predictive.mean_and_sd(X)[0], Y)


def _error_is(model: Any) -> str:
    if model.schema_.classes is not None:
        return "the share of wrong classes"
    return "the root mean squared error"


def _run_name(number: int) -> str:
    return f"run {number + 1}"


def _tell(model: Any, number: int, one: Round) -> None:
    with make_reporter(model.progress if is_first() else False) as reporter:
        reporter.begin(_run_name(number), None)
        reporter.finish(f"{one} ({one.seconds:.1f} s)")


def _warn_if_unmet(record: RefinementRecord) -> None:
    if record.is_met:
        return
    worst = min(record.after.rules, key=lambda one: one.held)
    warnings.warn(
        f"after {len(record.rounds) - 1} rounds of refinement, rule {worst.rule!r} is "
        f"still broken somewhere by {1 - worst.held:.1%} of the draws (by "
        f"{1 - record.before.rules[0].held:.1%} before any), and {record.target:.1%} "
        'were allowed. Write strength="firm" if it is not, give it more rounds, '
        "refine=10, or look at its worst inputs: the data may contradict it.",
        InferenceWarning,
        stacklevel=5,
    )
