"""The last layer integrated out: the density, and the draws that complete it."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm, t

from ocbnn.inference import NUTS, sample
from ocbnn.inference.flat import PartialDensity
from ocbnn.networks import MLP, EquinoxNetwork, LearnedScales, ScaledNetwork
from ocbnn.posterior import GaussianNoise, Model, Target, VaryingNoise
from ocbnn.priors import LayerScales, StudentT, WeightPrior
from tests.posterior.targets import at, classification, regression

NOISES = {
    "known": GaussianNoise.fixed(0.2, outputs=2),
    "inferred": GaussianNoise.inferred(0.3, outputs=2),
    "varying": VaryingNoise(jnp.full((2,), 0.3), MLP(2, (3,), 2, "tanh")),
}


def learned(rows=12, noise=NOISES["inferred"]):
    """The same table, and scales that are learned."""
    usual = regression(rows=rows)
    network = ScaledNetwork(MLP(2, (4, 3), 2, "tanh"), LearnedScales())
    return Target(network, WeightPrior("learned"), noise, (), usual.X, usual.Y)


def layers():
    """The same table, and scales for each layer."""
    usual = regression()
    prior = LayerScales(weights=(1.0, 2.0, 1.5), biases=(0.5, 1.0, 0.7))
    return Target(usual.network, prior, NOISES["inferred"], (), usual.X, usual.Y)


class NormalAtTheEnd(StudentT):
    """Heavy tails in hidden layers, and a normal last layer."""

    def sample(self, key, network):
        normal = WeightPrior("fan-in").sample(key, network)
        heavy = super().sample(key, network)
        choose = lambda is_last, one, other: one if is_last else other
        return jax.tree.map(choose, network.last_layer(), normal, heavy)

    def logdensity(self, network, weights):
        def log(is_last, values, width):
            one = jax.scipy.stats.norm if is_last else jax.scipy.stats.t
            shape = () if is_last else (self.df,)
            return jnp.sum(one.logpdf(values, *shape, 0.0, width))

        logs = jax.tree.map(log, network.last_layer(), weights, self.widths(network))
        return sum(jax.tree.leaves(logs))

    def last_layer_sd(self, network):
        return WeightPrior("fan-in").last_layer_sd(network)


# Fewer rows than columns of the regression, and more.
TARGETS = {
    **{f"fan-in, {name}": regression(noise=noise) for name, noise in NOISES.items()},
    "fan-in, three rows": regression(rows=3),
    "layers": layers(),
    "learned": learned(),
    "learned, three rows": learned(rows=3),
}
each_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


def double(tree):
    return jax.tree.map(lambda a: np.asarray(a, float), tree)


def outputs_per_unit(target, position):
    """The design by brute force: outputs for each weight of the last layer alone."""
    mask = target.network.last_layer()
    leaves, structure = jax.tree.flatten(position.weights)
    is_last = jax.tree.leaves(mask)
    sizes = [a.size if last else 0 for a, last in zip(leaves, is_last, strict=True)]
    columns = []
    for place, size in enumerate(sizes):
        for number in range(size):
            one = [
                jnp.zeros_like(a) if last else a
                for a, last in zip(leaves, is_last, strict=True)
            ]
            one[place] = one[place].ravel().at[number].set(1.0)
            one[place] = one[place].reshape(leaves[place].shape)
            weights = jax.tree.unflatten(structure, one)
            columns.append(np.asarray(target.network.batch(weights, target.X), float))
    return np.stack(columns, -1)  # rows, outputs, weights


def prior_variances(target, position):
    sds = target.weight_prior.sd(target.network)
    wide = jax.tree.map(lambda s, a: np.full(a.shape, float(s)), sds, position.weights)
    mask = jax.tree.leaves(target.network.last_layer())
    pairs = zip(jax.tree.leaves(wide), mask, strict=True)
    return np.concatenate([sd.ravel() ** 2 for sd, last in pairs if last])


@each_target
def test_the_density_is_the_normal_of_the_rows(target):
    position = at(target)
    part = target.collapsed()
    design = outputs_per_unit(target, position)
    cov = np.einsum(
        "aow,w,bpw->aobp", design, prior_variances(target, position), design
    )
    size = cov.shape[0] * cov.shape[1]
    noise = np.broadcast_to(
        target.likelihood.noise(position.noise, target.X), target.Y.shape
    )
    cov = cov.reshape(size, size) + np.diag(np.asarray(noise, float).ravel() ** 2)
    expected = multivariate_normal.logpdf(np.ravel(target.Y), None, cov)
    prior, data = part.split(part.reduced(position))
    assert float(data) == pytest.approx(expected, rel=1e-4)
    mask = jax.tree.leaves(target.network.last_layer())
    sds = jax.tree.leaves(target.weight_prior.sd(target.network))
    weights = jax.tree.leaves(double(position.weights))
    rest = sum(
        np.sum(-0.5 * (a / float(sd)) ** 2 - np.log(float(sd) * np.sqrt(2 * np.pi)))
        for a, sd, last in zip(weights, sds, mask, strict=True)
        if not last
    )
    rest += float(target.likelihood.log_prior(position.noise))
    assert float(prior) == pytest.approx(rest, rel=1e-4)
    assert part.logdensity(part.reduced(position)) == prior + data


@each_target
def test_slopes_agree_with_differences(target):
    part = target.collapsed()
    start, structure = jax.tree.flatten(part.reduced(at(target)))
    rng = np.random.default_rng(1)
    ways = [jnp.asarray(rng.normal(size=a.shape), a.dtype) for a in start]

    def moved(h):
        leaves = [a + h * w for a, w in zip(start, ways, strict=True)]
        return part.logdensity(jax.tree.unflatten(structure, leaves))

    slope = jax.grad(moved)(0.0)
    h = 2e-3
    assert float(slope) == pytest.approx(
        float(moved(h) - moved(-h)) / (2 * h), rel=2e-2, abs=2e-2
    )
    assert float(jax.jvp(moved, (0.0,), (1.0,))[1]) == pytest.approx(
        float(slope), rel=1e-4
    )


def test_little_noise_costs_no_digits():
    rows, sd = 80, 1e-3
    x = jnp.linspace(-2, 2, rows)[:, None]
    target = Target(
        MLP(1, (40,), 1),
        WeightPrior("fan-in"),
        GaussianNoise.fixed(sd),
        (),
        x,
        jnp.sin(3 * x),
    )
    position, part = at(target), target.collapsed()
    reduced = part.reduced(position)
    design = outputs_per_unit(target, position)[:, 0]
    cov = design * prior_variances(target, position) @ design.T + sd**2 * np.eye(rows)
    half = np.linalg.solve(np.linalg.cholesky(cov), np.ravel(target.Y).astype(float))
    _, log_det = np.linalg.slogdet(2 * np.pi * cov)
    expected = -0.5 * (half @ half + log_det)
    assert float(part.split(reduced)[1]) == pytest.approx(expected, rel=1e-3)
    slopes = jax.tree.leaves(jax.grad(part.logdensity)(reduced))
    assert all(np.isfinite(slope).all() for slope in slopes)


@each_target
def test_completed_positions_have_the_conditional_distribution(target):
    """By Bayes: density of the whole = density of the rest x that of the last layer."""
    position, part = at(target), target.collapsed()
    reduced = part.reduced(position)
    keys = jax.random.split(jax.random.key(0), 20_000)
    many = jax.jit(jax.vmap(lambda key: part.completed(key, reduced)))(keys)
    mask = jax.tree.leaves(target.network.last_layer())
    leaves = zip(jax.tree.leaves(many.weights), mask, strict=True)
    drawn = np.concatenate(
        [np.asarray(a, float).reshape(len(keys), -1) for a, last in leaves if last], 1
    )
    design = outputs_per_unit(target, position)
    noise = np.broadcast_to(
        target.likelihood.noise(position.noise, target.X), target.Y.shape
    )
    scaled = design / np.asarray(noise, float)[..., None]
    precision = np.einsum("aow,aov->wv", scaled, scaled)
    precision += np.diag(1 / prior_variances(target, position))
    cov = np.linalg.inv(precision)
    shift = np.einsum("aow,ao->w", scaled, np.asarray(target.Y / noise, float))
    sd = np.sqrt(np.diag(cov))
    assert np.max(np.abs(drawn.mean(0) - cov @ shift) / sd) < 0.04
    correlations = np.cov(drawn.T) / np.outer(sd, sd)
    assert np.max(np.abs(correlations - cov / np.outer(sd, sd))) < 0.06
    # What was not integrated out is untouched.
    first = jax.tree.map(lambda a: a[0], many)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, part.reduced(first), reduced))


def test_chains_draw_the_same_posterior_with_and_without():
    x = jnp.linspace(-1.5, 1.5, 12)[:, None]
    target = Target(
        MLP(1, (3,), 1, "tanh"),
        WeightPrior("fan-in"),
        GaussianNoise.inferred(0.3),
        (),
        x,
        jnp.tanh(2 * x) + 0.1 * jnp.sin(40 * x),
    )
    grid = jnp.linspace(-2, 2, 9)[:, None]
    moments = []
    for collapse in (False, True):
        plan = NUTS(chains=4, warmup=500, draws=2000, collapse=collapse)
        draws = sample(plan, target, jax.random.key(2)).stacked()
        values = np.asarray(
            jax.vmap(target.network.batch, (0, None))(draws.weights, grid)
        )[..., 0]
        log_sd = np.asarray(draws.noise["log_sd"])
        moments.append(np.concatenate([values, log_sd], 1))
    whole, part = moments
    sd = whole.std(0)
    assert np.max(np.abs(whole.mean(0) - part.mean(0)) / sd) < 0.12
    assert np.max(np.abs(np.log(part.std(0) / sd))) < 0.12


def test_a_prior_says_whether_its_last_layer_is_normal():
    usual = regression()
    usual = dataclasses.replace(usual, weight_prior=WeightPrior("fan-in"))
    mixed = dataclasses.replace(usual, weight_prior=NormalAtTheEnd())
    assert dataclasses.replace(usual, weight_prior=StudentT()).collapsed() is None
    position = usual.collapsed().reduced(at(usual))
    (normal, data), (heavy, same) = (
        target.collapsed().split(position) for target in (usual, mixed)
    )
    assert float(same) == pytest.approx(float(data), rel=1e-6)
    difference = 0.0
    for fan, layer in zip((2, 4), position.weights, strict=False):
        for values, sd in ((layer.weight, fan**-0.5), (layer.bias, 1.0)):
            logs = t.logpdf(values, 4, 0, sd) - norm.logpdf(values, 0, sd)
            difference += np.sum(logs)
    assert float(heavy - normal) == pytest.approx(difference, rel=1e-3)


@pytest.mark.parametrize(
    "target",
    [
        regression("expect"),
        classification(),
        Target(MLP(2, (4,), 2), WeightPrior(), NOISES["known"]),
        Target(MLP(2, (), 2), WeightPrior(), NOISES["known"], (), *regression().data),
        Target(
            EquinoxNetwork(eqx.nn.Linear(2, 2, key=jax.random.key(0)), 2),
            WeightPrior(),
            NOISES["known"],
            (),
            *regression().data,
        ),
    ],
    ids=["rules", "classes", "no data", "nothing left", "unknown last layer"],
)
def test_what_has_no_closed_form_is_sampled_whole(target):
    assert target.collapsed() is None


def test_the_rest_is_a_partial_density():
    target = regression()
    part = target.collapsed()
    assert isinstance(part, PartialDensity)
    assert not isinstance(target, PartialDensity)
    assert part.shapes().weights[-1].weight is None
    start = part.initial(jax.random.key(0))
    assert isinstance(start, Model)
    assert set(part.parts(start)) == {"weights", "data"}
