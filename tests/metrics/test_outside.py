"""The mass outside a box is what sampling finds there."""

import numpy as np
from scipy.stats import truncnorm

from ocbnn.metrics import mass_outside, mean_log_likelihood

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(5, 3, 2))
NOISE = RNG.uniform(0.3, 1.0, (5, 1, 2))
BOX = np.array([-1.0, -0.5]), np.array([1.0, np.inf])
LIMITS = np.array([-1.5, -2.0]), np.array([np.inf, 2.0])


def share_outside(observations):
    wrong = (observations < BOX[0]) | (observations > BOX[1])
    return wrong.any(axis=-1).mean(axis=(0, 1))


def test_it_is_the_share_of_observations_with_any_output_outside():
    scatter = RNG.normal(size=(100_000, 5, 1, 2))
    sampled = VALUES + NOISE * scatter
    result = mass_outside(VALUES, NOISE, BOX)
    np.testing.assert_allclose(result, share_outside(sampled), atol=3e-3)


def test_limits_of_observations_are_taken_into_account():
    sd = NOISE
    ends = ((end - VALUES) / sd for end in LIMITS)
    law = truncnorm(*ends, VALUES, sd)
    sampled = law.rvs((100_000, *VALUES.shape), random_state=0)
    result = mass_outside(VALUES, NOISE, BOX, LIMITS)
    np.testing.assert_allclose(result, share_outside(sampled), atol=3e-3)
    assert (mass_outside(VALUES, NOISE, LIMITS, LIMITS) == 0).all()
    assert (mass_outside(VALUES, NOISE, LIMITS) > 0).all()


def test_the_truth_scores_higher_once_the_impossible_is_cut_off():
    truth = np.zeros((3, 2))
    sd = NOISE
    ends = [(end - VALUES) / sd for end in LIMITS]
    density = truncnorm.pdf(truth, *ends, VALUES, sd).prod(axis=-1).mean(axis=0)
    score = mean_log_likelihood(VALUES, NOISE, truth, LIMITS)
    np.testing.assert_allclose(score, np.log(density).mean(), rtol=1e-9)
    assert score > mean_log_likelihood(VALUES, NOISE, truth)
