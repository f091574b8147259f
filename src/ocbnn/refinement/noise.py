"""The noise of draws that a projection has moved.

Noise and function belong together: a function that passes through every row has next to
no noise left over, and one that was moved off the rows has more. So a moved draw gets a
new noise, from its distribution given the data and the moved function. Given the
function that was drawn, this would be a step of Gibbs' sampler, and change nothing.
"""

import dataclasses

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from ocbnn.core.types import Position, RandomKey
from ocbnn.posterior import GaussianNoise
from ocbnn.posterior.noise_given import draw_log_noise
from ocbnn.predictive import Predictive

# Values of functions in memory at a time.
_MAX_VALUES = 2**24


def redraw_noise(
    moved: Predictive,
    is_moved: Bool[np.ndarray, " draws"],
    data: tuple[np.ndarray, np.ndarray],
    rows: int,
    key: RandomKey,
) -> Position:
    """The noise of all draws, new for those that have moved.

    Noise that varies with the inputs, or is that of truncated observations, has no
    closed form given a function, and stays as it was drawn.

    Parameters
    ----------
    moved
        The draws with their new weights and their old noise.
    is_moved
        Which of them have new weights.
    data
        Inputs and outputs in the user's units.
    rows
        How many rows the data stand for.
    key
        Decides the noise.
    """
    likelihood, noise = moved.likelihood, moved.draws.noise
    places = np.flatnonzero(is_moved)
    if not isinstance(likelihood, GaussianNoise) or likelihood.known or not len(places):
        return noise
    squares = _squares(moved, places, *data) * (rows / len(data[0]))
    uniforms = np.asarray(jax.random.uniform(key, squares.shape), float)
    log_sd = np.array(noise["log_sd"])
    log_sd[places] = draw_log_noise(likelihood, squares, rows, uniforms)
    return {**noise, "log_sd": log_sd}


def _squares(
    moved: Predictive, places: Int[np.ndarray, " some"], X: np.ndarray, Y: np.ndarray
) -> Float[np.ndarray, "some outputs"]:
    """Sums of squared residuals in the units of the network, a few rows at a time."""
    chosen = jax.tree.map(lambda leaf: leaf[places], moved.draws)
    some = dataclasses.replace(moved, draws=chosen)
    wanted = Y if moved.units is None else moved.units.standard_outputs(Y)
    step = max(1, _MAX_VALUES // (len(places) * wanted.shape[1]))
    blocks = (slice(start, start + step) for start in range(0, len(X), step))
    return np.sum(
        [
            np.sum((some.inner_functions(X[block]) - wanted[None, block]) ** 2, axis=1)
            for block in blocks
        ],
        axis=0,
    )
