"""Refinement: fit, search for inputs where draws break a rule, add them, fit again.

Each chain of a run continues from where the same chain of the previous run ended, and
all runs but the last are short. The last run is as long as the plan says. Shapes never
change, so that nothing is compiled anew from round to round.
"""

import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from ocbnn.core.processes import is_first
from ocbnn.core.types import Position, RandomKey
from ocbnn.core.warn import warn
from ocbnn.core.words import at_least
from ocbnn.errors import InferenceWarning, SettingError, StorageError
from ocbnn.inference import Draws, Plan, WarmStart, sample
from ocbnn.inference.driver import can_start
from ocbnn.inference.mcmc import climbed
from ocbnn.inference.progress import make_reporter
from ocbnn.metrics import Worst, find_worst, rmse
from ocbnn.metrics.worst import draws_broken_at
from ocbnn.posterior import Categorical, Target
from ocbnn.predictive import Predictive
from ocbnn.predictive.feasible_predictions import feasible_classes
from ocbnn.predictive.predictive import predict_with
from ocbnn.priors import RuleTerm
from ocbnn.priors.refined_terms import felt_fully, with_found, with_reach, with_room
from ocbnn.refinement.hard import kept_rules
from ocbnn.rules import BoundRule

_WHOLE = ("rounds", "starts", "steps", "test_points")
# The cost of a violation grows by this much where it was not enough.
_FACTOR = 3.0
# And by this much in all: a steeper cliff is no better guard, and chains get stuck.
_MOST = 81.0
# Steps uphill before a chain continues.
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Refinement:
    """How rules are refined: searched for violations, and felt where there are any.

    Attributes
    ----------
    rounds
        How often points are added and the model is fitted again, at most.
    target
        The share of draws that may break a rule in the end.
    points
        Room for found points, for every rule; None: as many as the rule has of
        its own, and at least 10 for each input; 50 where points do not walk.
    starts
        From how many places every draw's worst input is searched.
    steps
        How many steps from each of them.
    test_points
        Fresh points of the region that are looked at besides.
    """

    rounds: int = 10
    target: float = 0.01
    points: int | None = None
    starts: int = 64
    steps: int = 40
    test_points: int = 1000

    def __post_init__(self) -> None:
        for name in (*_WHOLE, *(() if self.points is None else ("points",))):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or value < 1:
                raise SettingError(
                    f"Refinement({name}=...) must be a whole number above zero, got "
                    f"{value!r}. Write Refinement({name}={_EXAMPLES[name]})."
                )
        if not isinstance(self.target, (int, float)) or not 0 < self.target < 1:
            raise SettingError(
                "Refinement(target=...) is the share of draws that may break a rule, "
                f"between 0 and 1, got {self.target!r}. Write Refinement(target=0.01)."
            )


_EXAMPLES = {
    "rounds": 10,
    "starts": 64,
    "steps": 40,
    "test_points": 1000,
    "points": 100,
}


def as_refinement(refine: object, rules: tuple[BoundRule, ...]) -> Refinement | None:
    """The refinement that `fit(refine=...)` asks for; None when there is none.

    Left out, firm and hard rules ask for one.

    Raises
    ------
    SettingError
        When it is something else, or there is no rule to refine.
    """
    if refine is False:
        return None
    if refine is None:
        return Refinement() if any(is_strict(bound) for bound in rules) else None
    if isinstance(refine, Refinement):
        refinement = refine
    elif refine is True:
        refinement = Refinement()
    elif isinstance(refine, int):
        refinement = Refinement(rounds=refine)
    else:
        raise SettingError(
            "refine must be True, False, a number of rounds or a Refinement, got "
            f"{refine!r}. Write refine=5."
        )
    if not any(bound.is_checkable for bound in rules):
        raise SettingError(
            "refine looks for inputs at which rules are broken, and no rule of this "
            "model can be. Add a rule, or leave refine out."
        )
    return refinement


def is_strict(bound: BoundRule) -> bool:
    """Whether a rule is to be held whatever it takes: firm or hard.

    A class that a hard rule forbids is masked, which takes nothing.
    """
    is_masked = bound.rule.held == "hard" and bound.schema.is_classification
    return bound.rule.held != "soft" and bound.is_checkable and not is_masked


@dataclasses.dataclass(frozen=True)
class RuleRound:
    """How one rule stood after a run.

    Attributes
    ----------
    rule
        Its name.
    held
        Share of draws that no search and no test point caught breaking it.
    at_points
        Share of draws that break it where it was felt.
    worst
        The least slack of all draws, in natural sizes; below zero: broken.
    slack
        That of every draw at its worst input: 5 %, 50 % and 95 % quantiles.
    strength
        What the rule weighed in this run, at each point where a weight is left out;
        γ of the paper's indicator.
    added
        How many points were found and added for the next run.
    """

    rule: str
    held: float
    at_points: float
    worst: float
    slack: tuple[float, float, float]
    strength: float
    added: int


