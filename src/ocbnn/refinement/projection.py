"""Projection: draws without rules, each moved to the nearest function that obeys.

A draw that breaks no rule stays as it was drawn, bit for bit. The others are moved
together, searched for inputs at which they break a rule still, and moved again with
these in mind, which every draw has of its own. Shapes never change, so that nothing is
compiled anew from round to round.
"""

import dataclasses
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from ocbnn.core.advice import Kind
from ocbnn.core.cores import map_on_cores
from ocbnn.core.processes import is_first
from ocbnn.core.rows import evenly
from ocbnn.core.sentences import Sentence
from ocbnn.core.types import RandomKey
from ocbnn.core.words import share
from ocbnn.errors import RuleError, SettingError
from ocbnn.inference.progress import make_reporter
from ocbnn.metrics.worst import draws_broken_at, find_worst
from ocbnn.posterior import Categorical
from ocbnn.predictive import Predictive
from ocbnn.priors import RuleTerm
from ocbnn.priors.refined_terms import without_room
from ocbnn.refinement.nearest import MovingDraws, Problem, make_reach, nearest
from ocbnn.refinement.projected import Distance, ProjectionRecord, RuleProjection
from ocbnn.refinement.settings import Refine, Refinement
from ocbnn.rules import BoundRule

# Draws that are moved or searched at a time.
_TOGETHER = 128
# Inputs of the data, and of each region, at which a function is to stay what it is.
_ROWS, _PLACES = 100, 25
# Draws that tell how much is known at each of them, and what counts as known, in
# standard units.
_FEW, _SURE = 500, 0.02
# The slack that draws are to keep, in natural sizes, and what a violation costs.
_MARGIN, _PENALTY = 0.02, 1.0
# By how much each of them grows where a draw has moved and breaks a rule still.
_WIDER, _DEARER, _TIMES = 1.5, 3.0, 6
# Counterexamples that each draw keeps for every rule; then the oldest make way.
_KEPT = 8
# Steps of a draw that moves for the first time, and again.
_STEPS, _STEPS_AGAIN = 500, 200
# Training rows at which it is measured how far draws have moved.
_MEASURED = 1000


class Projected(NamedTuple):
    """Draws that obey, which of them have moved, and what it took."""

    predictive: Predictive
    is_moved: Bool[np.ndarray, " draws"]
    record: ProjectionRecord


def as_obedience(refine: Refine) -> Refinement | None:
    """How a projection searches; None: not at all.

    Raises
    ------
    SettingError
        When it is something else.
    """
    if refine is None or refine is True:
        return Refinement()
    if refine is False:
        return None
    if isinstance(refine, Refinement):
        return refine
    if isinstance(refine, int):
        return Refinement(rounds=refine)
    raise SettingError(
        "refine must be True, False, a number of rounds or a Refinement, got "
        f"{refine!r}. Write refine=5."
    )


def refuse_without_slack(rules: Sequence[BoundRule]) -> None:
    """Refuse rules that no function can be moved by."""
    for bound in rules:
        if not bound.is_searchable:
            message = (
                f"rule {bound.name!r} cannot be searched: it does not say by how much "
                "a function violates it, so no function can be moved until it obeys. "
                "Write it with require, forbid or expect, or "
            )
            raise RuleError(Sentence(message, Kind.FIT_BY_PRIOR, "."))


class Violations(NamedTuple):
    """The worst violation that a search found, for every rule and draw.

    Attributes
    ----------
    points
        Where the draw breaks the rule most, in the user's units.
    slack
        What is left there.
    broken
        Whether it breaks it somewhere.
    """

    points: Float[np.ndarray, "rules draws inputs"]
    slack: Float[np.ndarray, "rules draws"]
    broken: Bool[np.ndarray, "rules draws"]

    def update(self, draws: Int[np.ndarray, " some"], other: "Violations") -> None:
        """Replace some of the draws by what another search found about them."""
        for old, new in zip(self, other, strict=True):
            old[:, draws] = new

    def worse(self, other: "Violations") -> "Violations":
        """For each draw, what is worse in one of two searches."""
        is_worse = (other.broken > self.broken) | (
            (other.broken == self.broken) & (other.slack < self.slack)
        )
        points = np.where(is_worse[..., None], other.points, self.points)
        slack = np.where(is_worse, other.slack, self.slack)
        return Violations(points, slack, self.broken | other.broken)

    def is_met(self, target: float) -> bool:
        """Whether no rule is broken by more draws than may."""
        return bool((self.broken.mean(axis=1) <= target).all())


