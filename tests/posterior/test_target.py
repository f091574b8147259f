"""The one log density is the sum of its parts, exact, and usable as it is."""

import functools

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm, t

from ocbnn.errors import DataError, SettingError
from ocbnn.inference.variational import reparameterised
from ocbnn.networks import MLP, EquinoxNetwork, Layer
from ocbnn.posterior import Categorical, GaussianNoise, Model, Target
from ocbnn.priors import StudentT, WeightPrior
from tests import reference
from tests.posterior.targets import (
    EVERY,
    X1,
    Y1,
    at,
    classification,
    fig1_left,
    regression,
)

KEY = jax.random.key(0)


def density(target, position):
    return float(jax.jit(target.logdensity)(position))


def shares(target, position):
    parts = jax.jit(target.parts)(position)
    return {name: float(value) for name, value in parts.items()}


# Its value.


def test_the_papers_first_figure_has_the_density_of_its_equations(float64):
    target = fig1_left("if -0.3 <= x <= 0.3 then 2.5 <= y <= 3 [form=indicator]")
    compiled = jax.jit(target.logdensity)
    points = np.asarray(target.rules[0].points)
    assert points.shape == (50, 1)
    for seed in range(5):
        position = at(target, seed)
        layers = position.weights
        inside = reference.mlp(layers, points)[:, 0]
        violation = reference.sigma(inside - 2.5) + reference.sigma(3 - inside)
        expected = (
            reference.standard_normal(layers)
            - 10_000 * violation.mean()
            + norm.logpdf(Y1, reference.mlp(layers, X1), 0.1).sum()
        )
        np.testing.assert_allclose(compiled(position), expected, rtol=1e-10)


@functools.cache
def evaluated(kind):
    """Everything about one kind of target at one position, compiled together."""
    with jax.enable_x64(True):
        target = EVERY[kind]()
        vector, unravel = jax.flatten_util.ravel_pytree(at(target, 3))

        @jax.jit
        def everything(vector, steps):
            f = lambda v: target.logdensity(unravel(v))
            position = unravel(vector)
            moved = jnp.concatenate([vector[None] + steps, vector[None] - steps])
            return (
                *jax.value_and_grad(f)(vector),
                target.parts(position),
                target.split(position),
                jax.vmap(f)(moved),
            )

        result = everything(vector, 1e-5 * jnp.eye(vector.size))
        return target, *jax.tree.map(np.asarray, result)


@pytest.mark.parametrize("kind", EVERY)
def test_the_density_is_the_sum_of_its_parts(kind):
    target, total, _, parts, split, _ = evaluated(kind)
    assert sum(parts.values()) == pytest.approx(total, rel=1e-12)
    assert sum(split) == pytest.approx(total, rel=1e-12)
    assert split[0] == pytest.approx(parts["weights"], rel=1e-12)
    names = {f"rule {term.bound.name!r}" for term in target.rules}
    assert set(parts) == {"weights", "data"} | names


@pytest.mark.parametrize("kind", EVERY)
def test_the_slope_agrees_with_finite_differences(kind):
    _, _, slope, _, _, moved = evaluated(kind)
    forward, backward = moved.reshape(2, -1)
    np.testing.assert_allclose(
        slope, (forward - backward) / 2e-5, rtol=1e-5, atol=1e-5 * np.abs(slope).max()
    )


def test_each_part_is_what_its_name_says(float64):
    target = regression("expect")
    position = at(target)
    parts = shares(target, position)
    weights = target.weight_prior.logdensity(target.network, position.weights)
    noise = target.likelihood.log_prior(position.noise)
    np.testing.assert_allclose(parts["weights"], weights + noise, rtol=1e-12)
    f = reference.mlp(position.weights, target.X, "tanh")
    sd = np.exp(np.asarray(position.noise["log_sd"]))
    data = norm.logpdf(np.asarray(target.Y), f, sd).sum()
    np.testing.assert_allclose(parts["data"], data, rtol=1e-10)
    (term,) = target.rules
    y0, y1 = reference.mlp(position.weights, term.points, "tanh").T
    x0, x1 = np.asarray(term.points).T
    rule = norm.logpdf(y0 - y1, x0 * x1, 0.5).sum()
    np.testing.assert_allclose(parts[f"rule {term.bound.name!r}"], rule, rtol=1e-9)


def test_several_rules_add_up(float64):
    names = ("require", "expect", "mixture")
    together = regression(*names)
    position = at(together)
    logs = [v for k, v in shares(together, position).items() if k.startswith("rule")]
    assert len(logs) == 3
    expected = density(regression(), position) + sum(logs)
    assert density(together, position) == pytest.approx(expected, rel=1e-12)


