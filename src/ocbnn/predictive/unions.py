"""Normals truncated to a union of pieces: moments and quantiles, in NumPy.

Values and noise have shape (draws, rows, outputs), pieces (rows, outputs, pieces);
missing pieces are NaN.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from ocbnn.predictive import truncated

Values = Float[np.ndarray, "draws rows outputs"]
Ends = Float[np.ndarray, "rows outputs pieces"]
Column = Float[np.ndarray, "cases 1"]
Parts = Float[np.ndarray, "cases pieces"]
# Standard deviations beyond which a tail's logarithm is linear.
_FAR = 1e4
# Standard deviations that contain all of a normal, to double precision.
_CONTAINED = 9.0


class PieceMoments(NamedTuple):
    """Each draw's share, mean and variance in each piece."""

    share: Float[np.ndarray, "draws rows outputs pieces"]
    mean: Float[np.ndarray, "draws rows outputs pieces"]
    variance: Float[np.ndarray, "draws rows outputs pieces"]


def piece_moments(values: Values, noise: Values, low: Ends, high: Ends) -> PieceMoments:
    """Moments in each piece; shares sum to one, however far away all pieces are."""
    inside, is_contained = _inside(values, noise, low, high)
    share = inside.astype(float)
    mean = np.where(inside, values[..., None], 0.0)
    variance = np.where(inside, noise[..., None] ** 2, 0.0)
    is_truncated = ~is_contained
    if is_truncated.any():
        flat = _flat(is_truncated, values, noise, low, high)
        parts = _truncated_moments(*flat)
        share[is_truncated], mean[is_truncated], variance[is_truncated] = parts
    return PieceMoments(share, mean, variance)


def quantile(
    values: Values, noise: Values, low: Ends, high: Ends, below: Values
) -> Values:
    """Quantiles of each draw's normal, truncated to the pieces, at levels `below`."""
    is_truncated = ~_inside(values, noise, low, high)[1]
    values_below = values + noise * ndtri(below)
    if is_truncated.any():
        flat = _flat(is_truncated, values, noise, low, high)
        values_below[is_truncated] = _truncated_quantile(
            *flat, below[is_truncated][:, None]
        )
    return values_below


def nearest(
    values: Float[np.ndarray, "cases outputs"],
    low: Float[np.ndarray, "cases outputs pieces"],
    high: Float[np.ndarray, "cases outputs pieces"],
    reach: Float[np.ndarray, " outputs"],
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest value in any piece, and one well inside the same piece.

    `reach` says how far inside, if a piece has no other end.
    """
    clipped = np.clip(values[..., None], low, high)
    gap = np.abs(clipped - values[..., None])
    gap = np.where(np.isnan(gap), np.inf, gap)
    chosen = np.argmin(gap, axis=-1)[..., None]
    pick = lambda table: np.take_along_axis(table, chosen, axis=-1)[..., 0]
    value, start, end = pick(clipped), pick(low), pick(high)
    with np.errstate(all="ignore"):
        both = start + 0.5 * (end - start)
    inner = np.where(np.isfinite(start), np.maximum(value, start + reach), value)
    inner = np.where(np.isfinite(end), np.minimum(value, end - reach), inner)
    is_closed = np.isfinite(start) & np.isfinite(end)
    return value, np.where(is_closed, both, inner)


def _inside(
    values: Values, noise: Values, low: Ends, high: Ends
) -> tuple[np.ndarray, np.ndarray]:
    """Which piece contains all of a normal, and whether any does."""
    reach = _CONTAINED * noise
    inside = (low <= (values - reach)[..., None]) & (
        (values + reach)[..., None] <= high
    )
    return inside, np.asarray(inside.any(axis=-1))


def _flat(
    is_truncated: np.ndarray, values: Values, noise: Values, low: Ends, high: Ends
) -> tuple[Column, Column, Parts, Parts]:
    """The normals that are not contained in a piece, as flat arrays."""
    _, rows, outputs = np.nonzero(is_truncated)
    return (
        values[is_truncated][:, None],
        noise[is_truncated][:, None],
        low[rows, outputs],
        high[rows, outputs],
    )


def _truncated_moments(
    centre: Column, sd: Column, low: Parts, high: Parts
) -> tuple[Parts, Parts, Parts]:
    is_wide = low < high
    with np.errstate(all="ignore"):
        logs, mean, variance = truncated.moments(low, high, centre, sd)
        edge = np.clip(centre, low, high)
        away = np.abs(edge - centre) / sd
        inwards = edge + np.sign(edge - centre) * sd / np.maximum(away, 1.0)
    is_far = (away > _FAR) | ~np.isfinite(mean)
    mean = np.where(is_far, np.clip(inwards, low, high), mean)
    variance = np.where(is_far, (mean - edge) ** 2, variance)
    mean = np.where(is_wide, mean, np.where(np.isnan(low), 0.0, low))
    shares = _shares(logs, edge - centre, is_wide)
    return shares, mean, np.where(is_wide, variance, 0.0)


def _truncated_quantile(
    centre: Column, sd: Column, low: Parts, high: Parts, below: Column
) -> Float[np.ndarray, " cases"]:
    with np.errstate(all="ignore"):
        logs = truncated.log_mass(low, high, centre, sd)
        gap = np.clip(centre, low, high) - centre
    total = np.cumsum(_shares(logs, gap, low < high), axis=1)
    # Rounding may leave the last total slightly below one.
    place = np.minimum(below, total[:, -1:] * (1 - 1e-15))
    chosen = np.sum(total < place, axis=1, keepdims=True)
    pick = lambda table: np.take_along_axis(table, chosen, axis=1)
    before = np.hstack([np.zeros_like(place), total])
    low, high, start, end = pick(low), pick(high), pick(before), pick(total)
    with np.errstate(all="ignore"):
        within = np.clip((place - start) / (end - start), 0.0, 1.0)
        values = truncated.quantile(low, high, centre, sd, within)
    values = np.where(np.isfinite(values), values, np.clip(centre, low, high))
    return values[:, 0]


def _shares(logs: Parts, gap: Parts, is_wide: np.ndarray) -> Parts:
    logs = np.where(is_wide & ~np.isnan(logs), logs, -np.inf)
    # Where all masses underflow, the nearest piece gets all of it.
    gap = np.where(np.isnan(gap), np.inf, np.abs(gap))
    is_nearest = np.arange(gap.shape[1]) == np.argmin(gap, axis=1)[:, None]
    lost = np.isneginf(logs).all(axis=1, keepdims=True)
    logs = np.where(lost, np.where(is_nearest, 0.0, -np.inf), logs)
    heights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return heights / heights.sum(axis=1, keepdims=True)