@dataclasses.dataclass(frozen=True)
class Round:
    """One run, and what the search found in its draws.

    Attributes
    ----------
    is_full
        Whether it was run as long as the plan says; others are shorter.
    draws
        How many draws were searched.
    error
        On the training rows: root mean squared, or the share of wrong classes.
    seconds
        Of the run and the search together.
    rules
        How each refined rule stood.
    """

    is_full: bool
    draws: int
    error: float
    seconds: float
    rules: tuple[RuleRound, ...]

    @property
    def held(self) -> float:
        """The share of draws that hold the rule that is broken most."""
        return min(rule.held for rule in self.rules)

    @property
    def added(self) -> int:
        """Points that were added, over all rules."""
        return sum(rule.added for rule in self.rules)

    def __str__(self) -> str:
        more = f", {self.added} points added" if self.added else ""
        return (
            f"{at_least(self.held)} of draws hold every rule, training error "
            f"{self.error:.4g}{more}"
        )


@dataclasses.dataclass(frozen=True)
class RefinementRecord:
    """What a refinement did: one entry for each run, the first with the rules as given.

    Attributes
    ----------
    target
        The share of draws that may break a rule.
    error_is
        What the training error is.
    rounds
        The runs, in order; the last one made the model's draws.
    """

    target: float
    error_is: str
    rounds: tuple[Round, ...]

    @property
    def before(self) -> Round:
        """The first run, with the rules as they were given."""
        return self.rounds[0]

    @property
    def after(self) -> Round:
        """The last run, whose draws are the model's."""
        return self.rounds[-1]

    @property
    def is_met(self) -> bool:
        """Whether no rule is broken by more draws than the target allows."""
        return 1.0 - self.after.held <= self.target

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return {**dataclasses.asdict(self), "rounds": [*map(_plain, self.rounds)]}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "RefinementRecord":
        """The record that `to_dict` wrote.

        Raises
        ------
        StorageError
            When something is missing or of another kind.
        """
        try:
            rounds = tuple(_round(entry) for entry in document["rounds"])
            if not rounds:
                raise ValueError("there is no round")
            return cls(float(document["target"]), str(document["error_is"]), rounds)
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(
                f"the record of the refinement is damaged: {error}."
            ) from None

    def __str__(self) -> str:
        head = f"Refinement in {len(self.rounds)} runs, aiming at "
        lines = [f"{head}{at_least(1 - self.target)} of draws that hold each rule"]
        for number, run in enumerate(self.rounds):
            length = "in full" if run.is_full else "short"
            lines.append(f"  run {number + 1}, {length}: {run} ({run.seconds:.1f} s)")
            lines += [f"    {_rule_line(rule)}" for rule in run.rules]
        lines.append(f"  {self.error_is} is the training error")
        return "\n".join(lines)


def _rule_line(rule: RuleRound) -> str:
    low, middle, _ = rule.slack
    return (
        f"{rule.rule}: {at_least(rule.held)} hold it, weight {rule.strength:.4g}, "
        f"slack left {low:.3f} (5 %) and {middle:.3f} (median), least {rule.worst:.3f}"
    )


def _plain(run: Round) -> dict[str, Any]:
    rules = [
        {**dataclasses.asdict(rule), "slack": list(rule.slack)} for rule in run.rules
    ]
    return {**dataclasses.asdict(run), "rules": rules}


def _round(entry: Mapping[str, Any]) -> Round:
    rules = tuple(
        RuleRound(
            rule=str(rule["rule"]),
            held=float(rule["held"]),
            at_points=float(rule["at_points"]),
            worst=float(rule["worst"]),
            slack=(
                float(rule["slack"][0]),
                float(rule["slack"][1]),
                float(rule["slack"][2]),
            ),
            strength=float(rule["strength"]),
            added=int(rule["added"]),
        )
        for rule in entry["rules"]
    )
    return Round(
        is_full=bool(entry["is_full"]),
        draws=int(entry["draws"]),
        error=float(entry["error"]),
        seconds=float(entry["seconds"]),
        rules=rules,
    )


class RuleSearch(NamedTuple):
    """What was found about one rule in the draws of a run."""

    term: RuleTerm
    worst: Worst
    broken: Bool[np.ndarray, " draws"]  # by the search or at a test point
    at_points: float  # share of draws that break it where it was felt

    @property
    def share_broken(self) -> float:
        """The share of draws that break the rule somewhere."""
        return float(self.broken.mean())


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
    target = _with_rooms(target, refinement, key_room, explicit)
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
        looks = _look(target, predictive, run, refinement, key_now, most)
        if is_met(looks, refinement) and not draws.interrupted:
            # Too good to be true, perhaps.
            harder = dataclasses.replace(
                refinement, starts=2 * refinement.starts, steps=2 * refinement.steps
            )
            key_harder = jax.random.fold_in(key_now, 1)
            looks = _look(target, predictive, run, harder, key_harder, most)
        met = is_met(looks, refinement)
        is_last = draws.interrupted or (is_full and (met or spent >= refinement.rounds))
        added, drawn_from = {}, target
        if not (is_last or met) and spent < refinement.rounds:
            target, added = _with_points(
                target, looks, refinement, spent, broken_before
            )
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


