"""Scales that are learned multiply weights, and are standard normal before any data."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import lognorm, norm

from ocbnn.errors import SettingError
from ocbnn.networks import (
    MLP,
    Applied,
    EquinoxNetwork,
    LearnedScales,
    ScaledNetwork,
    ScaledWeights,
)
from ocbnn.priors import WeightPrior, with_prior

HYPER = LearnedScales(weights=1.5, biases=0.7, spread=0.6, relevance=0.9)
INNER = MLP(3, (5, 4), 2, "tanh")
NETWORK = ScaledNetwork(INNER, HYPER)
PRIOR = WeightPrior("learned")
XS = np.random.default_rng(0).normal(size=(7, 3))


def drawn(network=NETWORK, seed=1):
    return PRIOR.sample(jax.random.key(seed), network)


def by_hand(weights):
    """Layers' weights and biases, and their scales, straight from the equations."""
    eta, relevance = (
        np.asarray(weights.scales),
        np.exp(0.9 * np.asarray(weights.inputs)),
    )
    layers = []
    for depth, (fan, raw) in enumerate(zip((3, 5, 4), weights.raw, strict=True)):
        sigma = 1.5 * np.exp(0.6 * eta[2 * depth])
        beta = 0.7 * np.exp(0.6 * eta[2 * depth + 1])
        sd = np.full((fan, 1), sigma / np.sqrt(fan))
        if depth == 0:
            sd = sd * relevance[:, None]
        layers.append(
            (np.asarray(raw.weight) * sd, np.asarray(raw.bias) * beta, sd, beta)
        )
    return layers


def test_values_are_those_of_the_network_with_weights_scaled_by_hand(float64):
    weights = drawn()
    (w0, b0, *_), (w1, b1, *_), (w2, b2, *_) = by_hand(weights)
    expected = np.tanh(np.tanh(XS @ w0 + b0) @ w1 + b1) @ w2 + b2
    xs = jnp.asarray(XS)
    np.testing.assert_allclose(NETWORK.batch(weights, xs), expected, rtol=1e-10)
    np.testing.assert_allclose(NETWORK.apply(weights, xs[0]), expected[0], rtol=1e-10)


def test_the_density_is_that_of_log_normal_scales_and_normal_weights(float64):
    weights = drawn()
    # Of what people read: scales, relevances and weights given them...
    total = 0.0
    for weight, bias, sd, beta in by_hand(weights):
        total += norm.logpdf(weight, 0, np.broadcast_to(sd, weight.shape)).sum()
        total += norm.logpdf(bias, 0, beta).sum()
        # ...and how much room a step of the position takes in their units.
        total += np.log(np.broadcast_to(sd, weight.shape)).sum()
        total += bias.size * np.log(beta)
    medians = np.array([1.5, 0.7] * 3)
    scales = medians * np.exp(0.6 * np.asarray(weights.scales))
    total += (lognorm.logpdf(scales, 0.6, scale=medians) + np.log(0.6 * scales)).sum()
    relevances = np.exp(0.9 * np.asarray(weights.inputs))
    total += (lognorm.logpdf(relevances, 0.9) + np.log(0.9 * relevances)).sum()
    np.testing.assert_allclose(PRIOR.logdensity(NETWORK, weights), total, rtol=1e-11)


def test_scales_of_draws_are_log_normal_around_their_medians():
    keys = jax.random.split(jax.random.key(0), 4000)
    sample = jax.jit(jax.vmap(lambda key: PRIOR.sample(key, NETWORK)))(keys)
    relevances = NETWORK.relevances(sample)
    assert relevances.shape == (4000, 3)
    np.testing.assert_allclose(np.median(relevances, axis=0), 1, rtol=0.07)
    np.testing.assert_allclose(np.log(relevances).std(axis=0), 0.9, rtol=0.05)
    _, plain = NETWORK.plain(sample)
    # The median of |z| is 0.67, and products of two medians are not far from it.
    sizes = np.log(np.abs(plain[2].weight)).std(), np.log(np.abs(plain[1].bias)).std()
    rest = np.log(np.abs(norm.rvs(size=100_000, random_state=0))).std()
    np.testing.assert_allclose(sizes, np.hypot(rest, 0.6), rtol=0.05)


def spread(network, seeds=4000):
    keys = jax.random.split(jax.random.key(0), seeds)
    x = jnp.ones(network.inputs)
    f = jax.jit(jax.vmap(lambda key: network.apply(PRIOR.sample(key, network), x)))
    return float(np.median(np.abs(f(keys))))


def test_functions_of_the_prior_do_not_spread_more_in_wider_networks():
    narrow, wide = (
        spread(ScaledNetwork(MLP(1, (width,), 1, "tanh"), LearnedScales()))
        for width in (4, 400)
    )
    assert wide == pytest.approx(narrow, rel=0.25)


def test_plain_weights_give_the_same_functions_of_many_draws():
    draws = jax.vmap(lambda k: PRIOR.sample(k, NETWORK))(
        jax.random.split(jax.random.key(0), 4)
    )
    network, plain = NETWORK.plain(draws)
    assert network == INNER
    shapes = jax.tree.map(lambda a: (4, *a.shape), INNER.shapes())
    assert jax.tree.map(lambda a: a.shape, plain) == shapes
    xs = jnp.asarray(XS, jnp.float32)
    ours = jax.vmap(lambda w: NETWORK.batch(w, xs))(draws)
    theirs = jax.vmap(lambda w: INNER.batch(w, xs))(jax.tree.map(jnp.asarray, plain))
    np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=1e-5)
    assert INNER.plain(plain) == (INNER, plain)


