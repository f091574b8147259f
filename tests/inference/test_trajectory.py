"""NUTS's trajectory against its definition, point by point."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from blackjax.mcmc import nuts
from blackjax.mcmc.hmc import HMCState
from scipy import stats

from ocbnn.core.promotion import third_party
from ocbnn.inference.adaptation import Tuning
from ocbnn.inference.mcmc import rest_at
from ocbnn.inference.trajectory import (
    BLOCK,
    Dynamics,
    Point,
    RandomNumbers,
    draw,
    grow,
    move,
)

DEPTH = 7
SCALES = np.array([1.0, 0.4, 2.5])
GRID = np.linspace(0, 1, 4001)[1:-1]


def logdensity(position):
    """Not normal: its tails are heavier, and its sides unequal."""
    x = position / jnp.asarray(SCALES, position.dtype)
    return -jnp.sum(jnp.logaddexp(0.0, x) + jnp.logaddexp(0.0, -2.0 * x))


def truth(share):
    """Where a coordinate of scale one has this share of its mass below."""
    x = np.linspace(-40, 60, 400_001)
    mass = np.cumsum(np.exp(-np.logaddexp(0.0, x) - np.logaddexp(0.0, -2.0 * x)))
    return np.interp(share, mass / mass[-1], x)


def turns_somewhere(momenta, inverse_mass):
    """The definition: a stretch turns, or one of its halves turns somewhere."""
    if len(momenta) == 1:
        return False
    ends, half = momenta[[0, -1]], len(momenta) // 2
    middle = momenta.sum(axis=0) - ends.sum(axis=0) / 2
    if (ends * inverse_mass @ middle <= 0).any():
        return True
    halves = momenta[:half], momenta[half:]
    return any(turns_somewhere(part, inverse_mass) for part in halves)


@pytest.mark.parametrize("depth", range(DEPTH))
def test_a_branch_turns_exactly_if_a_stretch_of_it_does(depth):
    inverse_mass = jnp.asarray([1.0, 2.0, 0.5], float)

    @jax.jit
    def found(key):
        keys = jax.random.split(key, 4)
        start = rest_at(jax.random.normal(keys[0], (3,), float), logdensity)
        momentum = jax.random.normal(keys[1], (3,), float)
        # Steps of all lengths, so that some branches turn early, late or never.
        step = 0.6 / 2**depth + 0.4 * jax.random.uniform(keys[2], (), float) ** 3
        dynamics = Dynamics(logdensity, inverse_mass, -start.logdensity)
        shares = jax.random.uniform(keys[3], (DEPTH + 2**DEPTH,), float)
        random = RandomNumbers(momentum, shares[:DEPTH], shares[:DEPTH], shares)
        edge = Point(start, momentum)
        branch = grow(dynamics, random, step, edge, jnp.asarray(depth, jnp.int32))

        def leapfrog(point, _):
            half = point.momentum + 0.5 * step * point.phase.gradient
            place = point.phase.position + step * inverse_mass * half
            phase = rest_at(place, logdensity)
            point = Point(phase, half + 0.5 * step * phase.gradient)
            return point, point.momentum

        return branch, jax.lax.scan(leapfrog, edge, None, 2**depth)[1]

    turned = []
    for seed in range(100):
        branch, momenta = found(jax.random.key(seed))
        turned.append(turns_somewhere(np.asarray(momenta), np.asarray(inverse_mass)))
        assert bool(branch.turned) == turned[-1]
        if not branch.turned:
            assert branch.steps == 2**depth
            assert np.allclose(branch.momenta, momenta.sum(axis=0), atol=1e-4)
    if depth > 1:
        assert 0 < np.mean(turned) < 1


@pytest.mark.parametrize("before", [-np.inf, -1.0, 30.0])
def test_a_point_is_drawn_by_its_weight(before):
    gained = np.array([0.0, -1.0, -np.inf, 0.5, -3.0, 1.0, -np.inf, -np.inf])
    assert len(gained) == BLOCK
    shares = jnp.asarray((np.arange(100_000) + 0.5) / 100_000, float)
    index, log_weight = jax.vmap(draw, (None, None, 0))(
        jnp.asarray(gained, float), jnp.asarray(before, float), shares
    )
    weights = np.exp(np.append(gained, before))
    result = np.bincount(np.asarray(index), minlength=BLOCK + 1) / shares.size
    assert np.allclose(result, weights / weights.sum(), atol=3e-5)
    assert np.allclose(log_weight, np.log(weights.sum()), atol=1e-5)


@pytest.mark.parametrize(("step", "depth"), [(0.9, 10), (0.1, 10), (0.1, 3)])
def test_a_move_leaves_the_density_as_it_is(step, depth):
    shares = np.random.default_rng(0).uniform(size=(8000, 3))
    starts = jnp.asarray(truth(shares) * SCALES, float)
    tuning = Tuning(jnp.asarray(step, float), jnp.asarray([1.0, 0.2, 4.0], float))

    @jax.jit
    @jax.vmap
    def moved(key, start):
        phase, *numbers = move(
            key,
            rest_at(start, logdensity),
            logdensity,
            tuning,
            depth=jnp.asarray(depth),
            max_depth=10,
        )
        return phase.position, numbers

    keys = jax.random.split(jax.random.key(1), len(starts))
    ends, (acceptance, divergent, _, steps) = moved(keys, starts)
    assert not divergent.any()
    assert 0.5 < acceptance.mean() <= 1.0
    assert steps.max() <= 2**depth - 1
    far = np.abs(np.asarray(ends - starts)) / SCALES
    assert far.mean() > 0.2
    below = lambda places: np.interp(np.asarray(places) / SCALES, truth(GRID), GRID)
    for column in below(ends).T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3
    # Pairs are exchangeable, since every move is as likely as the way back.
    gap = below(ends) ** 2 * below(starts) - below(starts) ** 2 * below(ends)
    assert np.all(np.abs(gap.mean(axis=0)) < 4 * gap.std(axis=0) / len(gap) ** 0.5)


@pytest.mark.parametrize("step", [0.7, 0.05])
def test_trajectories_are_as_long_as_blackjax_makes_them(step):
    kernel = nuts.build_kernel()
    tuning = Tuning(jnp.asarray(step, float), jnp.asarray(SCALES**2, float))
    shares = np.random.default_rng(2).uniform(size=(4000, 3))
    starts = jnp.asarray(truth(shares) * SCALES, float)

    @jax.jit
    @jax.vmap
    def both(key, start):
        phase = rest_at(start, logdensity)
        ours = move(key, phase, logdensity, tuning, depth=jnp.asarray(6), max_depth=6)
        with third_party():
            _, info = kernel(
                key, HMCState(*phase), logdensity, *tuning, max_num_doublings=6
            )
        theirs = info.acceptance_rate, info.num_integration_steps
        return (ours[1], ours[4]), theirs

    keys = jax.random.split(jax.random.key(3), len(starts))
    ours, theirs = both(keys, starts)
    assert abs(ours[0].mean() - theirs[0].mean()) < 0.005
    longer = ours[1].mean() / theirs[1].mean()
    # The rest of a block is walked after a turn.
    assert 0.97 < longer < 1.12