def is_met(looks: list[RuleSearch], refinement: Refinement) -> bool:
    """Whether no rule is broken by more draws than may."""
    return all(look.share_broken <= refinement.target for look in looks)


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

    Parameters
    ----------
    points
        Where rules are broken.
    depth
        By how much.
    width
        That of the region, which distances are measured in.
    count
        How many to choose; fewer when points are the same.
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
    target: Target, refinement: Refinement, key: RandomKey, explicit: bool
) -> Target:
    """The target, whose refined rules have room for points."""
    keys = jax.random.split(key, len(target.rules))
    rules = []
    for term, room_key in zip(target.rules, keys, strict=True):
        strict, inputs = is_strict(term.bound), len(term.bound.schema.inputs)
        walks = strict and inputs >= _WALK_FROM
        if strict or (explicit and term.bound.is_checkable):
            each = _WALKERS_PER_INPUT if walks else _POINTS_PER_INPUT
            usual = max(term.count, each * inputs)
            term = with_room(term, refinement.points or usual, room_key)  # noqa: PLW2901
        rules.append(with_reach(term, _WALK) if walks else term)
    return dataclasses.replace(target, rules=tuple(rules))


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


def _look(
    target: Target,
    predictive: Predictive,
    run: Run,
    refinement: Refinement,
    key: RandomKey,
    most: int,
) -> list[RuleSearch]:
    """Search the region of every rule that has room for points."""
    looks = []
    for number, term in enumerate(target.rules):
        if not term.found:
            continue
        key_search, key_test = jax.random.split(jax.random.fold_in(key, number))
        worst = find_worst(
            predictive,
            term,
            key_search,
            starts=refinement.starts,
            steps=refinement.steps,
            most=most,
            rows=run.data[0],
        )
        tests = term.many(key_test, refinement.test_points)
        at_tests = draws_broken_at(predictive, term, tests, most).any(axis=1)
        places = term.places
        at_points = draws_broken_at(predictive, term, places, most).any(axis=1)
        broken = worst.broken | at_tests | at_points
        looks.append(RuleSearch(term, worst, broken, float(at_points.mean())))
    return looks


def _with_points(
    target: Target,
    looks: list[RuleSearch],
    refinement: Refinement,
    spent: int,
    broken_before: dict[str, float],
) -> tuple[Target, dict[str, int]]:
    """Rules that are felt where they were broken; how many points each one got."""
    terms: dict[str, RuleTerm] = {}
    added: dict[str, int] = {}
    for look in looks:
        name, term = look.term.bound.name, look.term
        if look.share_broken <= refinement.target or not look.worst.broken.any():
            continue
        kept = min(refinement.rounds, _KEPT)
        room = max(1, term.found // kept)
        start = min(spent % kept * room, term.found - room)
        depth = np.where(look.worst.broken, -look.worst.slack, 0.0)
        lower, upper = look.worst.points.min(axis=0), look.worst.points.max(axis=0)
        chosen = spread_out(look.worst.points, depth, upper - lower, room)
        # Where there are fewer than there is room for, each is felt more than once.
        points = np.resize(chosen, (room, chosen.shape[1]))
        weight = _weight(look, refinement.target, broken_before.get(name))
        terms[name] = with_found(term, slice(start, start + room), points, weight)
        added[name], broken_before[name] = len(chosen), look.share_broken
    rules = tuple(terms.get(old.bound.name, old) for old in target.rules)
    return dataclasses.replace(target, rules=rules), added


def _weight(look: RuleSearch, target: float, before: float | None) -> float:
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


def warn_if_unmet(record: RefinementRecord) -> None:
    """Tell that a rule is still broken by more draws than may."""
    if record.is_met:
        return
    worst = min(record.after.rules, key=lambda rule: rule.held)
    warn(
        f"after {len(record.rounds) - 1} rounds of refinement, rule {worst.rule!r} is "
        f"still broken somewhere by {1 - worst.held:.1%} of the draws (by "
        f"{1 - record.before.rules[0].held:.1%} before any), and {record.target:.1%} "
        'were allowed. Write strength="firm" if it is not, give it more rounds, '
        "refine=10, or look at its worst inputs: the data may contradict it.",
        InferenceWarning,
    )
