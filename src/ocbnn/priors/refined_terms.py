"""A rule that is also felt where functions were found to break it.

A law takes a mean over its points. Points that were found must not make the others, or
each other, count for less; so the weight grows with the number of points, and every
point costs what one of the rule's own did before any were found.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ocbnn.core.points import RefinedPoints
from ocbnn.core.types import RandomKey
from ocbnn.priors.reach import Reach
from ocbnn.priors.term import RuleTerm


def with_room(term: RuleTerm, count: int, key: RandomKey) -> RuleTerm:
    """The same rule with room for `count` found points, ordinary ones until then.

    All points together count for what the rule's own did, so little has changed.
    """
    keys = jax.random.split(key, -(-count // term.count))
    found = jnp.concatenate([term.fresh(one) for one in keys])[:count].astype(float)
    points = jnp.concatenate([term.points, found])
    weight = term.law.weight
    if term.law.at_each:
        weight = weight * (term.count / points.shape[0])
    parts = lambda one: (one.sampler, one.points, one.law.weight)
    sampler = RefinedPoints(term.sampler, found)
    return eqx.tree_at(parts, term, (sampler, points, weight))


def with_reach(
    term: RuleTerm, steps: int, ends: tuple[np.ndarray, np.ndarray] | None = None
) -> RuleTerm:
    """The same rule, whose points walk so many steps for each function.

    Only what is forbidden has an edge to walk to; other rules stay as they are.

    Parameters
    ----------
    term
        The rule.
    steps
        How many steps.
    ends
        The box that points stay in, in the units of the points; left out, the
        one around the region.
    """
    if not term.law.density.has_edge:
        return term
    lower, upper = map(term.inner, term.ends()) if ends is None else ends
    lower, upper = jnp.asarray(lower, float), jnp.asarray(upper, float)
    reach = Reach(lower, upper, term.region, steps, term.bound.schema.choices)
    there = lambda one: one.reach
    return eqx.tree_at(there, term, reach, is_leaf=lambda leaf: leaf is None)


def with_found(
    term: RuleTerm, places: slice, found: Float[np.ndarray, "new inputs"], weight: float
) -> RuleTerm:
    """The same rule with some of its room taken by points, and another weight.

    Parameters
    ----------
    term
        The rule.
    places
        Which of the room.
    found
        The points, in the user's units.
    weight
        What the rule weighs from now on.
    """
    assert isinstance(term.sampler, RefinedPoints)
    block = term.sampler.found.at[places].set(jnp.asarray(term.inner(found), float))
    points = term.points.at[term.count - term.found :].set(block)
    parts = lambda one: (one.sampler.found, one.points, one.law.weight)
    return eqx.tree_at(parts, term, (block, points, jnp.asarray(weight, float)))


def without_room(term: RuleTerm) -> RuleTerm:
    """The rule as it was given, without what refinements have added."""
    if not isinstance(term.sampler, RefinedPoints):
        return term
    own = term.points[: term.count - term.found]
    return RuleTerm(term.bound, term.sampler.base, own, term.scales, term.units)


def felt_fully(term: RuleTerm) -> float:
    """The weight at which each point costs what one of the rule's own did alone."""
    return float(term.law.weight) * term.count / (term.count - term.found)
