"""Likelihoods agree with SciPy, and refuse shapes that would broadcast."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import lognorm, norm

from ocbnn.errors import DataError, SettingError
from ocbnn.networks import MLP
from ocbnn.posterior import Categorical, GaussianNoise, VaryingNoise

RNG = np.random.default_rng(0)
F, Y = RNG.normal(size=(2, 9, 3))
X = RNG.normal(size=(9, 2))
SDS = np.array([0.1, 0.5, 2.0])


def test_known_noise_is_a_standard_deviation_for_every_output(float64):
    # The authors' code uses it as a variance when there are several outputs.
    expected = norm.logpdf(Y, F, 0.3).sum(axis=1)
    noise = GaussianNoise.fixed(0.3, outputs=3)
    np.testing.assert_allclose(noise.loglik({}, *arrays(X, F, Y)), expected, rtol=1e-12)
    one = GaussianNoise.fixed(0.3).loglik({}, *arrays(X, F[:, :1], Y[:, :1]))
    np.testing.assert_allclose(one, norm.logpdf(Y[:, 0], F[:, 0], 0.3), rtol=1e-12)


def arrays(*tables):
    return tuple(map(jnp.asarray, tables))


def test_outputs_may_have_noise_of_their_own(float64):
    expected = norm.logpdf(Y, F, SDS).sum(axis=1)
    noise = GaussianNoise(jnp.asarray(SDS))
    np.testing.assert_allclose(noise.loglik({}, *arrays(X, F, Y)), expected, rtol=1e-12)


def test_inferred_noise_comes_from_the_position(float64):
    noise = GaussianNoise.inferred(0.2, outputs=3, spread=0.7)
    position = {"log_sd": jnp.log(jnp.asarray(SDS))}
    expected = norm.logpdf(Y, F, SDS).sum(axis=1)
    np.testing.assert_allclose(
        noise.loglik(position, *arrays(X, F, Y)), expected, rtol=1e-12
    )
    np.testing.assert_allclose(
        noise.noise(position, jnp.asarray(X)), SDS[None], rtol=1e-12
    )


def test_the_noise_prior_is_log_normal_around_its_median(float64):
    noise = GaussianNoise.inferred(0.2, outputs=3, spread=0.7)
    log_prior = noise.log_prior({"log_sd": jnp.log(jnp.asarray(SDS))})
    # The position is the logarithm, so its density has the Jacobian factor sd.
    expected = (lognorm.logpdf(SDS, 0.7, scale=0.2) + np.log(SDS)).sum()
    np.testing.assert_allclose(log_prior, expected, rtol=1e-12)


def varying(outputs=3):
    network = MLP(2, (4,), outputs, activation="tanh")
    return VaryingNoise(jnp.full((outputs,), 0.2), network, 0.7)


def test_noise_may_depend_on_the_inputs(float64):
    noise = varying()
    weights = noise.sample_parameters(jax.random.key(1))
    (inner, into), (outer, out) = jax.tree.map(np.asarray, weights)
    sds = 0.2 * np.exp(0.7 * (np.tanh(X @ inner + into) @ outer + out))
    assert np.ptp(sds, axis=0).min() > 0.01
    np.testing.assert_allclose(noise.noise(weights, jnp.asarray(X)), sds, rtol=1e-12)
    expected = norm.logpdf(Y, F, sds).sum(axis=1)
    logs = noise.loglik(weights, *arrays(X, F, Y))
    np.testing.assert_allclose(logs, expected, rtol=1e-12)


def test_the_prior_of_varying_noise_is_that_of_its_weights(float64):
    noise = varying()
    weights = noise.sample_parameters(jax.random.key(1))
    (inner, into), (outer, out) = jax.tree.map(np.asarray, weights)
    widths = ((inner, 2**-0.5), (into, 1), (outer, 4**-0.5), (out, 1))
    expected = sum(norm.logpdf(w, 0, sd).sum() for w, sd in widths)
    np.testing.assert_allclose(noise.log_prior(weights), expected, rtol=1e-12)


def test_varying_noise_is_drawn_around_its_median_at_every_input():
    noise, xs = varying(1), jnp.asarray(X, float)
    keys = jax.random.split(jax.random.key(0), 4000)
    one = lambda key: noise.noise(noise.sample_parameters(key), xs)
    sds = np.asarray(jax.jit(jax.vmap(one))(keys))
    np.testing.assert_allclose(np.median(sds, axis=0), 0.2, rtol=0.05)
    # The last bias alone has a width of 0.7, and hidden units add up to as much again.
    spread = np.log(sds).std(axis=0)
    assert (spread > 0.7).all()
    assert (spread < 1.0).all()


def test_varying_noise_needs_an_output_for_each_of_the_functions(as_users_run_it):
    with pytest.raises(SettingError, match="must have 2 outputs"):
        VaryingNoise(jnp.full((2,), 0.1), MLP(2, (4,), 1)).check(2, None)


def test_noise_is_drawn_from_its_prior():
    noise = GaussianNoise.inferred(0.2, outputs=2, spread=0.7)
    keys = jax.random.split(jax.random.key(0), 4000)
    logs = np.asarray(jax.jit(jax.vmap(noise.sample_parameters))(keys)["log_sd"])
    np.testing.assert_allclose(logs.mean(axis=0), np.log(0.2), atol=0.05)
    np.testing.assert_allclose(logs.std(axis=0), 0.7, rtol=0.05)
    assert abs(np.corrcoef(logs.T)[0, 1]) < 0.1


def test_known_noise_has_no_parameters():
    noise = GaussianNoise.fixed(0.3)
    assert noise.shapes() == noise.sample_parameters(jax.random.key(0)) == {}
    assert float(noise.log_prior({})) == 0


@pytest.mark.parametrize("make", [GaussianNoise.fixed, GaussianNoise.inferred])
def test_whole_numbers_are_noise_too(make):
    noise = make(1, outputs=2)
    parameters = noise.sample_parameters(jax.random.key(0))
    values = noise.loglik(parameters, *jnp.zeros((3, 3, 2)))
    assert np.isfinite(values).all()


@pytest.mark.parametrize("wrong", [0.0, -0.1, float("inf"), float("nan")])
def test_noise_that_is_no_spread_is_refused_with_advice(wrong):
    for make in (
        lambda: GaussianNoise.fixed(wrong),
        lambda: GaussianNoise.inferred(wrong),
        lambda: GaussianNoise.inferred(0.1, spread=wrong),
    ):
        with pytest.raises(SettingError, match=r"above zero.*0\.1"):
            make()


def test_classes_are_scored_by_their_log_probability(float64):
    classes = RNG.integers(3, size=9)
    expected = (F - logsumexp(F, axis=1, keepdims=True))[np.arange(9), classes]
    logs = Categorical().loglik({}, *arrays(X, F, classes))
    np.testing.assert_allclose(logs, expected, rtol=1e-12)


def test_a_certain_classifier_scores_finitely_with_a_finite_slope():
    logits = jnp.array([[1e4, -1e4], [-1e4, 1e4]], jnp.float32)
    score = lambda z: jnp.sum(
        Categorical().loglik({}, jnp.zeros((2, 1)), z, jnp.array([1, 1]))
    )
    value, slope = jax.value_and_grad(score)(logits)
    assert float(value) == -2e4
    assert np.isfinite(slope).all()


@pytest.mark.parametrize("shape", [(9,), (9, 1), (9, 2), (9, 3, 1)])
def test_targets_that_would_broadcast_are_refused(shape, as_users_run_it):
    with pytest.raises(DataError, match=r"shape \(rows, 3\).*Y\[:, None\]"):
        GaussianNoise.fixed(0.1, outputs=3).check(3, np.zeros(shape))


def test_noise_of_too_few_outputs_is_refused():
    # One standard deviation for three outputs would be normalised once, not thrice.
    with pytest.raises(SettingError, match=r"outputs=3"):
        GaussianNoise.inferred(0.1).check(3, None)


@pytest.mark.parametrize("wrong", [np.zeros(4), np.zeros((4, 1), int)])
def test_classes_that_are_no_numbers_of_classes_are_refused(wrong, as_users_run_it):
    with pytest.raises(DataError, match="whole numbers from 0 to 2"):
        Categorical().check(3, jnp.asarray(wrong))
