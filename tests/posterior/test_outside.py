"""A target works with other people's samplers, and with none at all.

A linear model with normal weights and noise has a normal posterior in closed form; so
what comes back can be compared with the truth.
"""

import blackjax
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.networks import MLP
from ocbnn.posterior import GaussianNoise, Target
from ocbnn.priors import WeightPrior
from tests.posterior.targets import at, fig1_left, regression

X = np.linspace(-1, 2, 8)[:, None]
Y = 0.5 * X - 0.3 + np.random.default_rng(0).normal(0, 0.5, X.shape)
LINEAR = Target(
    MLP(1, (), 1),
    WeightPrior("isotropic", 2.0),
    GaussianNoise.fixed(0.5),
    X=jnp.asarray(X, jnp.float32),
    Y=jnp.asarray(Y, jnp.float32),
)


def truth():
    """Mean and covariance of (bias, slope)."""
    design = np.column_stack([np.ones(len(X)), X[:, 0]])
    covariance = np.linalg.inv(design.T @ design / 0.5**2 + np.eye(2) / 2.0**2)
    return covariance @ design.T @ Y[:, 0] / 0.5**2, covariance


def assert_true(positions):
    layer = positions.weights[0]
    draws = np.column_stack(
        [np.asarray(layer.bias).ravel(), np.asarray(layer.weight).ravel()]
    )
    mean, covariance = truth()
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.05)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.01)


def run(kernel, state, count):
    def one(state, key):
        state, _ = kernel.step(key, state)
        return state, state.position

    keys = jax.random.split(jax.random.key(2), count)
    return jax.jit(lambda s: jax.lax.scan(one, s, keys)[1])(state)


@pytest.mark.parametrize("method", ["hmc", "nuts"])
def test_blackjax_takes_a_target_as_it_is(method):
    options = {"num_integration_steps": 8} if method == "hmc" else {}
    kernel = getattr(blackjax, method)(
        LINEAR.logdensity,
        step_size=0.1,
        inverse_mass_matrix=jnp.ones(2),
        **options,
    )
    state = kernel.init(LINEAR.initial(jax.random.key(1)))
    assert_true(run(kernel, state, 4000))


def test_blackjax_takes_a_target_with_rules_and_inferred_noise():
    target = regression("require")
    start = at(target)
    size = jax.flatten_util.ravel_pytree(start)[0].size
    kernel = blackjax.hmc(
        target.logdensity,
        step_size=1e-3,
        inverse_mass_matrix=jnp.ones(size),
        num_integration_steps=5,
    )
    state = jax.jit(kernel.init)(start)
    density = jax.jit(target.logdensity)
    assert float(state.logdensity) == pytest.approx(float(density(start)), rel=1e-5)
    positions = run(kernel, state, 20)
    assert jax.tree.structure(positions) == jax.tree.structure(start)
    last = jax.tree.map(lambda a: a[-1], positions)
    assert float(density(last)) > float(density(start))


def test_a_hand_written_metropolis_loop_needs_nothing_of_ours():
    density = jax.jit(LINEAR.logdensity)

    def step(state, key):
        here, value = state
        key_move, key_accept = jax.random.split(key)
        flat, unravel = jax.flatten_util.ravel_pytree(here)
        there = unravel(flat + 0.4 * jax.random.normal(key_move, flat.shape))
        proposed = density(there)
        accept = jnp.log(jax.random.uniform(key_accept)) < proposed - value
        keep = lambda new, old: jnp.where(accept, new, old)
        state = jax.tree.map(keep, (there, proposed), state)
        return state, state[0]

    start = LINEAR.initial(jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), 20_000)
    _, positions = jax.lax.scan(step, (start, density(start)), keys)
    assert_true(positions)


def test_a_potential_of_one_flat_vector_can_be_written_in_a_line():
    # What NumPyro calls `potential_fn`.
    target = fig1_left()
    start = at(target)
    vector, unravel = jax.flatten_util.ravel_pytree(start)
    potential = jax.jit(lambda v: -target.logdensity(unravel(v)))
    assert vector.shape == (31,)
    expected = -jax.jit(target.logdensity)(start)
    np.testing.assert_allclose(potential(vector), expected, rtol=1e-5)


def test_positions_may_be_stacked_along_a_first_axis():
    target = regression("expect")
    stacked = jax.tree.map(lambda *a: jnp.stack(a), *(at(target, s) for s in range(5)))
    values = jax.jit(jax.vmap(target.logdensity))(stacked)
    density = jax.jit(target.logdensity)
    for place in range(5):
        alone = density(jax.tree.map(lambda a, i=place: a[i], stacked))
        np.testing.assert_allclose(values[place], alone, rtol=1e-4)


def test_methods_of_a_target_can_be_compiled_as_they_are():
    target = fig1_left()
    position = jax.jit(target.initial)(jax.random.key(0))
    parts = jax.jit(target.parts)(position)
    total = jax.jit(target.logdensity)(position)
    assert float(sum(parts.values())) == pytest.approx(float(total), rel=1e-4)
    jax.jit(target.stochastic_logdensity)(position, jax.random.key(1))
