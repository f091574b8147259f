"""Heavy-tailed weights are scaled Student-t: draws, density and slope."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import kstest, t

from ocbnn.errors import SettingError
from ocbnn.networks import MLP
from ocbnn.priors import StudentT, WeightPrior, with_prior
from tests.priors.test_weights import NETWORK

PRIOR = StudentT(df=3.0, scale=2.0)
FANS = (3, 8, 4)


@pytest.mark.parametrize("df", [1, 2.5, 4.0, 1e6])
def test_the_density_is_that_of_scaled_student_t(df, float64):
    prior = StudentT(df=df, scale=2.0)
    weights = PRIOR.sample(jax.random.key(1), NETWORK)
    expected = 0.0
    for fan, (weight, bias) in zip(FANS, weights, strict=True):
        expected += t.logpdf(np.asarray(weight), df, 0, 2 / np.sqrt(fan)).sum()
        expected += t.logpdf(np.asarray(bias), df, 0, 2).sum()
    log = prior.logdensity(NETWORK, weights)
    np.testing.assert_allclose(log, expected, rtol=1e-9)


def test_the_density_loses_no_digits_in_single_precision():
    weights = jax.tree.map(lambda a: jnp.ones(a.shape), NETWORK.shapes())
    normal = WeightPrior("fan-in").logdensity(NETWORK, weights)
    nearly = StudentT(df=1e6).logdensity(NETWORK, weights)
    np.testing.assert_allclose(nearly, normal, rtol=1e-3)


def test_the_slope_of_the_density_agrees_with_differences(float64):
    weights = PRIOR.sample(jax.random.key(2), NETWORK)
    way = StudentT().sample(jax.random.key(3), NETWORK)

    def along(step):
        moved = jax.tree.map(lambda a, b: a + step * b, weights, way)
        return PRIOR.logdensity(NETWORK, moved)

    difference = (along(1e-6) - along(-1e-6)) / 2e-6
    assert float(jax.grad(along)(0.0)) == pytest.approx(float(difference), rel=1e-6)


def test_draws_have_the_distribution_that_the_density_says():
    keys = jax.random.split(jax.random.key(0), 2000)
    draws = jax.jit(jax.vmap(lambda key: PRIOR.sample(key, NETWORK)))(keys)
    for fan, (weight, bias) in zip(FANS, draws, strict=True):
        for values, width in ((weight, 2 / np.sqrt(fan)), (bias, 2.0)):
            first = np.asarray(values).reshape(len(keys), -1)[:, 0]
            assert kstest(first, t(3.0, 0, width).cdf).pvalue > 1e-4
    flat = np.concatenate([np.asarray(a).reshape(2000, -1) for a, _ in draws], axis=1)
    # Independent: signs of large weights, too, and tails do not come together.
    large = np.abs(flat) > np.median(np.abs(flat), axis=0)
    for marks in (flat > 0, large):
        correlation = np.corrcoef(marks.astype(float), rowvar=False)
        assert np.abs(correlation - np.eye(len(correlation))).max() < 0.12


def test_it_is_chosen_by_name_and_scaled():
    assert with_prior(NETWORK, "student-t", 2.0) == (NETWORK, StudentT(scale=2.0))
    scaled = with_prior(NETWORK, StudentT(df=5, scale=0.5), 4.0)
    assert scaled == (NETWORK, StudentT(df=5, scale=2.0))
    assert repr(StudentT(df=5)) == "StudentT(df=5)"
    assert StudentT(df=5).label == "student-t 1 with 5 degrees of freedom"


def test_it_says_that_its_tails_are_heavy_and_its_last_layer_is_not_normal():
    network = MLP(1, (2,), 1)
    assert not PRIOR.has_light_tails
    assert PRIOR.last_layer_sd(network) is None
    assert PRIOR.mean_logdensity(network, None, None) is None
    assert WeightPrior("fan-in").has_light_tails


@pytest.mark.parametrize("df", [0.5, -1.0, float("inf"), float("nan"), True])
def test_degrees_of_freedom_that_cannot_be_are_refused_with_advice(df):
    with pytest.raises(SettingError, match=r"1 or more.*StudentT\(df=4\)"):
        StudentT(df=df)


def test_a_scale_that_cannot_be_is_refused_with_advice():
    with pytest.raises(SettingError, match=r"above zero, got -1.*StudentT\(scale"):
        StudentT(scale=-1.0)
