"""Every algorithm against a posterior known in closed form."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import stats

from ocbnn.inference import (
    HMC,
    NUTS,
    SMC,
    SVGD,
    AdjustedMCLMC,
    WarmStart,
    judge,
    sample,
)
from ocbnn.inference.adaptation import SLOW, WINDOW_END, Tuning, adapt, start_adaptation
from ocbnn.inference.svgd import stein_direction
from ocbnn.priors import WeightPrior
from tests.inference.densities import (
    COVARIANCE,
    MEAN,
    Banana,
    Gaussian,
    LinearRegression,
    TwoHills,
    banana,
    known_gaussian,
)

EXACT = [
    pytest.param(HMC(step_size=0.25, steps=7, warmup=200, draws=3000), id="hmc"),
    pytest.param(
        HMC(adapt=True, jitter=True, steps=12, warmup=500, draws=3000), id="adapted hmc"
    ),
    pytest.param(NUTS(warmup=500, draws=3000), id="nuts"),
    pytest.param(AdjustedMCLMC(warmup=500, draws=3000), id="adjusted mclmc"),
    pytest.param(SMC(particles=4000, chains=2), id="smc"),
    pytest.param(
        WarmStart(sampler=NUTS(warmup=500, draws=3000), iterations=300),
        id="nuts from an ensemble",
    ),
]


def seldom(plans, *names):
    """The plans, of which those with these names run in the slow suite only."""
    marks = {plan.id: [pytest.mark.slow] * (plan.id in names) for plan in plans}
    return [
        pytest.param(*plan.values, id=plan.id, marks=marks[plan.id]) for plan in plans
    ]


def assert_moments(values, mean, covariance, size, slack=0.0):
    """Means and covariances within five standard errors, and a share of slack."""
    flat = values.reshape(-1, values.shape[-1])
    width = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(flat.mean(axis=0) - mean) < width * (5 / size**0.5 + slack))
    # A covariance estimate has relative error of about sqrt(2 / n).
    allowed = (5 * np.sqrt(2 / size) + slack) * np.outer(width, width)
    assert np.all(np.abs(np.cov(flat.T) - covariance) < allowed)


@pytest.mark.parametrize("plan", EXACT)
def test_exact_samplers_recover_a_correlated_gaussian(plan):
    draws = sample(plan, known_gaussian(), jax.random.key(0))
    x = np.asarray(draws.positions)
    size = judge(draws, x).ess_min
    assert size > 1000
    assert_moments(x, MEAN, COVARIANCE, size)


@pytest.mark.parametrize("plan", seldom(EXACT[2:5], "adjusted mclmc", "smc"))
def test_exact_samplers_recover_the_posterior_of_a_linear_regression(plan):
    problem = LinearRegression.make()
    draws = sample(plan, problem.target, jax.random.key(1))
    values = problem.coefficients(draws)
    size = judge(draws, values).ess_min
    assert size > 1000
    assert_moments(values, problem.mean, problem.covariance, size)


@pytest.mark.parametrize(
    "plan", seldom(EXACT, "hmc", "adapted hmc", "nuts from an ensemble")
)
def test_exact_samplers_recover_a_banana(plan):
    draws = sample(plan, banana(), jax.random.key(0))
    straight = Banana.straightened(np.asarray(draws.positions, float))
    # Evenly spread between 0 and 1, if the draws are right; and without heavy tails.
    even = stats.norm.cdf(straight)
    both = np.concatenate([even, even**2, even[..., :1] * even[..., 1:]], axis=-1)
    truth = np.array([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 4])
    size = judge(draws, both).ess_min
    assert size > 250
    error = np.abs(both.mean(axis=(0, 1)) - truth)
    assert np.all(error < 4.5 * both.std(axis=(0, 1)) / size**0.5)


def test_svgd_finds_the_mean_and_most_of_the_spread_of_a_gaussian():
    plan = SVGD(particles=100, iterations=1500, learning_rate=0.1)
    x = np.asarray(sample(plan, known_gaussian(), jax.random.key(0)).stacked())
    assert np.allclose(x.mean(axis=0), MEAN, atol=0.03)
    # Stein particles are known to lose some variance; in two dimensions, little.
    assert np.allclose(np.cov(x.T), COVARIANCE, rtol=0.15)


def test_svgd_takes_any_optax_optimiser():
    plan = SVGD(particles=20, iterations=800, optimiser=optax.adam(0.05))
    x = np.asarray(sample(plan, known_gaussian(), jax.random.key(0)).stacked())
    assert np.allclose(x.mean(axis=0), MEAN, atol=0.1)


def test_svgd_starts_as_wide_as_told():
    start = lambda spread: np.asarray(
        SVGD(particles=50, start_spread=spread)
        .bind(known_gaussian())
        .init(jax.random.key(0))
        .positions
    )
    usual, wide = start(1.0), start(3.0)
    assert np.allclose(wide.mean(axis=0), usual.mean(axis=0), atol=1e-5)
    assert np.allclose(wide.std(axis=0), 3 * usual.std(axis=0), rtol=1e-4)


@pytest.mark.parametrize(("accelerated", "many"), [(False, 9), (True, 9), (False, 5)])
def test_stein_direction_is_the_papers_equation(
    float64, monkeypatch, accelerated, many
):
    monkeypatch.setattr("ocbnn.inference.svgd.is_accelerated", lambda: accelerated)
    monkeypatch.setattr("ocbnn.inference.svgd._MANY", many)
    rng = np.random.default_rng(0)
    w, g = rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
    w[1] = w[0]  # so that some distances are the same
    squared = ((w[:, None] - w[None]) ** 2).sum(-1)
    median = np.median(squared[np.triu_indices(6, 1)])
    h = median / np.log(7)
    expected = np.zeros((6, 3))
    for i in range(6):
        for s in range(6):
            k = np.exp(-squared[s, i] / h)
            expected[i] += (k * g[s] - 2 / h * (w[s] - w[i]) * k) / 6
    # Split over two leaves of different shapes, as a network's weights are.
    tree = {"a": jnp.asarray(w[:, :2]).reshape(6, 2, 1), "b": jnp.asarray(w[:, 2])}
    grads = {"a": jnp.asarray(g[:, :2]).reshape(6, 2, 1), "b": jnp.asarray(g[:, 2])}
    result, spread = stein_direction(tree, grads)
    assert np.allclose(result["a"][..., 0], expected[:, :2])
    assert np.allclose(result["b"], expected[:, 2])
    assert np.isclose(spread, np.sqrt(median))


def test_tempered_smc_keeps_the_shares_of_two_modes_that_nuts_cannot_cross():
    target = TwoHills.make(np.zeros(1), np.eye(1))
    smc = sample(SMC(particles=4000, chains=2), target, jax.random.key(1))
    shares = (np.asarray(smc.positions)[..., 0] < 0).mean(axis=1)
    assert np.allclose(shares, 0.3, atol=0.05)
    nuts = sample(NUTS(warmup=300, draws=300, chains=4), target, jax.random.key(1))
    sides = (np.asarray(nuts.positions)[..., 0] < 0).mean(axis=1)
    assert set(sides) <= {0.0, 1.0}


def test_tempered_smc_estimates_the_evidence():
    # The added part turns a normalised normal into exp(-gap' P gap / 2) / (2 pi).
    truth = 0.5 * np.log(np.linalg.det(COVARIANCE))
    draws = sample(SMC(particles=4000, chains=2), known_gaussian(), jax.random.key(3))
    assert draws.log_evidence.shape == (2,)
    assert np.allclose(draws.log_evidence, truth, atol=0.15)


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_tempered_smc_estimates_the_evidence_of_a_weight_prior(scale):
    regression = LinearRegression.make()
    target = dataclasses.replace(
        regression.target, weight_prior=WeightPrior("fan-in", scale)
    )
    X, y = np.asarray(target.X, float), np.asarray(target.Y, float)[:, 0]
    sds = scale * np.array([0.5**0.5, 0.5**0.5, 1.0])
    design = np.concatenate([X, np.ones((len(X), 1))], axis=1) * sds
    covariance = design @ design.T + 0.5**2 * np.eye(len(y))
    truth = stats.multivariate_normal.logpdf(y, None, covariance)
    draws = sample(SMC(particles=1000, chains=4), target, jax.random.key(4))
    found = np.asarray(draws.log_evidence, float)
    error = found.std(ddof=1) / np.sqrt(len(found))
    assert error < 0.15
    assert abs(found.mean() - truth) < 5 * error + 0.02


def test_a_rejected_hmc_move_leaves_the_chain_exactly_where_it_was():
    # Steps so long that most moves are rejected, and the target still comes out.
    plan = HMC(step_size=0.75, steps=3, warmup=100, draws=4000, climb=0)
    draws = sample(plan, known_gaussian(), jax.random.key(2))
    acceptance = draws.stats["acceptance"]
    x = np.asarray(draws.positions)
    stayed = np.all(x[:, 1:] == x[:, :-1], axis=-1)
    assert 0.2 < stayed.mean() < 0.8
    assert np.isclose(1 - acceptance.mean(), stayed.mean(), atol=0.02)
    # Keeping rejected moves instead would heat the chain: the covariance would grow.
    flat = x.reshape(-1, 2)
    assert np.allclose(np.cov(flat.T), COVARIANCE, atol=0.06)


def test_hmc_accepts_by_the_energy_of_one_fixed_density():
    """Energy is conserved to second order in the step; noise in it would break that."""
    errors = []
    for step in (0.2, 0.1):
        steps = round(1.0 / step)
        plan = HMC(step_size=step, steps=steps, warmup=0, draws=500, climb=0)
        draws = sample(plan, known_gaussian(), jax.random.key(0))
        errors.append(np.mean(1 - draws.stats["acceptance"]))
    # Mean rejection falls like the energy error, step², squared or not: at least 3x.
    assert errors[1] < errors[0] / 3


def test_hmc_in_double_precision_stays_double(float64):
    plan = HMC(step_size=0.2, warmup=10, draws=10, chains=2)
    draws = sample(plan, Gaussian.make(MEAN, COVARIANCE), jax.random.key(0))
    assert np.asarray(draws.positions).dtype == np.float64


def test_a_seed_decides_every_draw_whatever_the_number_of_threads():
    plan = NUTS(warmup=50, draws=50, chains=3)
    runs = [
        np.asarray(
            sample(plan, known_gaussian(), jax.random.key(seed), threads=n).positions
        )
        for seed, n in ((0, 1), (0, 3), (1, 1))
    ]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])
    assert not np.array_equal(runs[0][0], runs[0][1])


def test_warm_up_learns_scales_from_few_moves(float64):
    rng = np.random.default_rng(0)
    sds = np.array([0.1, 1.0, 3.0])
    tuning = Tuning(jnp.asarray(0.1), jnp.ones(3))
    memory, last = start_adaptation(tuning), 99
    for move in range(last + 1):
        position = jnp.asarray(sds * rng.normal(size=3))
        stage = jnp.asarray(WINDOW_END if move == last else SLOW)
        slope = -position / sds**2
        tuning, memory = adapt(
            tuning, memory, position, slope, jnp.asarray(0.8), stage, 0.8
        )
    # The variance of a hundred positions alone would be 14 % off, typically.
    np.testing.assert_allclose(tuning.inverse_mass, sds**2, rtol=0.02)
    assert float(memory.slopes.seen) == 0
