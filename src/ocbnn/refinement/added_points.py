"""Points that a refinement adds: room for them, which are chosen, what they cost."""

import dataclasses

import jax
import numpy as np
from jaxtyping import Float

from ocbnn.core.types import RandomKey
from ocbnn.posterior import Target
from ocbnn.priors import RuleTerm
from ocbnn.priors.refined_terms import felt_fully, with_found, with_reach, with_room
from ocbnn.refinement.rule_search import RuleSearch
from ocbnn.refinement.settings import Refinement, is_strict

# The cost of a violation grows by this much where it was not enough.
_FACTOR = 3.0
# And by this much in all: a steeper cliff is no better guard, and chains get stuck.
_MOST = 81.0
_POINTS_PER_INPUT = 50
# As many are enough where points walk, the steps that they take, and from how many
# inputs on. With one, fixed points lie close enough, and chains move more freely.
_WALKERS_PER_INPUT, _WALK, _WALK_FROM = 10, 8, 2
# Points of so many rounds are kept; then the oldest make way.
_KEPT = 3
# Points this close, in widths of the region, are one.
_SAME = 1e-4


def with_rooms(
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


def with_points(
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
