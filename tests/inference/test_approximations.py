"""Every approximation against a posterior known in closed form, within its bound."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.errors import SettingError
from ocbnn.inference import (
    MCLMC,
    NUTS,
    SGHMC,
    SGLD,
    SMC,
    SVGD,
    VI,
    Ensemble,
    Laplace,
    WarmStart,
    sample,
)
from ocbnn.inference.diagnostics import ess_bulk
from ocbnn.inference.svgd import anneal
from tests.inference.densities import (
    COVARIANCE,
    MEAN,
    Gaussian,
    LinearRegression,
    TwoHills,
    known_gaussian,
)
from tests.inference.test_samplers import assert_moments

# Each with the bound on its relative bias that its documentation states.
CHAINS = [
    pytest.param(MCLMC(draws=3000, warmup=1500), 0.05, id="mclmc"),
    pytest.param(
        SGLD(draws=4000, thin=30, step_size=0.2),
        0.1,
        id="sgld",
        marks=pytest.mark.slow,
    ),
    pytest.param(SGHMC(draws=3000, thin=10, step_size=0.5), 0.1, id="sghmc"),
    pytest.param(
        WarmStart(sampler=MCLMC(draws=3000, warmup=1500), iterations=300),
        0.05,
        id="mclmc from an ensemble",
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize(("plan", "bound"), CHAINS)
def test_uncorrected_chains_recover_a_linear_regression_within_their_bound(plan, bound):
    problem = LinearRegression.make()
    draws = sample(plan, problem.target, jax.random.key(0))
    values = problem.coefficients(draws)
    size = ess_bulk(values).min()
    assert size > 500
    assert_moments(values, problem.mean, problem.covariance, size, bound)


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(SGLD(draws=4000, thin=30), marks=pytest.mark.slow, id="sgld"),
        pytest.param(SGHMC(draws=1500), id="sghmc"),
    ],
)
def test_batches_heat_a_chain_by_no_more_than_its_bound(plan):
    problem = LinearRegression.make(rows=200, batch_size=20)
    draws = sample(plan, problem.target, jax.random.key(0))
    values = problem.coefficients(draws)
    size = ess_bulk(values).min()
    assert_moments(values, problem.mean, problem.covariance, size, 0.25)


@pytest.mark.parametrize("local", [pytest.param(False, marks=pytest.mark.slow), True])
def test_mean_field_vi_finds_the_best_independent_normals(local):
    problem = LinearRegression.make()
    plan = VI(iterations=4000, samples=16, local=local, draws=4000)
    draws = sample(plan, problem.target, jax.random.key(0))
    values = problem.coefficients(draws)
    best = np.diag(1 / np.diag(np.linalg.inv(problem.covariance)))
    assert_moments(values, problem.mean, best, 4000, 0.1)
    bound = draws.warmup["elbo"][0]
    assert bound[-100:].mean() > bound[:100].mean()


def test_the_bound_of_vi_is_the_evidence_when_the_posterior_is_of_its_kind():
    # A normal without correlation; the reference is the standard normal.
    target = type(known_gaussian()).make(MEAN, np.diag([0.5, 0.4]))
    truth = 0.5 * np.log(0.5 * 0.4)
    draws = sample(VI(iterations=3000, samples=32), target, jax.random.key(0))
    assert np.isclose(draws.warmup["elbo"][0, -200:].mean(), truth, atol=0.02)


def test_laplace_over_all_weights_is_the_curvature_of_each():
    draws = sample(
        Laplace(over="all", iterations=2000, draws=2000),
        known_gaussian(),
        jax.random.key(0),
    )
    best = np.diag(1 / np.diag(np.linalg.inv(COVARIANCE)))
    assert_moments(np.asarray(draws.positions), MEAN, best, draws.size)


def test_laplace_over_the_last_layer_of_a_line_is_its_posterior():
    problem = LinearRegression.make()
    plan = Laplace(iterations=3000, draws=2000)
    draws = sample(plan, problem.target, jax.random.key(0))
    values = problem.coefficients(draws)
    assert_moments(values, problem.mean, problem.covariance, draws.size)


def test_laplace_needs_a_density_that_knows_its_last_layer():
    with pytest.raises(SettingError, match=r'Write Laplace\(over="all"\)'):
        sample(Laplace(), known_gaussian(), jax.random.key(0))
    with pytest.raises(SettingError, match=r"one of 'all', 'last', got 'first'"):
        Laplace(over="first")


def test_vi_needs_a_density_that_knows_its_units_for_the_local_trick():
    with pytest.raises(SettingError, match=r"Write VI\(local=False\)"):
        sample(VI(local=True), known_gaussian(), jax.random.key(0))


def test_every_member_of_an_ensemble_finds_a_maximum():
    plan = Ensemble(members=20, iterations=2000, learning_rate=0.02)
    draws = sample(plan, known_gaussian(), jax.random.key(0))
    assert draws.size == 20
    assert np.allclose(draws.stacked(), MEAN, atol=0.05)


def test_an_ensemble_finds_both_of_two_hills():
    target = TwoHills.make(np.zeros(1), np.eye(1))
    draws = sample(Ensemble(members=40), target, jax.random.key(0))
    right = (np.asarray(draws.stacked()) > 0).mean()
    assert 0.2 < right < 0.8


def test_a_warm_start_keeps_what_its_sampler_says_of_itself():
    plan = WarmStart(sampler=NUTS(chains=3, draws=20, warmup=30), iterations=10)
    assert (plan.chains, plan.warmup, plan.draws, plan.is_exact) == (3, 40, 20, True)
    assert not WarmStart().is_exact
    assert plan.label == "NUTS from an ensemble"
    draws = sample(plan, known_gaussian(), jax.random.key(0))
    assert draws.warmup["logdensity"].shape == (3, 40)
    assert np.isnan(draws.warmup["acceptance"][:, :10]).all()
    assert np.isfinite(draws.warmup["acceptance"][:, 10:]).all()


def test_a_warm_start_needs_a_sampler_that_can_be_told_where_to_start():
    with pytest.raises(SettingError, match="cannot be told where to start"):
        sample(WarmStart(sampler=SMC()), known_gaussian(), jax.random.key(0))
    with pytest.raises(SettingError, match=r"must be a plan such as MCLMC\(\)"):
        WarmStart(sampler="nuts")


def test_annealed_svgd_leaves_the_mode_it_fell_into():
    """Started on one hill, plain particles stay there and annealed ones spread."""

    class OneSide(TwoHills):
        def initial(self, key):
            return 3.0 + 0.3 * jax.random.normal(key, (1,))

    target = OneSide.make(np.zeros(1), np.eye(1))
    left = {}
    for cycles in (0, 4):
        plan = SVGD(particles=40, iterations=2000, cycles=cycles)
        draws = sample(plan, target, jax.random.key(0))
        left[cycles] = (np.asarray(draws.stacked()) < 0).mean()
    assert left[0] == 0
    assert left[4] > 0.1


def test_annealing_rises_in_every_cycle_and_stays_up_in_the_second_half():
    length = jnp.asarray(400.0)
    pull = [float(anneal(jnp.asarray(i), length, 2)) for i in range(400)]
    assert pull[0] == pull[100] == 0
    assert np.all(np.diff(pull[:100]) > 0)
    assert set(pull[200:]) == {1.0}


def test_mclmc_is_not_thrown_out_of_a_sharp_mode_that_it_starts_in():
    # A first step of the usual length is two thousand widths of this density.
    plan = MCLMC(warmup=400)
    algorithm = plan.bind(Gaussian(jnp.zeros(4), jnp.eye(4) * 1e10))
    state = algorithm.init_at(jax.random.key(0), jnp.zeros(4))
    move = eqx.filter_jit(algorithm.warmup)
    for index in range(plan.warmup):
        key = jax.random.fold_in(jax.random.key(1), index)
        state, info = move(key, state, jnp.asarray(index))
        assert float(info.logdensity) > -200
    assert not bool(info.divergent)
    assert float(jnp.abs(state.phase.position).max()) > 1e-7
