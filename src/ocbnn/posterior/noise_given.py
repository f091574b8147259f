r"""The noise, given what a function leaves over at the data.

With residuals $r_1 … r_n$ and a log-normal prior, $t = \log\sigma$ has the density
$\exp(-n t - \tfrac12 e^{-2t} \sum r^2 - (t - m)^2 / 2 w^2)$, whose logarithm is
concave.
"""

import numpy as np
from jaxtyping import Float

from ocbnn.posterior.likelihoods import GaussianNoise

# Halvings until a mode is exact to double precision.
_HALVINGS = 80
# Points of the grid on which a distribution is tabulated, and how far it reaches from
# the mode, in standard deviations.
_GRID, _WIDTH = 601, 8.0


def draw_log_noise(
    likelihood: GaussianNoise,
    squares: Float[np.ndarray, "draws outputs"],
    rows: int,
    uniforms: Float[np.ndarray, "draws outputs"],
) -> Float[np.ndarray, "draws outputs"]:
    """One draw of the log noise for each function and output.

    Parameters
    ----------
    likelihood
        Its prior.
    squares
        The sum of squared residuals.
    rows
        How many residuals there are.
    uniforms
        The quantiles to draw, between 0 and 1.
    """
    middle = np.log(np.asarray(likelihood.sd, float))[None]
    spread = float(likelihood.spread)
    with np.errstate(divide="ignore"):
        logs = np.log(squares)
    mode = _mode(logs, rows, middle, spread)
    with np.errstate(over="ignore"):
        curvature = 2.0 * np.exp(logs - 2.0 * mode) + 1.0 / spread**2
    steps = np.linspace(-_WIDTH, _WIDTH, _GRID)
    grid = mode[..., None] + steps / np.sqrt(curvature)[..., None]
    with np.errstate(over="ignore"):
        energy = (
            rows * grid
            + 0.5 * np.exp(logs[..., None] - 2.0 * grid)
            + 0.5 * ((grid - middle[..., None]) / spread) ** 2
        )
    density = np.exp(energy.min(axis=-1, keepdims=True) - energy)
    below = np.cumsum(0.5 * (density[..., 1:] + density[..., :-1]), axis=-1)
    below = np.concatenate([np.zeros_like(below[..., :1]), below], axis=-1)
    below /= below[..., -1:]
    drawn = [
        np.interp(u, b, g)
        for u, b, g in zip(
            uniforms.ravel(),
            below.reshape(-1, _GRID),
            grid.reshape(-1, _GRID),
            strict=True,
        )
    ]
    return np.reshape(drawn, squares.shape)


def _mode(
    logs: Float[np.ndarray, "draws outputs"],
    rows: int,
    middle: Float[np.ndarray, "1 outputs"],
    spread: float,
) -> Float[np.ndarray, "draws outputs"]:
    """Where the density is highest; its slope falls through zero there."""
    low = np.broadcast_to(middle - rows * spread**2, logs.shape)
    high = np.maximum(middle, 0.5 * (logs - np.log(rows)))
    for _ in range(_HALVINGS):
        half = 0.5 * (low + high)
        with np.errstate(over="ignore"):
            slope = np.exp(logs - 2.0 * half) - rows - (half - middle) / spread**2
        low, high = np.where(slope > 0, half, low), np.where(slope > 0, high, half)
    return 0.5 * (low + high)
