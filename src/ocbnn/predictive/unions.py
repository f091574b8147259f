"""Normals that are known to lie in a union of pieces: moments and quantiles, in NumPy.

Values and noise have shape (draws, rows, outputs), pieces (rows, outputs, pieces); a
piece that is not there is nan.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ocbnn.predictive import truncated

Values = Float[np.ndarray, "draws rows outputs"]
Ends = Float[np.ndarray, "rows outputs pieces"]
# Standard deviations beyond which a tail is a straight slope in its logarithm.
_FAR = 1e4


class PieceMoments(NamedTuple):
    """What each draw says about each piece: its share, mean and variance there."""

    share: Float[np.ndarray, "draws rows outputs pieces"]
    mean: Float[np.ndarray, "draws rows outputs pieces"]
    variance: Float[np.ndarray, "draws rows outputs pieces"]


def piece_moments(values: Values, noise: Values, low: Ends, high: Ends) -> PieceMoments:
    """Shares add up to one over the pieces, however far away all of them are."""
    centre, sd, low, high, is_wide = _laid_out(values, noise, low, high)
    with np.errstate(all="ignore"):
        mean, variance = truncated.mean_and_variance(low, high, centre, sd)
        edge = np.clip(centre, low, high)
        away = np.abs(edge - centre) / sd
        inwards = edge + np.sign(edge - centre) * sd / np.maximum(away, 1.0)
    is_far = (away > _FAR) | ~np.isfinite(mean)
    mean = np.where(is_far, np.clip(inwards, low, high), mean)
    variance = np.where(is_far, (mean - edge) ** 2, variance)
    mean = np.where(is_wide, mean, np.where(np.isnan(low), 0.0, low))
    return PieceMoments(
        _shares(centre, sd, low, high, is_wide), mean, np.where(is_wide, variance, 0.0)
    )


def quantile(
    values: Values, noise: Values, low: Ends, high: Ends, below: Values
) -> Values:
    """The value below which a share of each draw's normal within the pieces lies."""
    centre, sd, low, high, is_wide = _laid_out(values, noise, low, high)
    total = np.cumsum(_shares(centre, sd, low, high, is_wide), axis=-1)
    # Rounding may leave the last total a hair short of one.
    place = np.minimum(below[..., None], total[..., -1:] * (1 - 1e-15))
    chosen = np.sum(total < place, axis=-1, keepdims=True)
    taken = [
        np.take_along_axis(np.broadcast_to(part, total.shape), chosen, axis=-1)[..., 0]
        for part in (low, high, total)
    ]
    start = np.where(
        chosen > 0, np.take_along_axis(total, np.maximum(chosen - 1, 0), axis=-1), 0.0
    )[..., 0]
    piece_low, piece_high, end = taken
    with np.errstate(all="ignore"):
        within = np.clip((place[..., 0] - start) / (end - start), 0.0, 1.0)
        found = truncated.quantile(piece_low, piece_high, values, noise, within)
    nearest = np.clip(values, piece_low, piece_high)
    return np.where(np.isfinite(found), found, nearest)


def nearest(
    values: Float[np.ndarray, "cases outputs"],
    low: Float[np.ndarray, "cases outputs pieces"],
    high: Float[np.ndarray, "cases outputs pieces"],
    reach: Float[np.ndarray, " outputs"],
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest value in any piece, and one well inside the same piece.

    `reach` says how far inside, where a piece has no other end.
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


def _laid_out(
    values: Values, noise: Values, low: Ends, high: Ends
) -> tuple[np.ndarray, ...]:
    return values[..., None], noise[..., None], low, high, low < high


def _shares(
    centre: np.ndarray,
    sd: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    is_wide: np.ndarray,
) -> np.ndarray:
    with np.errstate(all="ignore"):
        logs = truncated.log_mass(low, high, centre, sd)
        gap = np.abs(np.clip(centre, low, high) - centre)
    logs = np.where(is_wide & ~np.isnan(logs), logs, -np.inf)
    # Where no mass is left that can be told, the nearest piece has all of it.
    gap = np.where(np.isnan(gap), np.inf, gap)
    is_nearest = np.arange(gap.shape[-1]) == np.argmin(gap, axis=-1)[..., None]
    lost = np.isneginf(logs).all(axis=-1, keepdims=True)
    logs = np.where(lost, np.where(is_nearest, 0.0, -np.inf), logs)
    heights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return heights / heights.sum(axis=-1, keepdims=True)