def project(
    predictive: Predictive,
    terms: Sequence[RuleTerm],
    data: tuple[np.ndarray, np.ndarray],
    refinement: Refinement | None,
    key: RandomKey,
    *,
    outputs: Sequence[str],
    progress: object = "auto",
) -> Projected:
    """Move every draw that breaks a rule to the nearest function that does not.

    Parameters
    ----------
    predictive
        The draws.
    terms
        The rules.
    data
        Inputs, and outputs or class numbers, in the user's units.
    refinement
        How to search for what is still broken, and how often; None: draws are moved
        once.
    key
        Decides the points.
    outputs
        The names of outputs.
    progress
        As an estimator takes it.
    """
    started = time.monotonic()
    terms = tuple(without_room(term) for term in terms)
    refuse_without_slack([term.bound for term in terms])
    search = _Search(terms, refinement or Refinement(), data[0])
    key_search, key_move, key_problem = jax.random.split(key, 3)
    problem = _problem(predictive, terms, data[0], key_problem)
    all_draws = np.arange(predictive.size)
    now = predictive
    violations = search.look(now, all_draws, jax.random.fold_in(key_search, 0))
    before, times = violations.broken.mean(axis=1), np.zeros(predictive.size, int)
    counterexamples = [_no_counterexamples(term, predictive.size) for term in terms]
    most, number = 1 if refinement is None else refinement.rounds, 0
    while True:
        if violations.is_met(search.refinement.target):
            # Too good to be true, perhaps.
            again = jax.random.fold_in(key_search, 1000 + number)
            violations = violations.worse(search.look(now, all_draws, again))
        is_met = violations.is_met(search.refinement.target)
        _report(progress, number, violations)
        if number >= most or (is_met and (number or not violations.broken.any())):
            break
        draws = np.flatnonzero(violations.broken.any(axis=0))
        _keep_counterexamples(counterexamples, terms, violations, draws, times)
        key_now = jax.random.fold_in(key_move, number)
        now = _move(problem, predictive, now, counterexamples, times, draws, key_now)
        times[draws] += 1
        number += 1
        some = search.look(now, draws, jax.random.fold_in(key_search, number))
        violations.update(draws, some)
    after, worst = violations.broken.mean(axis=1), violations.slack.min(axis=1)
    rules = tuple(
        RuleProjection(term.bound.name, *map(float, numbers))
        for term, *numbers in zip(terms, before, after, worst, strict=True)
    )
    record = ProjectionRecord(
        search.refinement.target,
        predictive.size,
        int((times > 0).sum()),
        number,
        time.monotonic() - started,
        rules,
        distances(predictive, now, data, outputs),
    )
    return Projected(now, times > 0, record)