def test_draws_with_other_plain_weights_keep_their_scales_and_all_that_is_the_same():
    network = ScaledNetwork(MLP(3, (5,), 2), LearnedScales())
    draw = lambda key: WeightPrior().sample(key, network)
    draws = jax.vmap(draw)(jax.random.split(jax.random.key(0), 4))
    _, plain = network.plain(draws)
    expected = jax.tree.map(lambda a: np.concatenate([a[:2], a[2:] + 0.5]), plain)
    changed = network.with_plain(draws, expected)
    np.testing.assert_array_equal(changed.scales, draws.scales)
    for old, new in zip(
        jax.tree.leaves(draws.raw), jax.tree.leaves(changed.raw), strict=True
    ):
        np.testing.assert_array_equal(new[:2], old[:2])
    for given, asked in zip(
        jax.tree.leaves(network.plain(changed)[1]),
        jax.tree.leaves(expected),
        strict=True,
    ):
        np.testing.assert_allclose(given, asked, rtol=1e-5, atol=1e-6)


def test_a_network_without_hidden_layers_has_scales_too():
    network = ScaledNetwork(MLP(2, (), 1), LearnedScales())
    assert network.batch(drawn(network), jnp.zeros((3, 2))).shape == (3, 1)


def test_other_networks_have_a_scale_for_each_array_and_no_relevances():
    module = eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(0))
    pair = Applied(lambda _: {"w": jnp.zeros((2, 1))}, lambda w, x: x @ w["w"], 2, 1)
    for inner, arrays in ((EquinoxNetwork(module, 2), 4), (pair, 1)):
        network = ScaledNetwork(inner, LearnedScales(spread=1.0))
        weights = drawn(network)
        assert weights.scales.shape == (arrays,)
        assert weights.inputs == ()
        assert not network.has_relevances
        assert network.apply(weights, jnp.ones(2)).shape == (1,)
    doubled = weights._replace(scales=weights.scales + jnp.log(2.0))
    once, twice = (network.apply(w, jnp.ones(2)) for w in (weights, doubled))
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-5)


def test_the_last_layer_is_the_networks_and_no_scale():
    marks = NETWORK.last_layer()
    assert marks == ScaledWeights(INNER.last_layer(), False, False)
    assert jax.tree.structure(marks) == jax.tree.structure(NETWORK.shapes())


def test_noise_at_units_is_that_of_draws_of_all_weights():
    centre = drawn(seed=3)
    sd = jax.tree.map(lambda a: jnp.full(a.shape, 0.1, a.dtype), centre)
    xs = jnp.asarray(XS[:2], jnp.float32)

    def whole(key):
        leaves, structure = jax.tree.flatten(centre)
        keys = jax.random.split(key, len(leaves))
        noisy = [
            m + 0.1 * jax.random.normal(k, m.shape)
            for m, k in zip(leaves, keys, strict=True)
        ]
        return NETWORK.batch(jax.tree.unflatten(structure, noisy), xs)

    keys = jax.random.split(jax.random.key(0), 4000)
    ours = jax.jit(jax.vmap(lambda k: NETWORK.noisy_batch(centre, sd, k, xs)))(keys)
    theirs = jax.jit(jax.vmap(whole))(keys)
    width = np.std(theirs, axis=0)
    np.testing.assert_allclose(ours.mean(0), theirs.mean(0), atol=0.1 * width.max())
    np.testing.assert_allclose(np.std(ours, axis=0), width, rtol=0.1)


def test_equal_networks_share_compiled_code():
    twin = ScaledNetwork(MLP(3, (5, 4), 2, "tanh"), LearnedScales(1.5, 0.7, 0.6, 0.9))
    assert twin == NETWORK
    assert hash(jax.tree.structure(twin)) == hash(jax.tree.structure(NETWORK))


def test_a_written_scale_moves_the_medians():
    network, prior = with_prior(INNER, HYPER, 2.0)
    assert network == ScaledNetwork(INNER, LearnedScales(3.0, 1.4, 0.6, 0.9))
    assert prior == PRIOR
    usual, _ = with_prior(INNER, "learned", 1.0)
    assert usual == ScaledNetwork(INNER, LearnedScales())
    assert with_prior(INNER, "fan-in", 2.0) == (INNER, WeightPrior("fan-in", 2.0))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("weights", 0.0), ("biases", -1), ("spread", 0), ("relevance", -0.1)),
        *(("relevance", float("inf")), ("spread", float("nan"))),
    ],
)
def test_hyperpriors_that_cannot_be_are_refused_with_advice(name, value):
    with pytest.raises(SettingError, match=rf"{name} of LearnedScales.*Write Learned"):
        LearnedScales(**{name: value})


def test_a_learned_prior_needs_a_network_with_scales_and_none_of_its_own():
    with pytest.raises(SettingError, match=r"this one is MLP.*ScaledNetwork\(network"):
        PRIOR.logdensity(INNER, None)
    with pytest.raises(SettingError, match=r"got a scale of 2.0.*weights=2.0"):
        WeightPrior("learned", 2.0)
