"""Normals truncated to a box: their mass in it, moments and quantiles, in NumPy.

All arguments broadcast. Limits may be infinite. Masses are kept as logarithms, so that
means far outside the box work, too.
"""

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)


def log_mass(
    low: np.ndarray, high: np.ndarray, mean: np.ndarray, sd: np.ndarray
) -> np.ndarray:
    """Log of a normal's mass between two limits."""
    a, b, _ = _mirrored((low - mean) / sd, (high - mean) / sd)
    return _log_mass(a, b)


def mean_and_variance(
    low: np.ndarray, high: np.ndarray, mean: np.ndarray, sd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of a normal truncated to two limits."""
    return moments(low, high, mean, sd)[1:]


def moments(
    low: np.ndarray, high: np.ndarray, mean: np.ndarray, sd: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log mass of a normal between two limits, and its mean and variance there."""
    a, b, was_mirrored = _mirrored((low - mean) / sd, (high - mean) / sd)
    log = _log_mass(a, b)
    height = lambda z: np.exp(-0.5 * z**2 - _LOG_ROOT_2PI - log)
    # At an infinite limit the height is zero, and so is its product with the limit.
    moment = lambda z: np.where(np.isfinite(z), z, 0.0) * height(z)
    shift = height(a) - height(b)
    variance = sd**2 * np.clip(1 + moment(a) - moment(b) - shift**2, 0.0, 1.0)
    shifted = mean + sd * np.where(was_mirrored, -shift, shift)
    return log, np.clip(shifted, low, high), variance


def distribution(
    low: np.ndarray,
    high: np.ndarray,
    mean: np.ndarray,
    sd: np.ndarray,
    value: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Distribution function and density, at a value, of a truncated normal."""
    total = log_mass(low, high, mean, sd)
    with np.errstate(divide="ignore"):
        below = log_mass(low, value, mean, sd)
    z = (value - mean) / sd
    return np.exp(below - total), np.exp(-0.5 * z**2 - _LOG_ROOT_2PI - total) / sd


def quantile(
    low: np.ndarray,
    high: np.ndarray,
    mean: np.ndarray,
    sd: np.ndarray,
    share: np.ndarray,
) -> np.ndarray:
    """Quantile of a normal truncated to two limits."""
    a, b, was_mirrored = _mirrored((low - mean) / sd, (high - mean) / sd)
    share = np.where(was_mirrored, 1 - share, share)
    with np.errstate(divide="ignore"):
        below = np.logaddexp(log_ndtr(a), np.log(share) + _log_mass(a, b))
    z = ndtri_exp(np.minimum(below, 0.0))
    return np.clip(mean + sd * np.where(was_mirrored, -z, z), low, high)


def _mirrored(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    """Limits in the lower tail, where logarithms of masses keep their digits."""
    swap = -a < b
    return np.where(swap, -b, a), np.where(swap, -a, b), swap


def _log_mass(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    upper = log_ndtr(b)
    return upper + np.log(-np.expm1(log_ndtr(a) - upper))
