"""Multipliers that prove straight inequalities contradictory.

Where no numbers satisfy `slopes · v + constant <= 0`, all of them, some inequalities
times multipliers sum to one without unknowns that is false (Farkas). Multipliers do not
depend on where the unknowns lie nor on their units, and the sum is checked, so that
what the solver's own tolerances call contradictory is not refused for that.
"""

import sys

import numpy as np
from jaxtyping import Bool, Float

# Sums that are smaller, as a share of what is summed, come of rounding.
_ROUNDING = 1e-12
# Of strict inequalities nothing is left where no more is left than these few digits.
_FEW_DIGITS = 4 * sys.float_info.epsilon
# How much it counts that a strict inequality is among those that are summed.
_PREFERENCE = 1e-6

Multipliers = Float[np.ndarray, " rows"]


def is_contradictory(
    slopes: Float[np.ndarray, "rows unknowns"],
    constants: Float[np.ndarray, " rows"],
    strict: Bool[np.ndarray, " rows"],
) -> bool:
    """Whether multipliers show that `slopes · v + constants <= 0` cannot be.

    >>> less = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> is_contradictory(less, np.array([0.0, 1e-9]), np.array([False, False]))
    True
    >>> is_contradictory(less, np.array([0.0, -1e-9]), np.array([True, True]))
    False
    """
    # Every unknown in a unit of its own, and then every inequality.
    slopes = slopes / _largest(slopes, axis=0)
    sizes = _largest(slopes, axis=1)
    slopes, constants = slopes / sizes, constants / sizes[:, 0]
    # Unknowns are counted from where they nearly satisfy all.
    middle = np.linalg.lstsq(slopes, -constants)[0]
    left = constants + slopes @ middle
    left /= np.abs(left).max() or 1.0
    for gain in (left, left + _PREFERENCE * strict) if strict.any() else (left,):
        found = _best(slopes, gain)
        if found is None:
            return False
        if _proves(found, slopes, constants, strict):
            return True
    return False


def _largest(table: np.ndarray, axis: int) -> np.ndarray:
    found = np.abs(table).max(axis=axis, keepdims=True)
    return np.where(found > 0, found, 1.0)


def _best(
    slopes: Float[np.ndarray, "rows unknowns"], gain: Multipliers
) -> Multipliers | None:
    """Multipliers that sum to one and leave no unknown, of the greatest gain."""
    from scipy.optimize import linprog  # noqa: PLC0415 (slow to import, seldom needed)

    rows, unknowns = slopes.shape
    answer = linprog(
        c=-gain,
        A_eq=np.concatenate([slopes.T, np.ones((1, rows))]),
        b_eq=[0.0] * unknowns + [1.0],
        method="highs-ds",
    )
    return answer.x if answer.status == 0 else None


def _proves(
    found: Multipliers,
    slopes: Float[np.ndarray, "rows unknowns"],
    constants: Multipliers,
    strict: Bool[np.ndarray, " rows"],
) -> bool:
    """Whether the sum has no unknowns indeed, and is false."""
    used = found > 1e-9
    _, widths, axes = np.linalg.svd(slopes[used].T)
    rank = int((widths > _ROUNDING).sum())
    # The solver's multipliers are near those that leave no unknown at all.
    multipliers = axes[rank:].T @ (axes[rank:] @ found[used])
    if not np.allclose(multipliers, found[used], rtol=0.0, atol=1e-6):
        return False
    if multipliers.min() <= 0:
        return False
    total = float(multipliers @ constants[used])
    size = float(multipliers @ np.abs(constants[used]))
    if strict[used].any():
        return total >= -_FEW_DIGITS * size
    return total > _ROUNDING * size
