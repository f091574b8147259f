"""Multipliers that prove linear inequalities contradictory.

If no numbers satisfy all of `slopes · v + constant <= 0`, then some inequalities times
multipliers sum to a false one without unknowns (Farkas' lemma). Multipliers do not
depend on the unknowns' location or units, and the sum is checked, so inequalities are
not called contradictory just because of the solver's tolerances.
"""

import sys

import numpy as np
from jaxtyping import Bool, Float

# Smaller sums, relative to the size of their terms, are rounding errors.
_ROUNDING = 1e-12
# Sums of strict inequalities may be this much below zero and still be contradictions.
_FEW_DIGITS = 4 * sys.float_info.epsilon
# The bonus for a strict inequality in the sum.
_PREFERENCE = 1e-6

Multipliers = Float[np.ndarray, " rows"]


def is_contradictory(
    slopes: Float[np.ndarray, "rows unknowns"],
    constants: Float[np.ndarray, " rows"],
    strict: Bool[np.ndarray, " rows"],
) -> bool:
    """Whether multipliers prove that `slopes · v + constants <= 0` has no solution.

    >>> less = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> is_contradictory(less, np.array([0.0, 1e-9]), np.array([False, False]))
    True
    >>> is_contradictory(less, np.array([0.0, -1e-9]), np.array([True, True]))
    False
    """
    # Scale every unknown, and then every inequality.
    slopes = slopes / _largest(slopes, axis=0)
    sizes = _largest(slopes, axis=1)
    slopes, constants = slopes / sizes, constants / sizes[:, 0]
    # Shift unknowns to a point that nearly satisfies all inequalities.
    middle = np.linalg.lstsq(slopes, -constants)[0]
    residuals = constants + slopes @ middle
    residuals /= np.abs(residuals).max() or 1.0
    for gain in (
        (residuals, residuals + _PREFERENCE * strict) if strict.any() else (residuals,)
    ):
        multipliers = _best(slopes, gain)
        if multipliers is None:
            return False
        if _proves(multipliers, slopes, constants, strict):
            return True
    return False


def _largest(table: np.ndarray, axis: int) -> np.ndarray:
    largest = np.abs(table).max(axis=axis, keepdims=True)
    return np.where(largest > 0, largest, 1.0)


def _best(
    slopes: Float[np.ndarray, "rows unknowns"], gain: Multipliers
) -> Multipliers | None:
    """The multipliers of greatest gain that sum to one and leave no unknown."""
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
    proposed: Multipliers,
    slopes: Float[np.ndarray, "rows unknowns"],
    constants: Multipliers,
    strict: Bool[np.ndarray, " rows"],
) -> bool:
    """Whether the sum indeed has no unknowns, and is false."""
    used = proposed > 1e-9
    _, widths, axes = np.linalg.svd(slopes[used].T)
    rank = int((widths > _ROUNDING).sum())
    # The solver's multipliers, projected onto those that leave no unknown at all.
    multipliers = axes[rank:].T @ (axes[rank:] @ proposed[used])
    if not np.allclose(multipliers, proposed[used], rtol=0.0, atol=1e-6):
        return False
    if multipliers.min() <= 0:
        return False
    total = float(multipliers @ constants[used])
    size = float(multipliers @ np.abs(constants[used]))
    if strict[used].any():
        return total >= -_FEW_DIGITS * size
    return total > _ROUNDING * size
