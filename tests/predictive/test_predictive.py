"""Predictions are those of plain NumPy, whatever the number of rows and the units."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from ocbnn.core.units import Units
from ocbnn.networks import MLP
from ocbnn.posterior import Categorical, GaussianNoise, Model, VaryingNoise
from ocbnn.predictive import Predictive, predictive as module
from ocbnn.priors import WeightPrior
from tests import reference

DRAWS, NETWORK = 40, MLP(2, (3,), 2, "tanh")
UNITS = Units(
    np.array([5.0, -1.0]),
    np.array([2.0, 0.1]),
    np.array([100.0, 0.0]),
    np.array([10.0, 0.5]),
)
LOG_SD = np.random.default_rng(1).normal(-1, 0.5, (DRAWS, 2))


def weights(count=DRAWS):
    keys = jax.random.split(jax.random.key(0), count)
    return jax.vmap(lambda key: WeightPrior().sample(key, NETWORK))(keys)


def rows(count):
    return np.random.default_rng(count).normal([5, -1], [2, 0.1], (count, 2))


def predictive(units=UNITS, likelihood=None, noise=None, count=DRAWS):
    likelihood = likelihood or GaussianNoise.fixed(0.3, 2)
    return Predictive(NETWORK, likelihood, Model(weights(count), noise or {}), units)


def inferred(units=UNITS):
    noise = {"log_sd": jnp.asarray(LOG_SD, jnp.float32)}
    return predictive(units, GaussianNoise.inferred(0.3, 2), noise)


def by_hand(X, units, count=DRAWS):
    """Values (draws, rows, outputs), one draw and one network at a time."""
    units = units or Units.plain(2, 2)
    inner = (X - units.x_mean) / units.x_scale
    draws = weights(count)
    values = [
        reference.mlp(jax.tree.map(lambda a, s=s: a[s], draws), inner, "tanh")
        for s in range(count)
    ]
    return units.y_mean + units.y_scale * np.stack(values)


@pytest.mark.parametrize("count", [1, 17, 5000])
@pytest.mark.parametrize("units", [None, UNITS], ids=["plain", "units"])
def test_functions_are_every_draws_network_in_a_persons_units(count, units):
    X = rows(count)
    values = predictive(units).functions(X)
    assert values.shape == (DRAWS, count, 2)
    assert values.dtype == np.float64
    np.testing.assert_allclose(values, by_hand(X, units), rtol=2e-5, atol=2e-5)


def every_answer(made, X):
    low, high = made.interval(X, 0.8, observed=False)
    low_seen, high_seen = made.interval(X, 0.8, observed=True)
    functions = np.moveaxis(made.functions(X), 1, 0)
    return [functions, *made.mean_and_sd(X), low, high, low_seen, high_seen]


@pytest.mark.parametrize("room", [16 * DRAWS, 64 * DRAWS, 2**20])
def test_a_rows_answer_does_not_depend_on_the_rows_around_it(room, monkeypatch):
    predictor, X = inferred(), rows(100)
    alone = every_answer(predictor, X[70:71])
    monkeypatch.setattr(module, "_MAX_VALUES", room)
    for one, all_rows in zip(alone, every_answer(predictor, X), strict=True):
        np.testing.assert_allclose(all_rows[70:71], one, rtol=1e-5)


@pytest.mark.parametrize("make", ["inferred", "varying"])
def test_a_summary_is_what_several_passes_say(make):
    predictor, X = inferred() if make == "inferred" else varying()[0], rows(100)
    summary = predictor.summary(X, 0.8)
    mean, sd = predictor.mean_and_sd(X)
    low, high = predictor.interval(X, 0.8, observed=True)
    for one, other in zip(summary, (mean, sd, low, high), strict=True):
        assert np.array_equal(one, other)


def test_few_row_counts_compile(monkeypatch):
    predictor = predictive(count=7)
    predictor.functions(rows(64))
    before = module._values._cached._cache_size()
    for count in (33, 40, 63):
        predictor.functions(rows(count))
    assert module._values._cached._cache_size() == before


def test_the_spread_of_an_observation_is_that_of_functions_and_noise_together():
    X = rows(9)
    values = by_hand(X, UNITS)
    mean, sd = predictive().mean_and_sd(X)
    np.testing.assert_allclose(mean, values.mean(axis=0), rtol=1e-5)
    noise = 0.3 * UNITS.y_scale
    expected = np.sqrt(values.var(axis=0) + noise**2)
    np.testing.assert_allclose(sd, expected, rtol=1e-5)


def test_inferred_noise_enters_by_its_mean_variance():
    X = rows(9)
    values = by_hand(X, UNITS)
    noise = np.exp(LOG_SD) * UNITS.y_scale
    np.testing.assert_allclose(inferred().noise(), noise, rtol=1e-6)
    expected = np.sqrt(values.var(axis=0) + (noise**2).mean(axis=0))
    np.testing.assert_allclose(inferred().mean_and_sd(X)[1], expected, rtol=1e-5)


def varying(count=DRAWS):
    network = MLP(2, (4,), 2, activation="tanh")
    likelihood = VaryingNoise(jnp.array([0.3, 0.1]), network, 0.5)
    keys = jax.random.split(jax.random.key(7), count)
    noise = jax.vmap(likelihood.sample_parameters)(keys)
    return predictive(UNITS, likelihood, noise, count), noise


def noise_by_hand(X, parameters):
    inner = (X - UNITS.x_mean) / UNITS.x_scale
    count = len(jax.tree.leaves(parameters)[0])
    one = lambda s: jax.tree.map(lambda a: a[s], parameters)
    logs = [0.5 * reference.mlp(one(s), inner, "tanh") for s in range(count)]
    return UNITS.y_scale * np.array([0.3, 0.1]) * np.exp(np.stack(logs))


def test_varying_noise_is_every_draws_own_at_every_row(monkeypatch):
    monkeypatch.setattr(module, "_MAX_VALUES", 16 * DRAWS)
    predictor, parameters = varying()
    X = rows(40)
    expected = noise_by_hand(X, parameters)
    assert predictor.noise() is None
    np.testing.assert_allclose(predictor.noise_at(X), expected, rtol=1e-4)
    np.testing.assert_allclose(predictor.noise_at(X, 2), expected[[0, -1]], rtol=1e-4)
    spread = np.sqrt(by_hand(X, UNITS).var(axis=0) + (expected**2).mean(axis=0))
    np.testing.assert_allclose(predictor.mean_and_sd(X)[1], spread, rtol=1e-4)


def test_an_interval_follows_noise_that_varies():
    predictor, parameters = varying(4000)
    X = rows(3)
    low, high = predictor.interval(X, 0.9, observed=True)
    f, sd = predictor.functions(X), noise_by_hand(X, parameters)
    inside = (norm.cdf(high, f, sd) - norm.cdf(low, f, sd)).mean(axis=0)
    np.testing.assert_allclose(inside, 0.9, atol=0.02)


def test_noise_that_is_one_for_all_rows_is_so_at_every_row():
    noise = inferred().noise_at(rows(3))
    assert noise.shape == (DRAWS, 3, 2)
    assert (noise == inferred().noise()[:, None]).all()


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_a_functions_interval_is_central(level):
    X = rows(9)
    tails = [(1 - level) / 2, 1 - (1 - level) / 2]
    expected = np.quantile(by_hand(X, UNITS), tails, axis=0)
    interval = predictive().interval(X, level, observed=False)
    np.testing.assert_allclose(np.stack(interval), expected, rtol=1e-5)


def test_an_observations_interval_holds_its_share_of_observations():
    predictor, X = predictive(count=4000), rows(3)
    low, high = predictor.interval(X, 0.9, observed=True)
    # The predictive distribution is a mixture of one normal per draw.
    f, sd = predictor.functions(X), 0.3 * UNITS.y_scale
    inside = (norm.cdf(high, f, sd) - norm.cdf(low, f, sd)).mean(axis=0)
    np.testing.assert_allclose(inside, 0.9, atol=0.02)
    narrow = predictor.interval(X, 0.9, observed=False)
    assert (high - low > narrow[1] - narrow[0]).all()


def test_probabilities_are_averaged_after_the_softmax():
    X = rows(17)
    predictor = predictive(Units.of(rows(17), None, 2), Categorical())
    logits = by_hand(X, predictor.units)
    p = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(predictor.probabilities(X), p.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(predictor.probabilities(X).sum(axis=1), 1, rtol=1e-12)
    assert not predictor.noise().any()


def test_certain_classes_have_finite_probabilities():
    sure = jax.tree.map(lambda a: 1e5 * a, weights())
    predictor = Predictive(NETWORK, Categorical(), Model(sure, {}))
    assert np.isfinite(predictor.probabilities(rows(5))).all()


def test_numbers_have_no_class_probabilities():
    with pytest.raises(TypeError, match="categorical"):
        predictive().probabilities(rows(3))


def test_some_draws_are_spread_over_all_of_them():
    X = rows(4)
    every = predictive().functions(X)
    some = predictive().functions(X, most=3)
    np.testing.assert_allclose(some, every[[0, 19, 39]], rtol=1e-6)
    np.testing.assert_array_equal(predictive().functions(X, most=999), every)