class _Search(NamedTuple):
    """Looks for inputs at which draws break rules."""

    terms: tuple[RuleTerm, ...]
    refinement: Refinement
    rows: np.ndarray

    def look(
        self, now: Predictive, draws: Int[np.ndarray, " some"], key: RandomKey
    ) -> Violations:
        """What some of the draws break, and where."""

        def look_at(block: tuple[np.ndarray, int]) -> Violations:
            rows, count = block
            chosen = jax.tree.map(lambda a: a[rows], now.draws)
            some = dataclasses.replace(now, draws=chosen)
            pairs = enumerate(self.terms)
            rules = [self._rule(some, t, jax.random.fold_in(key, n)) for n, t in pairs]
            fields = zip(*rules, strict=True)
            return Violations(*(np.stack(f)[:, :count] for f in fields))

        fields = zip(*map_on_cores(look_at, _blocks(draws, now.size)), strict=True)
        return Violations(*(np.concatenate(field, axis=1) for field in fields))

    def _rule(self, some: Predictive, term: RuleTerm, key: RandomKey) -> Violations:
        key_search, key_test = jax.random.split(key)
        starts, steps = self.refinement.starts, self.refinement.steps
        worst = find_worst(
            some, term, key_search, starts=starts, steps=steps, rows=self.rows
        )
        tests = term.many(key_test, self.refinement.test_points)
        tests = np.concatenate([tests, term.places])
        at_tests = draws_broken_at(some, term, tests)
        # The search follows slopes, and may pass by what a point of the region shows.
        caught = at_tests.any(axis=1) & ~worst.broken
        points = np.where(caught[:, None], tests[at_tests.argmax(axis=1)], worst.points)
        tiny = np.finfo(np.float32).tiny
        slack = np.where(caught, np.minimum(worst.slack, -tiny), worst.slack)
        return Violations(points, slack, worst.broken | caught)


def _blocks(
    draws: Int[np.ndarray, " some"], size: int
) -> Iterator[tuple[np.ndarray, int]]:
    """Numbers of a few draws at a time, always as many, and how many are real."""
    together = min(_TOGETHER, 2 ** int(np.ceil(np.log2(size))))
    for start in range(0, len(draws), together):
        some = draws[start : start + together]
        filled = np.repeat(some[-1:], together - len(some))
        yield np.concatenate([some, filled]), len(some)


def _problem(
    predictive: Predictive, terms: tuple[RuleTerm, ...], X: np.ndarray, key: RandomKey
) -> Problem:
    rows = X[evenly(len(X), _ROWS)]
    places = [
        term.many(jax.random.fold_in(key, number), _PLACES)
        for number, term in enumerate(terms)
    ]
    reference = np.concatenate([rows, *places])
    values = predictive.thinned(_FEW).inner_functions(reference)
    # Where draws agree, data have spoken, and a function is to stay what it is; where
    # they do not, it may give way.
    precision = 1.0 / (values.var(axis=0) + _SURE**2)
    precision = precision / precision.mean(axis=0)
    if predictive.units is not None:
        reference = predictive.units.standard_inputs(reference)
    return Problem(
        terms,
        tuple(map(make_reach, terms)),
        jnp.asarray(reference, float),
        jnp.asarray(precision, float),
    )


def _no_counterexamples(
    term: RuleTerm, size: int
) -> Float[np.ndarray, "draws kept inputs"]:
    """Room for counterexamples; points of the rule until some are found."""
    points = np.resize(np.asarray(term.points), (_KEPT, term.points.shape[1]))
    return np.repeat(points[None], size, axis=0)


def _keep_counterexamples(
    counterexamples: list[np.ndarray],
    terms: tuple[RuleTerm, ...],
    violations: Violations,
    draws: Int[np.ndarray, " some"],
    times: Int[np.ndarray, " draws"],
) -> None:
    """Give each draw the inputs at which it was seen to break rules."""
    for place, term in enumerate(terms):
        broken = draws[violations.broken[place, draws]]
        inner = term.inner(violations.points[place, broken])
        counterexamples[place][broken, times[broken] % _KEPT] = inner


def _moving_draws(
    free: Predictive,
    now: Predictive,
    counterexamples: list[np.ndarray],
    times: Int[np.ndarray, " draws"],
    rows: Int[np.ndarray, " block"],
) -> MovingDraws:
    """Some draws; each that has moved before keeps more slack, at a higher price."""
    again = np.minimum(times[rows], _TIMES).astype(float)
    chosen = lambda tree: jax.tree.map(lambda a: jnp.asarray(a[rows]), tree)
    return MovingDraws(
        chosen(free.draws.weights),
        chosen(now.draws.weights),
        tuple(jnp.asarray(points[rows], float) for points in counterexamples),
        jnp.asarray(_MARGIN * _WIDER**again, float),
        jnp.asarray(_PENALTY * _DEARER**again, float),
        jnp.asarray(again > 0),
    )


