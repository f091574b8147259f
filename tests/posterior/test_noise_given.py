"""The noise given residuals: its distribution, against numerical integration."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from ocbnn.posterior import GaussianNoise
from ocbnn.posterior.noise_given import draw_log_noise

PRIOR = GaussianNoise.inferred(0.1, spread=0.8)


def log_density(t, square, rows):
    """Straight from the equation, in double precision."""
    prior = -0.5 * ((t - np.log(0.1)) / 0.8) ** 2
    return -rows * t - 0.5 * square * np.exp(-2 * t) + prior


def distribution(end, square, rows):
    mode = minimize_scalar(
        lambda t: -log_density(t, square, rows), bounds=(-9, 3), method="bounded"
    ).x
    top = log_density(mode, square, rows)
    width = 10.0 / np.sqrt(2.0 * square * np.exp(-2 * mode) + 1 / 0.8**2)
    density = lambda t: np.exp(log_density(t, square, rows) - top)
    below = quad(density, mode - width, end, points=[mode])[0]
    return below / quad(density, mode - width, mode + width, points=[mode])[0]


@pytest.mark.parametrize(
    ("square", "rows"), [(0.0, 3), (1e-12, 5), (0.4, 6), (50.0, 2), (9.0, 100_000)]
)
def test_quantiles_of_the_noise_are_those_of_its_density(square, rows):
    uniforms = np.array([[0.01], [0.3], [0.5], [0.95]])
    drawn = draw_log_noise(PRIOR, np.full((4, 1), square), rows, uniforms)
    found = [distribution(t, square, rows) for t in drawn[:, 0]]
    np.testing.assert_allclose(found, uniforms[:, 0], atol=2e-3)


def test_each_output_has_its_own_residuals_and_prior():
    prior = GaussianNoise(jnp.array([0.1, 2.0]), 0.8, known=False)
    both = draw_log_noise(prior, np.array([[0.4, 7.0]]), 6, np.array([[0.3, 0.6]]))
    for place, sd in enumerate((0.1, 2.0)):
        alone = draw_log_noise(
            GaussianNoise.inferred(sd, spread=0.8),
            np.array([[0.4], [7.0]])[[place]],
            6,
            np.array([[0.3], [0.6]])[[place]],
        )
        np.testing.assert_allclose(both[0, place], alone[0, 0], rtol=1e-6)
