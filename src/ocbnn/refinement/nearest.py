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
from jaxtyping import Array, Float

from ocbnn.core.promotion import third_party
from ocbnn.core.types import Function, Inputs, Position, RandomKey, Scalar
from ocbnn.inference.optimisers import fading_adam
from ocbnn.networks import Network
from ocbnn.priors import RuleTerm
from ocbnn.priors.law import Law
from ocbnn.priors.reach import Reach

# Steps of Adam, and the size of the first.
STEPS, _RATE = 1000, 0.02
# New points of each rule in every step, for one input and for each further one.
_POINTS, _POINTS_PER_INPUT = 16, 4
# Points that walk to a draw's worst places, how many begin anew at a time, after how
# many steps, and how far they walk.
_WALKERS, _BEGIN, _WALK_EVERY, _WALK = 16, 4, 10, 8
# A weight counts for little beside the function, but among equals the nearest is taken.
_PULL = 1e-3
# By how much the price of a violation rises in one descent.
_RISE = 1000.0
# No violation counts for more: some claims lack an infinity where they have no value.
_MOST = 1e3


class Wish(NamedTuple):
    """What draws are asked for.

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


class Movers(NamedTuple):
    """Some draws, along the first axis of everything.

    Attributes
    ----------
    free
        Their weights as they were drawn.
    now
        Where they are.
    found
        For each rule, inputs at which they were seen to break it.
    margin
        How much slack they are to keep, in natural sizes.
    penalty
        What a violation costs them at the end of the descent.
    """

    free: Position
    now: Position
    found: tuple[Float[Array, "draws _ inputs"], ...]
    margin: Float[Array, " draws"]
    penalty: Float[Array, " draws"]


def make_reach(term: RuleTerm) -> Reach:
    """How far points of a rule walk: within its region."""
    lower, upper = (jnp.asarray(term.inner(end), float) for end in term.ends())
    return Reach(lower, upper, term.region, _WALK, term.bound.schema.choices)


@eqx.filter_jit
def nearest(network: Network, wish: Wish, movers: Movers, key: RandomKey) -> Position:
    """Where the draws arrive.

    Rules are felt at new points in every step, at inputs where draws were seen to break
    them, and where points arrive that walk to each draw's own worst places.
    """
    wanted = jax.vmap(network.batch, (0, None))(movers.free, wish.reference)
    optimiser = fading_adam(_RATE, STEPS)
    begin = [jnp.concatenate([own[:, :1]] * _WALKERS, axis=1) for own in movers.found]

    def phase(number: Array, moving: _Moving) -> _Moving:
        key_now, key_walk = jax.random.split(jax.random.fold_in(key, number))
        walkers = _walked(network, wish, moving, number, key_walk)

        def step(place: Array, moving: _Moving) -> _Moving:
            fresh = _points(wish, jax.random.fold_in(key_now, place))
            # Three quarters of the way up, and level from there on.
            way = (number * _WALK_EVERY + place).astype(float) / (0.75 * STEPS)
            price = movers.penalty * _RISE ** (jnp.minimum(1.0, way) - 1.0)

            def cost(now: Position) -> Scalar:
                one = lambda *draw: _cost(network, wish, fresh, *draw)
                known = movers.free, wanted, walkers, movers.found
                return jnp.sum(jax.vmap(one)(now, *known, movers.margin, price))

            slopes = jax.grad(cost)(moving.now)
            slopes = jax.tree.map(lambda a: jnp.where(jnp.isfinite(a), a, 0.0), slopes)
            with third_party():
                moves, memory = optimiser.update(slopes, moving.memory, moving.now)
            now = jax.tree.map(jnp.add, moving.now, moves)
            return moving._replace(now=now, memory=memory)

        moving = moving._replace(walkers=walkers)
        return jax.lax.fori_loop(0, _WALK_EVERY, step, moving)

    first = _Moving(movers.now, optimiser.init(movers.now), tuple(begin))
    return jax.lax.fori_loop(0, STEPS // _WALK_EVERY, phase, first).now


class _Moving(NamedTuple):
    """Draws on their way, what Adam remembers, and points that walk for each draw."""

    now: Position
    memory: Any
    walkers: tuple[Float[Array, "draws _ inputs"], ...]


def _walked(
    network: Network, wish: Wish, moving: _Moving, number: Array, key: RandomKey
) -> tuple[Float[Array, "draws _ inputs"], ...]:
    """The points that walk; some of them begin anew, and the latest are kept."""
    found = []
    points = _points(wish, key)
    for term, reach, xs, walkers in zip(
        wish.terms, wish.reaches, points, moving.walkers, strict=True
    ):
        begin = jnp.concatenate([xs] * -(-_BEGIN // xs.shape[0]))[:_BEGIN]
        walk = lambda weights, t=term, r=reach, b=begin: r.walked(
            t.law, lambda x: network.apply(weights, x), b
        )
        arrived = jax.vmap(walk)(moving.now)
        place = (number * _BEGIN) % _WALKERS
        all_ = jax.lax.dynamic_update_slice_in_dim(walkers, arrived, place, axis=1)
        # At first there are none to keep.
        everywhere = jnp.concatenate([arrived] * (_WALKERS // _BEGIN), axis=1)
        found.append(jnp.where(number == 0, everywhere, all_))
    return tuple(found)


def _points(wish: Wish, key: RandomKey) -> list[Float[Array, "_ inputs"]]:
    """A few points of each rule; steps see others, so there is no need of many."""
    keys = jax.random.split(key, len(wish.terms))
    return [_some(term, one) for term, one in zip(wish.terms, keys, strict=True)]


def _some(term: RuleTerm, key: RandomKey) -> Inputs:
    key_points, key_order = jax.random.split(key)
    points = term.ordinary(key_points).astype(float)
    most = _POINTS + _POINTS_PER_INPUT * points.shape[1]
    if points.shape[0] <= most:
        return points
    return jax.random.permutation(key_order, points)[:most]


def _cost(
    network: Network,
    wish: Wish,
    points: Sequence[Float[Array, "_ inputs"]],
    now: Position,
    free: Position,
    wanted: Float[Array, "reference outputs"],
    walkers: tuple[Float[Array, "_ inputs"], ...],
    found: tuple[Float[Array, "_ inputs"], ...],
    margin: Scalar,
    penalty: Scalar,
) -> Scalar:
    """What one draw pays: for having moved, and for what rules lack."""
    values = network.batch(now, wish.reference)
    away = jnp.mean(jnp.sum(wish.precision * (values - wanted) ** 2, axis=-1))
    pairs = zip(jax.tree.leaves(now), jax.tree.leaves(free), strict=True)
    drift = sum(jnp.sum((a - b) ** 2) for a, b in pairs)
    lacking = jnp.zeros((), away.dtype)
    for term, *xs in zip(wish.terms, points, walkers, found, strict=True):
        function = lambda x: network.apply(now, x)
        lacking += jnp.sum(
            _lacking(term.law, function, jnp.concatenate(xs), margin) ** 2
        )
    return away + _PULL * drift + penalty * lacking


def _lacking(
    law: Law, function: Function, xs: Inputs, margin: Scalar
) -> Float[Array, " points"]:
    """What a rule lacks at each point; zero where it leaves the margin."""
    slack = jax.vmap(lambda x: law.slack(function, x))(xs)
    return jnp.clip(margin - slack, 0.0, _MOST)
