"""Points that a refinement adds: where they go, which are chosen, what they cost."""

import dataclasses

import jax
import numpy as np
from jaxtyping import Float

from ocbnn.core.types import RandomKey
from ocbnn.posterior import Target
from ocbnn.priors import RuleTerm
from ocbnn.priors.refined_terms import full_weight, with_added, with_reach, with_room
from ocbnn.refinement.rule_search import RuleSearch
from ocbnn.refinement.settings import Refinement, is_strict

# The weight of a rule grows by this factor when draws still break it.
_GROWTH = 3.0
# And by no more than this in all: steeper penalties do not help, and chains get stuck.
_MAX_GROWTH = 81.0
_POINTS_PER_INPUT = 50
# Points that walk need fewer per input; how many steps they take, and from how many
# inputs on they walk. With one input, fixed points lie close enough together, and
# chains move more freely.
_WALKERS_PER_INPUT, _WALK, _WALK_FROM = 10, 8, 2
# Points of this many rounds are kept; newer ones then replace the oldest.
_KEPT_ROUNDS = 3
# Points closer than this, in widths of the region, count as one.
_SAME_POINT = 1e-4


def with_rooms(
    target: Target, refinement: Refinement, key: RandomKey, explicit: bool
) -> Target:
    """The target, with room for new points in the rules to be refined."""
    keys = jax.random.split(key, len(target.rules))
    rules = []
    for term, room_key in zip(target.rules, keys, strict=True):
        strict, inputs = is_strict(term.bound), len(term.bound.schema.inputs)
        walks = strict and inputs >= _WALK_FROM
        if strict or (explicit and term.bound.is_searchable):
            per_input = _WALKERS_PER_INPUT if walks else _POINTS_PER_INPUT
            default = max(term.count, per_input * inputs)
            term = with_room(term, refinement.points or default, room_key)  # noqa: PLW2901
        rules.append(with_reach(term, _WALK) if walks else term)
    return dataclasses.replace(target, rules=tuple(rules))


def with_points(
    target: Target,
    searches: list[RuleSearch],
    refinement: Refinement,
    rounds_done: int,
    earlier_shares: dict[str, float],
) -> tuple[Target, dict[str, int]]:
    """The target with points where rules were broken; how many each rule got."""
    terms: dict[str, RuleTerm] = {}
    added: dict[str, int] = {}
    for search in searches:
        name, term = search.term.bound.name, search.term
        if search.share_broken <= refinement.target or not search.worst.broken.any():
            continue
        kept_rounds = min(refinement.rounds, _KEPT_ROUNDS)
        slots = max(1, term.added // kept_rounds)
        start = min(rounds_done % kept_rounds * slots, term.added - slots)
        depth = np.where(search.worst.broken, -search.worst.slack, 0.0)
        low, high = search.worst.points.min(axis=0), search.worst.points.max(axis=0)
        chosen = spread_out(search.worst.points, depth, high - low, slots)
        # With fewer points than slots, points are repeated to fill them.
        points = np.resize(chosen, (slots, chosen.shape[1]))
        weight = _weight(search, refinement.target, earlier_shares.get(name))
        terms[name] = with_added(term, slice(start, start + slots), points, weight)
        added[name], earlier_shares[name] = len(chosen), search.share_broken
    rules = tuple(terms.get(old.bound.name, old) for old in target.rules)
    return dataclasses.replace(target, rules=rules), added


def spread_out(
    points: Float[np.ndarray, "draws inputs"],
    depth: Float[np.ndarray, " draws"],
    width: Float[np.ndarray, " inputs"],
    count: int,
) -> Float[np.ndarray, "chosen inputs"]:
    """Some of the points: those with deep violations, far from each other.

    Every draw has its own worst input, and many are nearly the same. Points are chosen
    one by one: the next is far from all chosen so far, and its violation is deep.

    Parameters
    ----------
    points
        Inputs at which a rule is violated.
    depth
        By how much.
    width
        The region's width, the unit of distances.
    count
        How many to choose; fewer when points coincide.
    """
    unit = points / np.where(width > 0, width, 1.0)
    weight = np.sqrt(depth / depth.max())
    chosen = [int(np.argmax(depth))]
    gaps = np.full(len(points), np.inf)
    while len(chosen) < count:
        gaps = np.minimum(gaps, np.abs(unit - unit[chosen[-1]]).max(axis=1))
        best = int(np.argmax(gaps * weight))
        if gaps[best] < _SAME_POINT:
            break
        chosen.append(best)
    return points[chosen]


def _weight(search: RuleSearch, target: float, earlier_share: float | None) -> float:
    """The rule's weight for the next run.

    A firm rule gets a larger weight when draws break it at its own points, and when new
    points have not halved the share of draws that break it.
    """
    is_first = earlier_share is None
    weight = full_weight(search.term) if is_first else float(search.term.law.weight)
    initial = _initial_weight(search.term)
    is_stuck = earlier_share is not None and search.share_broken > 0.5 * earlier_share
    if is_strict(search.term.bound) and (search.at_points > target or is_stuck):
        return min(weight * _GROWTH, initial * _MAX_GROWTH)
    return weight


def _initial_weight(term: RuleTerm) -> float:
    """The rule's weight as it was given, if each of its points counted in full."""
    total = float(
        RuleTerm(term.bound, term.sampler, term.points, term.scales).law.weight
    )
    return total if term.law.at_each else total * term.count / (term.count - term.added)
