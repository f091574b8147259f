"""Ends of intervals hold their share of the mixture that they are ends of."""

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from scipy.stats import norm, truncnorm

from ocbnn.predictive.mixtures import _normal, central


def shares_at(ends, values, noise, limits=None):
    """The share of observations below each end, straight from the definition."""
    if limits is None:
        return [norm.cdf(end, values, noise).mean(axis=0) for end in ends]
    a, b = ((limit - values) / noise for limit in limits)
    return [truncnorm.cdf(e, a, b, values, noise).mean(axis=0) for e in ends]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    draws=st.sampled_from([50, 200, 2000]),
    ratio=st.floats(0.0, 20.0),
    apart=st.floats(0.0, 10.0),
    level=st.sampled_from([0.5, 0.9, 0.95]),
    varies=st.booleans(),
)
# Newton's method alone goes back and forth across a gap between normals.
@example(
    seed=426,
    draws=50,
    ratio=5.877222468945328,
    apart=4.606279644054422,
    level=0.9,
    varies=False,
)
def test_an_interval_holds_its_share(seed, draws, ratio, apart, level, varies):
    rng = np.random.default_rng(seed)
    shape = (draws, 7, 2)
    values = 100 + ratio * rng.standard_normal(shape)
    values += apart * ratio * rng.integers(0, 2, shape)
    noise = np.exp(0.2 * rng.standard_normal((draws, 7 if varies else 1, 2)))
    ends = central(values, noise, level)
    tails = ((1 - level) / 2, (1 + level) / 2)
    for result, expected in zip(shares_at(ends, values, noise), tails, strict=True):
        np.testing.assert_allclose(result, expected, atol=1e-3)


@pytest.mark.parametrize("draws", [50, 400])
def test_an_interval_within_limits_holds_its_share(draws):
    rng = np.random.default_rng(0)
    values, noise = rng.normal(0.3, 1, (draws, 20, 2)), np.full((draws, 1, 2), 0.7)
    limits = np.array([0.0, -np.inf]), np.array([np.inf, 1.0])
    ends = central(values, noise, 0.9, limits)
    np.testing.assert_array_equal(ends, np.clip(ends, *limits))
    result = shares_at(ends, values, noise, limits)
    for share, expected in zip(result, (0.05, 0.95), strict=True):
        np.testing.assert_allclose(share, expected, atol=1e-3)


def test_noise_that_is_next_to_nothing_leaves_the_functions_own_quantiles():
    values = np.random.default_rng(0).normal(size=(1000, 5, 1))
    ends = central(values, np.full((1000, 1, 1), 1e-9), 0.9)
    below = (values <= ends[:, None]).mean(axis=1)
    np.testing.assert_allclose(below[..., 0], [[0.05] * 5, [0.95] * 5], atol=0.001)


def test_the_normal_distribution_is_right_to_a_millionth():
    z = np.linspace(-12, 12, 4001)
    below, height = _normal(z.astype(np.float32))
    np.testing.assert_allclose(below, norm.cdf(z), atol=1e-6)
    np.testing.assert_allclose(height, norm.pdf(z), atol=1e-6)
