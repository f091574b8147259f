"""Scores agree with their definitions."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import multivariate_normal
from sklearn.metrics import root_mean_squared_error

from ocbnn.metrics import coverage, mean_log_likelihood, rmse

RNG = np.random.default_rng(0)
PREDICTION, TRUTH = RNG.normal(size=(2, 20, 3))


def test_rmse_is_the_root_of_the_mean_squared_error():
    # What the authors' code calls by this name is the mean squared error itself.
    expected = root_mean_squared_error(TRUTH.ravel(), PREDICTION.ravel())
    assert rmse(PREDICTION, TRUTH) == pytest.approx(expected)
    assert rmse(10 * PREDICTION, 10 * TRUTH) == pytest.approx(10 * expected)


@given(st.integers(0, 999))
def test_coverage_counts_observations_inside_ends_included(seed):
    low, high, truth = np.random.default_rng(seed).integers(0, 4, (3, 6, 2)) * 1.0
    pairs = zip(low.ravel(), truth.ravel(), high.ravel(), strict=True)
    assert coverage(low, high, truth) == np.mean([a <= t <= b for a, t, b in pairs])


@pytest.mark.parametrize("rows", [1, 20])
def test_the_log_likelihood_is_that_of_the_mixture_of_all_draws(rows):
    values = RNG.normal(size=(5, 20, 3))
    noise = RNG.uniform(0.3, 2, (5, rows, 3))
    sds = np.broadcast_to(noise, values.shape)
    by_row = []
    for row in range(20):
        densities = [
            multivariate_normal.pdf(
                TRUTH[row], values[s, row], np.diag(sds[s, row] ** 2)
            )
            for s in range(5)
        ]
        by_row.append(np.log(np.mean(densities)))
    expected = np.mean(by_row)
    assert mean_log_likelihood(values, noise, TRUTH) == pytest.approx(expected)


def test_the_log_likelihood_of_a_hopeless_prediction_is_finite():
    score = mean_log_likelihood(
        np.full((3, 2, 1), 1e4), np.ones((3, 1, 1)), np.ones((2, 1))
    )
    assert np.isfinite(score)
    assert score < -1e7