def test_without_data_the_target_is_the_constrained_prior(float64):
    full = regression("expect")
    prior = Target(full.network, full.weight_prior, full.likelihood, full.rules)
    position = at(full)
    expected = density(full, position) - shares(full, position)["data"]
    assert density(prior, position) == pytest.approx(expected, rel=1e-12)
    assert shares(prior, position)["data"] == prior.rows == 0


def test_without_data_and_rules_the_target_is_the_weight_prior(float64):
    target = Target(MLP(1, (3,), 1), WeightPrior(), GaussianNoise.fixed(0.1))
    position = at(target)
    expected = reference.standard_normal(position.weights)
    np.testing.assert_allclose(target.logdensity(position), expected, rtol=1e-12)
    estimate = target.stochastic_logdensity(position, KEY)
    np.testing.assert_allclose(estimate, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["forbid", "mixture", "classes"])
def test_value_and_slope_are_finite_far_out_in_single_precision(kind):
    target = EVERY[kind]()
    weights, noise = at(target)
    position = Model(jax.tree.map(lambda a: 30 * a, weights), noise)
    value, slope = jax.jit(jax.value_and_grad(target.logdensity))(position)
    assert value.dtype == jnp.float32
    assert np.isfinite(value)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slope))


# Fixed and fresh points, all data and batches.


def test_the_exact_density_is_the_same_at_every_call():
    # The authors redraw points inside HMC: their density scatters by 65 to 172.
    target = fig1_left()
    position = at(target)
    compiled = jax.jit(target.logdensity)
    values = {float(compiled(position)) for _ in range(5)}
    assert len(values) == 1
    assert density(fig1_left(), position) == values.pop()


def test_the_stochastic_density_follows_its_key():
    target = regression("expect", batch_size=5)
    estimate = jax.jit(target.stochastic_logdensity)
    one, again, two = (estimate(at(target), jax.random.key(k)) for k in (1, 1, 2))
    assert float(one) == float(again)
    assert float(one) != float(two)


def over_keys(target, position, count=4000):
    keys = jax.random.split(jax.random.key(5), count)
    estimate = jax.jit(
        jax.vmap(lambda key: target.stochastic_logdensity(position, key))
    )
    values = np.asarray(estimate(keys), float)
    return values.mean(), values.std() / np.sqrt(count)


def test_batches_are_rescaled_so_that_their_mean_is_the_exact_density(float64):
    size = 5
    target = regression(batch_size=size)
    position = at(target)
    mean, error = over_keys(target, position)
    assert abs(mean - density(target, position)) < 4 * error
    # Without the factor N/B the mean would be this far off.
    data = shares(target, position)["data"]
    assert abs((1 - size / 12) * data) > 20 * error


def test_a_batch_as_large_as_the_data_is_the_data(float64):
    for size in (12, 100):
        target = regression(batch_size=size)
        position = at(target)
        estimate = jax.jit(target.stochastic_logdensity)(position, KEY)
        assert float(estimate) == pytest.approx(density(target, position), rel=1e-12)


def test_fresh_points_average_to_the_region_and_its_ends(float64):
    target = fig1_left("if -0.3 <= x <= 0.3 then y >= 1 [points=20, strength=10]")
    position = at(target)
    grid = np.linspace(-0.3, 0.3, 20_001)
    c = reference.sigma(reference.mlp(position.weights, grid[:, None])[:, 0] - 1)
    inner, ends = np.trapezoid(c, grid) / 0.6, c[0] + c[-1]
    expected = -10 * (18 * inner + ends) / 20
    parts = shares(target, position)
    rest = parts["weights"] + parts["data"]
    mean, error = over_keys(target, position)
    assert mean - rest == pytest.approx(expected, abs=4 * error)
    assert error < 0.02 * abs(expected)


def test_a_batch_keeps_each_row_with_its_own_target(float64):
    # The identity on data that are their own targets leaves no residual to vary.
    X = jnp.arange(24.0).reshape(12, 2)
    noise = GaussianNoise.fixed(0.01, 2)
    target = Target(MLP(2, (), 2), WeightPrior(), noise, X=X, Y=X, batch_size=2)
    position = Model((Layer(jnp.eye(2), jnp.zeros(2)),), {})
    estimate = jax.jit(target.stochastic_logdensity)
    values = [estimate(position, jax.random.key(k)) for k in (1, 2, 3)]
    np.testing.assert_allclose(values, density(target, position), rtol=1e-12)


# Compiling.


def module(seed):
    return eqx.nn.MLP(2, 2, 4, 1, key=jax.random.key(seed))


def same_shape(seed, wrapped):
    target = regression("expect", "require", seed=seed)
    network = EquinoxNetwork(module(seed), 2) if wrapped else target.network
    return eqx.tree_at(lambda t: t.network, target, network)


