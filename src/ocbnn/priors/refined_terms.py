"""A rule that is also evaluated at points where draws were found to violate it.

A law takes a mean over its points. Added points must not make the others, or each
other, count for less. So the weight grows with the number of points, and every point
counts as much as one of the rule's own points did before any were added.
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
    """The same rule with room for `count` added points, which are ordinary at first.

    All points together count as much as the rule's own did, so little changes.
    """
    keys = jax.random.split(key, -(-count // term.count))
    blocks = [term.fresh(block_key) for block_key in keys]
    new_points = jnp.concatenate(blocks)[:count].astype(float)
    points = jnp.concatenate([term.points, new_points])
    weight = term.law.weight
    if term.law.at_each:
        weight = weight * (term.count / points.shape[0])
    leaves = lambda term: (term.sampler, term.points, term.law.weight)
    sampler = RefinedPoints(term.sampler, new_points)
    return eqx.tree_at(leaves, term, (sampler, points, weight))


def with_reach(
    term: RuleTerm, steps: int, ends: tuple[np.ndarray, np.ndarray] | None = None
) -> RuleTerm:
    """The same rule, whose points walk this many steps for each function.

    Only rules that forbid something have an edge to walk to; others are returned as
    they are.

    Parameters
    ----------
    term
        The rule.
    steps
        How many steps.
    ends
        The box that points stay in, in the units of the points; the box around the
        region when left out.
    """
    if not term.law.density.has_edge:
        return term
    lower, upper = map(term.inner, term.ends()) if ends is None else ends
    lower, upper = jnp.asarray(lower, float), jnp.asarray(upper, float)
    reach = Reach(lower, upper, term.region, steps, term.bound.schema.choices)
    reach_of = lambda term: term.reach
    return eqx.tree_at(reach_of, term, reach, is_leaf=lambda leaf: leaf is None)


def with_added(
    term: RuleTerm,
    slots: slice,
    new_points: Float[np.ndarray, "new inputs"],
    weight: float,
) -> RuleTerm:
    """The same rule with added points in some of its slots, and another weight.

    Parameters
    ----------
    term
        The rule.
    places
        Which slots.
    new_points
        The points, in the user's units.
    weight
        The rule's weight from now on.
    """
    assert isinstance(term.sampler, RefinedPoints)
    block = term.sampler.added.at[slots].set(jnp.asarray(term.inner(new_points), float))
    points = term.points.at[term.count - term.added :].set(block)
    leaves = lambda term: (term.sampler.added, term.points, term.law.weight)
    return eqx.tree_at(leaves, term, (block, points, jnp.asarray(weight, float)))


def without_room(term: RuleTerm) -> RuleTerm:
    """The rule as it was given, without the points that refinements added."""
    if not isinstance(term.sampler, RefinedPoints):
        return term
    own = term.points[: term.count - term.added]
    return RuleTerm(term.bound, term.sampler.base, own, term.scales, term.units)


def full_weight(term: RuleTerm) -> float:
    """The weight at which each point counts as much as one of the rule's own did."""
    return float(term.law.weight) * term.count / (term.count - term.added)