def _move(
    problem: Problem,
    free: Predictive,
    now: Predictive,
    counterexamples: list[np.ndarray],
    times: Int[np.ndarray, " draws"],
    draws: Int[np.ndarray, " some"],
    key: RandomKey,
) -> Predictive:
    """The draws with some of them moved; those that got lost stay where they are."""
    leaves, pattern = jax.tree.flatten(jax.tree.map(np.array, now.draws.weights))
    blocks = list(_blocks(draws, now.size))

    def arrive(place: int) -> list[np.ndarray]:
        rows, count = blocks[place]
        some = _moving_draws(free, now, counterexamples, times, rows)
        steps = jnp.asarray(_STEPS_AGAIN if times[rows].all() else _STEPS)
        key_block = jax.random.fold_in(key, place)
        arrived = nearest(now.network, problem, some, steps, key_block)
        return [np.asarray(leaf)[:count] for leaf in jax.tree.leaves(arrived)]

    arrivals = map_on_cores(arrive, range(len(blocks)))
    for (rows, count), new in zip(blocks, arrivals, strict=True):
        fine = np.all(
            [np.isfinite(leaf).reshape(count, -1).all(axis=1) for leaf in new], axis=0
        )
        for leaf, changed in zip(leaves, new, strict=True):
            leaf[rows[:count][fine]] = changed[fine]
    weights = jax.tree.unflatten(pattern, leaves)
    return dataclasses.replace(now, draws=now.draws._replace(weights=weights))


def distances(
    free: Predictive,
    now: Predictive,
    data: tuple[np.ndarray, np.ndarray],
    outputs: Sequence[str],
) -> tuple[Distance, ...]:
    """How far draws have moved at the training rows, output by output.

    Parameters
    ----------
    free
        The draws before.
    now
        The same draws afterwards.
    data
        Inputs, and outputs or class numbers, in the user's units.
    outputs
        The names of outputs.
    """
    rows = evenly(len(data[0]), _MEASURED)
    X, Y = data[0][rows], data[1]
    values = [predictive.functions(X) for predictive in (free, now)]
    if isinstance(free.likelihood, Categorical):
        gap = np.subtract(*map(_probabilities, values))
        moved = np.sqrt(np.mean(gap**2, axis=(1, 2)))
        return (Distance(outputs[0], _quantiles(moved), None, None),)
    gap = values[1] - values[0]
    # A ratio of medians, as its sentence says; of a draw's noise at all rows.
    noise = np.median(np.sqrt(np.mean(free.noise_at(X) ** 2, axis=1)), axis=0)
    moved = np.sqrt(np.mean(gap**2, axis=1))
    spread = np.where(Y.std(axis=0) > 0, Y.std(axis=0), 1.0)
    return tuple(
        Distance(
            output,
            _quantiles(moved[:, place]),
            float(np.median(moved[:, place]) / noise[place]),
            float(np.median(moved[:, place]) / spread[place]),
        )
        for place, output in enumerate(outputs)
    )


def _probabilities(logits: np.ndarray) -> np.ndarray:
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def _quantiles(moved: Float[np.ndarray, " draws"]) -> tuple[float, float, float, float]:
    low, middle, high, most = np.quantile(moved, [0.05, 0.5, 0.95, 1.0])
    return float(low), float(middle), float(high), float(most)


def _report(progress: object, number: int, violations: Violations) -> None:
    with make_reporter(progress if is_first() else False) as reporter:
        reporter.begin(f"projection, round {number}", None)
        broken = float(violations.broken.any(axis=0).mean())
        reporter.finish(f"{share(broken)} of draws break a rule somewhere")
