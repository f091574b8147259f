"""Scales for each layer: normals as wide as a person says."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from ocbnn.errors import SettingError
from ocbnn.networks import MLP, EquinoxNetwork, LearnedScales, ScaledNetwork
from ocbnn.priors import LayerScales, WeightPrior, with_prior
from tests.priors.test_weights import NETWORK

PRIOR = LayerScales(weights=(1.0, 2.0, 3.0), biases=(0.1, 0.2, 0.3))


def test_the_density_has_the_scales_of_each_layer(float64):
    weights = PRIOR.sample(jax.random.key(1), NETWORK)
    expected = 0.0
    layers = zip((3, 8, 4), (1, 2, 3), (0.1, 0.2, 0.3), weights, strict=True)
    for fan, sigma, beta, (weight, bias) in layers:
        expected += norm.logpdf(np.asarray(weight), 0, sigma / np.sqrt(fan)).sum()
        expected += norm.logpdf(np.asarray(bias), 0, beta).sum()
    log = PRIOR.logdensity(NETWORK, weights)
    np.testing.assert_allclose(log, expected, rtol=1e-12)


def test_one_number_stands_for_all_layers_and_gives_the_draws_of_fan_in():
    usual = WeightPrior("fan-in", 1.5).sample(jax.random.key(0), NETWORK)
    ours = LayerScales(1.5, 1.5).sample(jax.random.key(0), NETWORK)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, ours, usual))


def test_the_last_layers_sd_is_its_own():
    sd = np.asarray(PRIOR.last_layer_sd(NETWORK))
    expected = np.array([3 / 2] * 4 + [0.3])[:, None] * np.ones((5, 2))
    np.testing.assert_allclose(sd, expected, rtol=1e-6)


def test_other_networks_have_layers_in_the_order_of_their_arrays():
    network = EquinoxNetwork(eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(0)), 2)
    sds = LayerScales(weights=(1.0, 2.0), biases=(3.0, 4.0)).sd(network)
    ours = [float(sd) for sd in jax.tree.leaves(sds)]
    np.testing.assert_allclose(ours, [1 / np.sqrt(2), 3, 2 / np.sqrt(4), 4], rtol=1e-6)


def test_a_written_scale_multiplies_all():
    _, prior = with_prior(NETWORK, LayerScales((1.0, 2.0, 3.0), 0.5), 2.0)
    assert prior == LayerScales((2.0, 4.0, 6.0), 1.0)
    assert prior.label == "fan-in with scales of weights 2, 4, 6 and of biases 1"
    assert LayerScales(weights=[1.0, 2.0]) == LayerScales(weights=(1.0, 2.0))


def test_medians_of_learned_scales_may_differ_by_layer(float64):
    """A median of a layer is a factor of its weights."""
    weights = ScaledNetwork(NETWORK, LearnedScales()).shapes()
    rng = np.random.default_rng(0)
    weights = jax.tree.map(lambda a: jnp.asarray(rng.normal(size=a.shape)), weights)
    usual, ours = (
        ScaledNetwork(NETWORK, hyper).plain(jax.tree.map(lambda a: a[None], weights))[1]
        for hyper in (LearnedScales(), LearnedScales((2.0, 1.0, 5.0), (0.5, 3.0, 1.0)))
    )
    ratios = [
        (float(np.mean(a.weight / b.weight)), float(np.mean(a.bias / b.bias)))
        for a, b in zip(ours, usual, strict=True)
    ]
    np.testing.assert_allclose(ratios, [(2, 0.5), (1, 3), (5, 1)], rtol=1e-12)
    scaled, _ = with_prior(NETWORK, LearnedScales((2.0, 1.0, 5.0)), 2.0)
    assert scaled.hyper == LearnedScales((4.0, 2.0, 10.0), 2.0)


@pytest.mark.parametrize(
    "apply",
    [
        lambda: with_prior(MLP(1, (4,), 1), PRIOR, 1.0),
        lambda: with_prior(MLP(1, (4,), 1), LearnedScales((1.0, 2.0, 3.0)), 1.0),
    ],
    ids=["given", "learned"],
)
def test_another_number_of_layers_is_refused_with_what_to_write(apply):
    with pytest.raises(SettingError, match=r"3 numbers.*has 2 layers.*=\(1.0, 1.0\)"):
        apply()


@pytest.mark.parametrize("kind", [LayerScales, LearnedScales])
@pytest.mark.parametrize("scales", [(), (1.0, 0.0), (1.0, -1.0), (float("inf"),)])
def test_scales_that_cannot_be_are_refused_with_advice(kind, scales):
    with pytest.raises(SettingError, match=rf"biases of {kind.__name__} .*Write"):
        kind(biases=scales)
