r"""Pareto smoothed importance sampling: draws from one posterior represent another.

Draws from one density represent another when each is weighted by the ratio of the two.
A few huge weights would spoil the estimate, so the largest ones are replaced by
expected order statistics of a generalised Pareto distribution fitted to them. Its shape
$\hat k$ says whether the weights can be trusted at all. References: Vehtari, Simpson,
Gelman, Yao and Gabry (2024); the fit is that of Zhang and Stephens (2009).

ArviZ smooths in the same way; the two agree to 13 digits, and the tests compare them.
Ours stays because every report of a model with rules needs it, and ArviZ is optional,
with one interface on Python 3.11 (0.x) and another in 1.x. For 200 rows and 4000 draws
it takes 0.06 s, and ArviZ 0.23 0.02 s.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax

LogWeights = Float[np.ndarray, " draws"]

# Fewer numbers than this are not enough to fit a tail.
_LEAST_TAIL = 5
# Log weights that differ by less than this are the same up to rounding.
_SAME = 1e-6
# The prior of Vehtari et al. on the shape: worth ten observations of one half.
_PRIOR_SIZE, _PRIOR_SHAPE = 10, 0.5


class Smoothed(NamedTuple):
    """Smoothed weights, and how far they can be trusted.

    Attributes
    ----------
    log_weights
        Smoothed log weights, normalised so that the weights sum to one.
    pareto_k
        The tail's shape; -inf when all weights are the same.
    ess
        How many equally weighted draws the weighted ones are worth.
    """

    log_weights: LogWeights
    pareto_k: float
    ess: float


def smooth(log_weights: LogWeights) -> Smoothed:
    """Smooth the largest of unnormalised log weights.

    Parameters
    ----------
    log_weights
        The logarithm of each draw's weight, up to a constant.

    Examples
    --------
    >>> round(smooth(np.zeros(100)).ess)
    100
    """
    logs = np.asarray(log_weights, float)
    logs = logs - logs.max()
    if np.ptp(logs) < _SAME:
        return _finished(logs, -np.inf)
    count = int(np.ceil(min(0.2 * logs.size, 3.0 * np.sqrt(logs.size))))
    order = np.argsort(logs, kind="stable")
    below = logs[order[-count - 1]] if count < logs.size else -np.inf
    below = max(below, np.log(np.finfo(float).tiny))
    tail = order[logs[order] > below]
    if tail.size < _LEAST_TAIL:
        return _finished(logs, np.inf)
    shape, scale = fit_pareto(np.exp(logs[tail]) - np.exp(below))
    if np.isfinite(shape):
        share = (np.arange(tail.size) + 0.5) / tail.size
        expected = _pareto_quantile(share, shape, scale)
        # No weight may exceed the largest raw weight.
        logs[tail] = np.minimum(np.log(np.exp(below) + expected), 0.0)
    return _finished(logs, shape)


def trust_limit(draws: int) -> float:
    """The largest Pareto k at which this many draws still give a usable estimate.

    >>> round(trust_limit(4000), 2), round(trust_limit(100), 2)
    (0.7, 0.5)
    """
    return float(min(1.0 - 1.0 / np.log10(max(draws, 11)), 0.7))


def fit_pareto(ordered: Float[np.ndarray, " tail"]) -> tuple[float, float]:
    """Shape and scale of a generalised Pareto distribution, from increasing numbers.

    The scale over the shape is averaged over a grid, with weights from the profile
    likelihood; the shape is then shrunk a little towards one half.
    """
    size = ordered.size
    grid = 30 + int(np.sqrt(size))
    quartile = ordered[int(size / 4 + 0.5) - 1]
    steps = 1.0 - np.sqrt(grid / (np.arange(grid) + 0.5))
    thetas = 1.0 / ordered[-1] + steps / (3.0 * quartile)
    shapes = np.mean(np.log1p(-np.outer(thetas, ordered)), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        profile = size * (np.log(-thetas / shapes) - shapes - 1.0)
    profile = np.where(np.isnan(profile), -np.inf, profile)
    theta = float(np.sum(thetas * np.exp(log_softmax(profile))))
    shape = float(np.mean(np.log1p(-theta * ordered)))
    scale = -shape / theta
    shrunk = (size * shape + _PRIOR_SIZE * _PRIOR_SHAPE) / (size + _PRIOR_SIZE)
    return shrunk, scale


def _pareto_quantile(share: np.ndarray, shape: float, scale: float) -> np.ndarray:
    if abs(shape) < 1e-12:
        return -scale * np.log1p(-share)
    # Overflow gives infinity, which `smooth` caps at the largest weight.
    with np.errstate(over="ignore"):
        return scale * np.expm1(-shape * np.log1p(-share)) / shape


def _finished(logs: LogWeights, shape: float) -> Smoothed:
    logs = np.asarray(log_softmax(logs))
    return Smoothed(logs, float(shape), float(1.0 / np.sum(np.exp(logs) ** 2)))