@pytest.mark.parametrize(
    ("jit", "wrapped"), [(jax.jit, False), (jax.jit, True), (eqx.filter_jit, False)]
)
def test_targets_of_the_same_shape_compile_once(jit, wrapped):
    traces = []

    @jit
    def counted(target, position):
        traces.append(target)
        return target.logdensity(position)

    values = []
    for seed in (1, 2):
        target = same_shape(seed, wrapped)
        values.append(float(counted(target, at(target))))
    assert len(traces) == 1
    assert values[0] != values[1]


def test_another_rule_compiles_anew():
    compiled = jax.jit(lambda target, position: target.logdensity(position))
    for rule in ("expect", "mixture"):
        target = regression(rule)
        compiled(target, at(target))
    assert compiled._cache_size() == 2


def test_positions_have_the_shapes_that_the_target_says():
    for target in (regression("expect"), classification()):
        assert jax.eval_shape(target.initial, KEY) == target.shapes()


def test_initial_positions_come_from_the_weight_and_noise_priors():
    target = regression(noise=GaussianNoise.inferred(0.3, outputs=2, spread=0.5))
    keys = jax.random.split(KEY, 2000)
    draws = jax.jit(jax.vmap(target.initial))(keys)
    assert np.std(draws.noise["log_sd"]) == pytest.approx(0.5, rel=0.05)
    assert np.std(draws.weights[1].weight) == pytest.approx(0.75, rel=0.05)


# Errors.

WIDE = MLP(1, (3,), 1), WeightPrior(), GaussianNoise.fixed(0.1)


@pytest.mark.parametrize(
    ("x", "y", "advice"),
    [
        (np.zeros((4, 1)), None, "both inputs X and targets Y"),
        (None, np.zeros((4, 1)), "both inputs X and targets Y"),
        (np.zeros((4, 1)), np.zeros((5, 1)), "got 4 and 5 rows"),
        (np.zeros((4, 2)), np.zeros((4, 1)), "takes 1 inputs, but X has 2"),
        (np.zeros((4, 1)), np.zeros((4, 2)), r"shape \(rows, 1\)"),
        (np.zeros((4, 1)), np.zeros(4), r"Y\[:, None\]"),
    ],
)
def test_data_that_do_not_fit_are_refused_with_advice(x, y, advice, as_users_run_it):
    arrays = [None if a is None else jnp.asarray(a, float) for a in (x, y)]
    with pytest.raises(DataError, match=advice):
        Target(*WIDE, (), *arrays)


def test_a_likelihood_that_does_not_fit_the_network_is_refused():
    with pytest.raises(SettingError, match="each of 2 outputs"):
        Target(MLP(1, (3,), 2), WeightPrior(), GaussianNoise.inferred(0.1))
    with pytest.raises(DataError, match="whole numbers"):
        Target(
            MLP(1, (3,), 2),
            WeightPrior(),
            Categorical(),
            (),
            jnp.zeros((4, 1)),
            jnp.zeros((4, 1)),
        )


@pytest.mark.slow
def test_noise_at_the_units_estimates_the_same_mean_more_quietly():
    """The local trick, against the plain estimate with the same mean and widths."""
    target = regression("require", rows=40)
    mean = at(target)
    sd = jax.tree.map(lambda a: jnp.full_like(a, 0.1), mean)

    def plain(key):
        key_noise, key_batch = jax.random.split(key)
        return target.stochastic_logdensity(
            reparameterised(mean, sd, key_noise), key_batch
        )

    keys = jax.random.split(jax.random.key(0), 1000)
    local = jax.jit(jax.vmap(lambda key: target.local_logdensity(mean, sd, key)))(keys)
    whole = jax.jit(jax.vmap(plain))(keys)
    error = 4.5 * np.sqrt((np.var(local) + np.var(whole)) / len(keys))
    assert abs(np.mean(local) - np.mean(whole)) < error
    assert np.var(local) < 0.7 * np.var(whole)


def test_the_mean_density_of_heavy_tails_is_estimated_without_bias():
    noise, prior = GaussianNoise.fixed(0.1), StudentT(df=3.0)
    target = Target(MLP(1, (), 1), prior, noise)
    mean = jax.tree.map(lambda a: jnp.full(a.shape, 0.5), target.shapes())
    sd = jax.tree.map(lambda a: jnp.full(a.shape, 2.0), mean)
    keys = jax.random.split(jax.random.key(0), 4000)
    local = jax.jit(jax.vmap(lambda key: target.local_logdensity(mean, sd, key)))(keys)
    # Two weights of fan-in one.
    expected = 2 * norm(0.5, 2.0).expect(t(3.0).logpdf)
    assert abs(np.mean(local) - expected) < 4.5 * np.std(local) / np.sqrt(len(keys))
    assert np.std(local) < 2


def test_the_last_layer_is_the_map_to_the_outputs():
    last = regression().last_layer()
    assert [tuple(layer) for layer in last.weights] == [
        (False, False),
        (False, False),
        (True, True),
    ]
    assert last.noise == {"log_sd": False}
