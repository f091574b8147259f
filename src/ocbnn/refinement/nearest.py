r"""The nearest function that obeys: weights that move downhill, for many draws at once.

A draw with function $f_s$ moves to weights that make
$\mathrm{mean}_x\, p_x (f(x) - f_s(x))^2 + \lambda \sum_i v_i(f)^2$ small, with a mean
over reference inputs, all in standard units. Here $p_x$ is how surely draws know the
function at an input, $v_i = \max(0, m - \mathrm{slack})$ is what a rule lacks at a
point, and $m$ a margin that leaves room for what is not seen. The price $\lambda$ rises
on the way, so that a function changes its shape while that is cheap.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ocbnn.core.promotion import third_party
from ocbnn.core.types import Function, Inputs, Position, RandomKey, Scalar
from ocbnn.inference.optimisers import adam
from ocbnn.networks import Network
from ocbnn.priors import RuleTerm
from ocbnn.priors.law import Law
from ocbnn.priors.reach import Reach

# The size of Adam's first step; it falls to zero, along a cosine.
_RATE = 0.02
# New points of each rule in every step, for one input and for each further one.
_FRESH, _FRESH_PER_INPUT = 16, 4
# Points that walk to a draw's worst places, how many begin anew at a time, after how
# many steps, and how far they walk.
_WALKERS, _RESTARTED, _WALK_EVERY, _WALK = 16, 4, 10, 8
# A weight counts for little beside the function, but among equals the nearest is taken.
_WEIGHT_PULL = 1e-3
# By how much the price of a violation rises in one descent.
_RISE = 1000.0
# No violation counts for more: some claims lack an infinity where they have no value.
_LARGEST = 1e3


class Problem(NamedTuple):
    """The rules that draws are to obey, and what is to stay as it is.

    Attributes
    ----------
    terms
        The rules, with the samplers of their points.
    reaches
        How far points of each rule walk.
    reference
        Inputs at which a function is to stay what it is, in standard units.
    precision
        How much each of its outputs there is to stay; one on average.
    """

    terms: tuple[RuleTerm, ...]
    reaches: tuple[Reach, ...]
    reference: Inputs
    precision: Float[Array, "rows outputs"]


class MovingDraws(NamedTuple):
    """Some draws, along the first axis of everything.

    Attributes
    ----------
    drawn
        Their weights as they were drawn.
    weights
        Their weights now.
    counterexamples
        For each rule, inputs at which they were seen to break it.
    margin
        How much slack they are to keep, in natural sizes.
    penalty
        What a violation costs them at the end of the descent.
    is_again
        Whether they have moved before; then a violation costs as much from the start.
    """

    drawn: Position
    weights: Position
    counterexamples: tuple[Float[Array, "draws _ inputs"], ...]
    margin: Float[Array, " draws"]
    penalty: Float[Array, " draws"]
    is_again: Bool[Array, " draws"]


def make_reach(term: RuleTerm) -> Reach:
    """How far points of a rule walk: within its region."""
    lower, upper = (jnp.asarray(term.inner(end), float) for end in term.ends())
    return Reach(lower, upper, term.region, _WALK, term.bound.schema.choices)


@eqx.filter_jit
def nearest(
    network: Network,
    problem: Problem,
    draws: MovingDraws,
    steps: Int[Array, ""],
    key: RandomKey,
) -> Position:
    """Where the draws arrive after some steps.

    Rules are felt at new points in every step, at inputs where draws were seen to break
    them, and where points arrive that walk to each draw's own worst places.
    """
    drawn_values = jax.vmap(network.batch, (0, None))(draws.drawn, problem.reference)
    optimiser = adam(1.0)
    walkers = tuple(
        jnp.concatenate([own[:, :1]] * _WALKERS, axis=1)
        for own in draws.counterexamples
    )

    def phase(number: Array, state: _Descent) -> _Descent:
        key_now, key_walk = jax.random.split(jax.random.fold_in(key, number))
        walkers = _move_walkers(network, problem, state, number, key_walk)

        def step(place: Array, state: _Descent) -> _Descent:
            fresh = _fresh_points(problem, jax.random.fold_in(key_now, place))
            # Three quarters of the way up, and level from there on.
            way = (number * _WALK_EVERY + place).astype(float) / steps.astype(float)
            risen = jnp.where(draws.is_again, 1.0, jnp.minimum(1.0, way / 0.75))
            price = draws.penalty * _RISE ** (risen - 1.0)
            rate = 0.5 * _RATE * (1.0 + jnp.cos(jnp.pi * way))

            def total_cost(weights: Position) -> Scalar:
                cost = lambda *draw: _cost(network, problem, fresh, *draw)
                known = draws.drawn, drawn_values, walkers, draws.counterexamples
                return jnp.sum(jax.vmap(cost)(weights, *known, draws.margin, price))

            slopes = jax.grad(total_cost)(state.weights)
            slopes = jax.tree.map(lambda a: jnp.where(jnp.isfinite(a), a, 0.0), slopes)
            with third_party():
                moves, memory = optimiser.update(slopes, state.memory, state.weights)
            weights = jax.tree.map(lambda a, b: a + rate * b, state.weights, moves)
            return state._replace(weights=weights, memory=memory)

        state = state._replace(walkers=walkers)
        return jax.lax.fori_loop(0, _WALK_EVERY, step, state)

    first = _Descent(draws.weights, optimiser.init(draws.weights), walkers)
    return jax.lax.fori_loop(0, steps // _WALK_EVERY, phase, first).weights


class _Descent(NamedTuple):
    """Draws on their way, what Adam remembers, and points that walk for each draw."""

    weights: Position
    memory: Any
    walkers: tuple[Float[Array, "draws _ inputs"], ...]


def _move_walkers(
    network: Network, problem: Problem, state: _Descent, number: Array, key: RandomKey
) -> tuple[Float[Array, "draws _ inputs"], ...]:
    """The points that walk; some of them begin anew, and the latest are kept."""
    moved = []
    points = _fresh_points(problem, key)
    for term, reach, xs, walkers in zip(
        problem.terms, problem.reaches, points, state.walkers, strict=True
    ):
        starts = jnp.concatenate([xs] * -(-_RESTARTED // xs.shape[0]))[:_RESTARTED]
        walk = lambda weights, t=term, r=reach, s=starts: r.walked(
            t.law, lambda x: network.apply(weights, x), s
        )
        arrived = jax.vmap(walk)(state.weights)
        place = (number * _RESTARTED) % _WALKERS
        all_ = jax.lax.dynamic_update_slice_in_dim(walkers, arrived, place, axis=1)
        # At first there are none to keep.
        everywhere = jnp.concatenate([arrived] * (_WALKERS // _RESTARTED), axis=1)
        moved.append(jnp.where(number == 0, everywhere, all_))
    return tuple(moved)


def _fresh_points(problem: Problem, key: RandomKey) -> list[Float[Array, "_ inputs"]]:
    """A few points of each rule; each step sees others, so few are enough."""
    keys = jax.random.split(key, len(problem.terms))
    return [_few_points(term, k) for term, k in zip(problem.terms, keys, strict=True)]


def _few_points(term: RuleTerm, key: RandomKey) -> Inputs:
    key_points, key_order = jax.random.split(key)
    points = term.ordinary(key_points).astype(float)
    most = _FRESH + _FRESH_PER_INPUT * points.shape[1]
    if points.shape[0] <= most:
        return points
    return jax.random.permutation(key_order, points)[:most]


def _cost(
    network: Network,
    problem: Problem,
    points: Sequence[Float[Array, "_ inputs"]],
    weights: Position,
    drawn: Position,
    drawn_values: Float[Array, "reference outputs"],
    walkers: tuple[Float[Array, "_ inputs"], ...],
    counterexamples: tuple[Float[Array, "_ inputs"], ...],
    margin: Scalar,
    penalty: Scalar,
) -> Scalar:
    """What one draw pays: for having moved, and for what rules lack."""
    values = network.batch(weights, problem.reference)
    away = jnp.mean(jnp.sum(problem.precision * (values - drawn_values) ** 2, axis=-1))
    pairs = zip(jax.tree.leaves(weights), jax.tree.leaves(drawn), strict=True)
    drift = sum(jnp.sum((a - b) ** 2) for a, b in pairs)
    broken = jnp.zeros((), away.dtype)
    by_rule = zip(problem.terms, points, walkers, counterexamples, strict=True)
    for term, *xs in by_rule:
        function = lambda x: network.apply(weights, x)
        shortfall = _shortfall(term.law, function, jnp.concatenate(xs), margin)
        broken += jnp.sum(shortfall**2)
    return away + _WEIGHT_PULL * drift + penalty * broken


def _shortfall(
    law: Law, function: Function, xs: Inputs, margin: Scalar
) -> Float[Array, " points"]:
    """What a rule lacks at each point; zero where it leaves the margin."""
    slack = jax.vmap(lambda x: law.slack(function, x))(xs)
    return jnp.clip(margin - slack, 0.0, _LARGEST)
