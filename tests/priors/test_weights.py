"""Priors on weights are normal, of one width or scaled by fan-in."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from ocbnn.errors import SettingError
from ocbnn.networks import MLP
from ocbnn.priors import WeightPrior

NETWORK = MLP(3, (8, 4), 2)


def draws(prior, count):
    keys = jax.random.split(jax.random.key(0), count)
    return jax.jit(jax.vmap(lambda key: prior.sample(key, NETWORK)))(keys)


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_an_isotropic_prior_is_one_normal_for_all(scale, float64):
    prior = WeightPrior("isotropic", scale)
    weights = prior.sample(jax.random.key(1), NETWORK)
    expected = sum(
        norm.logpdf(np.asarray(a), 0, scale).sum() for a in jax.tree.leaves(weights)
    )
    np.testing.assert_allclose(prior.logdensity(NETWORK, weights), expected, rtol=1e-12)


def test_a_fan_in_prior_narrows_weights_and_not_biases(float64):
    prior = WeightPrior("fan-in", 2.0)
    weights = prior.sample(jax.random.key(1), NETWORK)
    expected = 0.0
    for fan, (weight, bias) in zip((3, 8, 4), weights, strict=True):
        expected += norm.logpdf(np.asarray(weight), 0, 2 / np.sqrt(fan)).sum()
        expected += norm.logpdf(np.asarray(bias), 0, 2).sum()
    np.testing.assert_allclose(prior.logdensity(NETWORK, weights), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["isotropic", "fan-in"])
def test_draws_have_the_spread_that_the_density_says(kind):
    prior = WeightPrior(kind, 0.5)
    spread = jax.tree.map(lambda a: float(np.std(a)), draws(prior, 4000))
    expected = jax.tree.map(float, prior.sd(NETWORK))
    for ours, theirs in zip(*map(jax.tree.leaves, (spread, expected)), strict=True):
        assert ours == pytest.approx(theirs, rel=0.03)


def test_weights_of_one_draw_are_independent():
    leaves = map(np.asarray, jax.tree.leaves(draws(WeightPrior(), 4000)))
    flat = np.concatenate([leaf.reshape(4000, -1) for leaf in leaves], axis=1)
    correlation = np.corrcoef(flat, rowvar=False)
    assert np.abs(correlation - np.eye(len(correlation))).max() < 0.1


def output_spread(kind, width):
    network, prior, x = MLP(1, (width,), 1, "tanh"), WeightPrior(kind), jnp.ones(1)
    f = jax.jit(jax.vmap(lambda key: network.apply(prior.sample(key, network), x)))
    return float(np.std(f(jax.random.split(jax.random.key(0), 500))))


def test_the_spread_of_a_fan_in_networks_output_does_not_grow_with_its_width():
    narrow, wide = output_spread("fan-in", 4), output_spread("fan-in", 400)
    assert wide == pytest.approx(narrow, rel=0.25)
    assert output_spread("isotropic", 400) > 5 * narrow


def test_an_unknown_kind_is_refused_with_those_there_are():
    with pytest.raises(SettingError, match=r"'fanin'.*isotropic, fan-in"):
        WeightPrior("fanin")


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan")])
def test_a_scale_that_is_no_width_is_refused_with_advice(scale):
    with pytest.raises(SettingError, match=r"above zero.*weight_scale"):
        WeightPrior("isotropic", scale)
