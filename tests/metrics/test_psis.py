"""Pareto smoothing against ArviZ, and against ratios known in closed form."""

import warnings

import numpy as np
import pytest
from scipy.stats import norm

from ocbnn.metrics.loo import leave_one_out
from ocbnn.metrics.psis import fit_pareto, smooth, trust_limit


def reference(log_weights):
    """ArviZ's weights and shape, from whichever generation of it is installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from arviz_stats.base import array_stats
        except ImportError:
            import arviz

            logs, k = arviz.psislw(log_weights.copy())
        else:
            # It takes log likelihoods, and weighs by one over those.
            logs, k = array_stats.psislw(-log_weights, axis=-1)
    return np.asarray(logs), float(k)


# Three roots of these are whole: ArviZ 0.x rounds the tail's length up, 1.x down.
@pytest.mark.parametrize("draws", [100, 900, 4900])
@pytest.mark.parametrize("spread", [0.05, 0.5, 1.0, 3.0])
def test_weights_and_shape_agree_with_arviz(draws, spread):
    logs = spread * np.random.default_rng(draws).standard_normal(draws)
    ours, (theirs, k) = smooth(logs), reference(logs)
    assert ours.pareto_k == pytest.approx(k, abs=1e-6)
    assert np.allclose(ours.log_weights, theirs, atol=1e-6)


@pytest.mark.parametrize("shape", [0.1, 0.5, 1.0])
def test_the_fit_finds_the_shape_of_a_pareto_tail(shape):
    share = (np.arange(2000) + 0.5) / 2000
    numbers = np.expm1(-shape * np.log1p(-share)) / shape
    result, scale = fit_pareto(numbers)
    assert result == pytest.approx(shape, abs=0.05)
    assert scale == pytest.approx(1.0, abs=0.05)


def test_equal_weights_are_worth_all_draws_and_one_huge_weight_none():
    same = smooth(np.full(200, -3.0))
    assert same.pareto_k == -np.inf
    assert same.ess == pytest.approx(200)
    alone = np.zeros(200)
    alone[7] = 50.0
    assert smooth(alone).pareto_k == np.inf
    assert smooth(alone).ess == pytest.approx(1.0)


def test_weights_of_all_sizes_are_smoothed_without_a_warning():
    logs = np.full(1000, -2000.0)
    logs[:95] = np.linspace(-700.0, 0.0, 95)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = smooth(logs)
    assert result.pareto_k > 100
    assert np.isclose(np.exp(result.log_weights).sum(), 1.0)


def test_a_wall_that_is_leaned_on_cannot_be_taken_away_by_weighting():
    # Draws that lean on a wall e^-u have weights e^u without it: a Pareto tail of one.
    prices = np.random.default_rng(0).exponential(size=4000)
    assert smooth(prices).pareto_k > trust_limit(4000)
    assert smooth(-prices).pareto_k < 0.5


def test_a_smooth_ratio_gives_the_other_densitys_mean():
    x = np.random.default_rng(1).standard_normal(20_000)
    result = smooth(0.3 * x)  # from N(0, 1) to N(0.3, 1)
    assert result.pareto_k < 0.5
    assert np.sum(np.exp(result.log_weights) * x) == pytest.approx(0.3, abs=0.03)


def test_left_out_rows_are_predicted_by_functions_that_follow_from_the_draws():
    """A constant, drawn from its posterior and then moved to at least a bound."""
    rng, bound = np.random.default_rng(0), 0.3
    rows = rng.normal(size=10)
    means = rng.normal(rows.mean(), 10**-0.5, 20_000)[:, None]
    result = leave_one_out(
        norm.logpdf(rows, means), scored=norm.logpdf(rows, np.maximum(means, bound))
    )
    grid = np.linspace(-4.0, 4.0, 8001)
    for row, ours in zip(range(10), result.rows, strict=True):
        rest = np.delete(rows, row)
        weights = norm.pdf(grid, rest.mean(), 9**-0.5)
        exact = norm.pdf(rows[row], np.maximum(grid, bound)) @ weights / weights.sum()
        assert ours == pytest.approx(np.log(exact), abs=0.02)
    # Without the move, the numbers are others.
    plain = leave_one_out(norm.logpdf(rows, means)).rows
    assert np.abs(plain - result.rows).max() > 0.1
