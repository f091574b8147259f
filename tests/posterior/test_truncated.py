"""Observations within limits: densities agree with integrals, far out and near."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm, truncnorm

from ocbnn.errors import DataError, SettingError
from ocbnn.estimators import OCBNNRegressor
from ocbnn.inference import HMC, SVGD
from ocbnn.posterior import GaussianNoise, TruncatedGaussian
from ocbnn.posterior.truncated import log_mass
from ocbnn.predictive import truncated
from ocbnn.rules import Schema, bind, output_limits, parse_rule

INF = np.inf
# Lower limit, upper limit, mean, standard deviation: inside, at the edges, far
# outside on both sides, narrow, one-sided, and without limits.
CASES = [
    (-1.0, 2.0, 0.3, 0.5),
    (-1.0, 2.0, -1.0, 0.1),
    (-1.0, 2.0, 2.5, 0.1),
    (-1.0, 2.0, 8.0, 0.05),
    (-1.0, 2.0, -9.0, 0.05),
    (0.0, 1e-3, 0.2, 0.01),
    (0.0, 1e-3, 5e-4, 1.0),
    (-INF, 2.0, 3.0, 0.1),
    (-INF, 2.0, -3.0, 0.1),
    (-1.0, INF, -3.0, 0.1),
    (-1.0, INF, 30.0, 0.1),
    (-INF, INF, 1.0, 0.1),
]


def by_quadrature(low, high, mean, sd):
    """Log mass: the integrand is scaled to one at its highest point in the box."""
    a, b = (low - mean) / sd, (high - mean) / sd
    top = np.clip(0.0, a, b)
    # Beyond forty units, or forty of the tail's own, there is nothing to add up.
    reach = 40.0 / max(1.0, abs(top))
    a, b = max(a, top - reach), min(b, top + reach)
    area, _ = quad(lambda t: np.exp(0.5 * (top - t) * (top + t)), a, b, epsabs=0)
    return np.log(area) - 0.5 * top**2 - 0.5 * np.log(2 * np.pi)


EXPECTED = np.array([by_quadrature(*case) for case in CASES])
TABLE = np.array(CASES).T


def test_the_mass_between_limits_is_the_integral(float64):
    compiled = jax.jit(log_mass)(*map(jnp.asarray, TABLE))
    np.testing.assert_allclose(compiled, EXPECTED, rtol=1e-6, atol=1e-12)
    plain = truncated.log_mass(*TABLE)
    np.testing.assert_allclose(plain, EXPECTED, rtol=1e-9, atol=1e-12)


def test_single_precision_keeps_four_digits():
    value = jax.jit(log_mass)(*(jnp.asarray(part, jnp.float32) for part in TABLE))
    np.testing.assert_allclose(value, EXPECTED, rtol=1e-4, atol=1e-5)


def test_slopes_are_those_of_finite_differences(float64):
    low, high, mean, sd = map(jnp.asarray, TABLE)
    value = jax.jit(lambda m, log_sd: log_mass(low, high, m, jnp.exp(log_sd)))
    total = lambda *at: jnp.sum(value(*at))
    slopes = jax.grad(total, argnums=(0, 1))(mean, jnp.log(sd))
    for slope, (dm, ds) in zip(slopes, [(1e-4 * sd, 0.0), (0.0, 1e-4)], strict=True):
        up = value(mean + dm, jnp.log(sd) + ds)
        down = value(mean - dm, jnp.log(sd) - ds)
        expected = (up - down) / (2 * (dm + ds))
        np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)


def test_slopes_are_finite_from_anywhere_in_single_precision():
    means = jnp.array([-1e4, -50.0, 0.0, 1.0, 50.0, 1e4], jnp.float32)
    for low, high in [(-1.0, 2.0), (-INF, 2.0), (-1.0, INF), (-INF, INF)]:
        total = lambda m, low=low, high=high: jnp.sum(
            log_mass(jnp.float32(low), jnp.float32(high), m, jnp.float32(0.05))
        )
        value, slope = jax.value_and_grad(total)(means)
        assert np.isfinite(value)
        assert np.isfinite(slope).all()


def test_the_likelihood_is_that_of_truncated_normals(float64):
    rng = np.random.default_rng(0)
    low, high = np.array([-1.0, -INF, -INF]), np.array([2.0, 1.0, INF])
    sds = np.array([0.5, 0.3, 1.0])
    values, targets = rng.uniform(-1, 1, (2, 7, 3))
    noise = TruncatedGaussian(GaussianNoise(jnp.asarray(sds)), low, high)
    ends = (low - values) / sds, (high - values) / sds
    expected = truncnorm.logpdf(targets, *ends, values, sds).sum(axis=1)
    inputs = jnp.zeros((7, 1))
    logs = noise.loglik({}, inputs, jnp.asarray(values), jnp.asarray(targets))
    np.testing.assert_allclose(logs, expected, rtol=1e-9)
    assert noise.shapes() == noise.sample_parameters(jax.random.key(0)) == {}


def test_limits_need_one_pair_per_output(as_users_run_it):
    noise = TruncatedGaussian(GaussianNoise.fixed(0.1, 2), np.zeros(1), np.ones(1))
    with pytest.raises(SettingError, match="each of 2 outputs"):
        noise.check(2, None)


@pytest.mark.parametrize("case", CASES)
def test_moments_and_quantiles_are_those_of_the_truncated_normal(case):
    low, high, mean, sd = np.array(case)[:, None]
    a, b = (low - mean) / sd, (high - mean) / sd
    centre, variance = truncated.mean_and_variance(low, high, mean, sd)
    assert low <= centre <= high
    shares = np.array([0.01, 0.3, 0.5, 0.9])
    places = truncated.quantile(low, high, mean, sd, shares)
    assert ((low <= places) & (places <= high)).all()
    assert (np.diff(places) > 0).all()
    inside = truncated.log_mass(low, places, mean, sd)
    total = truncated.log_mass(low, high, mean, sd)
    np.testing.assert_allclose(np.exp(inside - total), shares, rtol=1e-6)
    # SciPy's own moments are right where the box holds some mass.
    if total > -30:
        expected = truncnorm.stats(a, b, mean, sd)
        np.testing.assert_allclose([centre, variance], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("-1 <= a <= 2", [-1, -INF], [2, INF]),
        ("3 - 2 * b > 1", [-INF, -INF], [INF, 1]),
        ("not (a < 0 or a > 1) and b >= a", [0, -INF], [1, INF]),
        ("a >= 0 or b >= 0", [-INF, -INF], [INF, INF]),
        ("a >= x", [-INF, -INF], [INF, INF]),
        ("if x > 0 then a >= 0", [-INF, -INF], [INF, INF]),
        ("a ~ Normal(0, 1)", [-INF, -INF], [INF, INF]),
    ],
)
def test_limits_come_from_what_rules_say_of_single_outputs_everywhere(text, low, high):
    bound = bind(parse_rule(text), Schema(("x",), ("a", "b")))
    limits = output_limits([bound], 2)
    assert limits[0].tolist() == low
    assert limits[1].tolist() == high


def test_the_tightest_of_several_rules_counts():
    schema = Schema(("x",), ("y",))
    rules = [bind(parse_rule(text), schema) for text in ("y >= 0", "1 <= y <= 4")]
    assert [ends.tolist() for ends in output_limits(rules, 1)] == [[1.0], [4.0]]


X = np.linspace(-1, 1, 30)[:, None]
Y = np.maximum(X[:, 0], 0) + 0.05 * np.abs(np.random.default_rng(0).normal(size=30))


def regressor(**settings):
    usual = {"rules": "y >= 0 [sampler=like-data]", "hidden": (5,), "noise": 0.1}
    plan = HMC(chains=1, steps=10, warmup=100, draws=200, climb=300)
    return OCBNNRegressor(**{**usual, "inference": plan, "random_state": 0, **settings})


@pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
@pytest.mark.slow
def test_a_truncated_model_predicts_nothing_beyond_the_limits():
    plain, limited = regressor().fit(X, Y), regressor(truncate=True).fit(X, Y)
    assert plain.limits_ is None
    assert [ends.tolist() for ends in limited.limits_] == [[0.0], [INF]]
    assert limited.noise_.shape == (200, 1)
    assert plain.predict_interval(X)[0].min() < -0.05
    assert limited.predict_interval(X)[0].min() >= 0
    # At the limit an observation lies above the function, by a half normal's mean.
    mean, sd = limited.predict(X[:5], return_std=True)
    functions = limited.sample_functions(X[:5], 200)
    assert (mean > functions.mean(axis=0)).all()
    assert (sd < plain.predict(X[:5], return_std=True)[1]).all()
    expected = truncnorm.stats(-functions / 0.1, INF, functions, 0.1)[0].mean(axis=0)
    np.testing.assert_allclose(mean, expected, rtol=1e-5)
    assert limited.sample_prior(X[:3], count=5).shape == (5, 3)


@pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
def test_a_truncated_model_answers_within_its_limits():
    limited = regressor(truncate=True, inference=SVGD(particles=8, iterations=5))
    limited.fit(X, Y)
    assert [ends.tolist() for ends in limited.limits_] == [[0.0], [INF]]
    assert limited.predict_interval(X)[0].min() >= 0
    assert limited.predict(X).min() > 0


def test_limits_that_data_break_or_nobody_set_are_refused():
    with pytest.raises(DataError, match=r"1 of 30 rows.*'y' is -0\.5 in row 3"):
        regressor(truncate=True).fit(X, np.where(np.arange(30) == 3, -0.5, Y))
    with pytest.raises(SettingError, match=r"there are none.*y >= 0"):
        regressor(truncate=True, rules="if 0 <= x <= 1 then y >= 0").fit(X, Y)


@pytest.mark.parametrize("wrong", [[0.1], [0.1, 0.0], "loud", None, [[0.1, 0.1]]])
def test_noise_for_each_output_is_a_list_of_numbers_above_zero(wrong):
    with pytest.raises(SettingError, match=r"one for each of 2 outputs"):
        regressor(rules=(), noise=wrong).fit(X, np.stack([Y, 2 * Y], axis=1))


@pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
def test_outputs_may_have_noise_of_their_own():
    both = np.stack([Y, 2 * Y], axis=1)
    model = regressor(rules=(), noise=[0.1, 0.3]).fit(X, both)
    np.testing.assert_allclose(model.noise_[0], [0.1, 0.3], rtol=1e-6)
    _, sd = model.predict(X, return_std=True)
    assert (sd >= [0.1 - 1e-6, 0.3 - 1e-6]).all()
    assert norm.logpdf(both, model.predict(X), sd).sum() > 0
