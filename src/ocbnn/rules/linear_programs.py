"""Linear programs about a function's values and slopes along a line."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

# An unknown of a linear program: its kind, its knot or segment, and its output. Values
# are "at" a knot, or at the "begin" and the "end" of a segment; slopes are "slope
# begin" and "slope end".
Number: TypeAlias = tuple[str, int, int]

# The smallest violation, relative to the numbers' size, that counts as impossible.
_LEAST_GAP = 1e-6


class Row(NamedTuple):
    """A row of a linear program: numbers times factors plus a constant is at most 0."""

    rule: int
    factors: dict[Number, float]
    constant: float


def is_possible(rows: Sequence[Row], knots: Float[np.ndarray, " knots"]) -> bool:
    """Whether some numbers satisfy all rows, or nearly.

    The tolerance covers rounding and the solver's own tolerance.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 (slow to import, seldom needed)

    if not rows:
        return True
    numbers = {n: i for i, n in enumerate(dict.fromkeys(n for r in rows for n in r[1]))}
    length = float(np.ptp(knots)) or 1.0
    centres, sizes = _measured(rows, length)
    table, constants = np.zeros((len(rows), len(numbers))), np.zeros(len(rows))
    for i, row in enumerate(rows):
        shift = 0.0
        for number, factor in row.factors.items():
            kind, _, output = number
            is_slope = kind.startswith("slope")
            unit = sizes[output] / length if is_slope else sizes[output]
            table[i, numbers[number]] = factor * unit
            shift += 0.0 if is_slope else factor * centres[output]
        constants[i] = row.constant + shift
    scale = np.abs(table).max(axis=1)
    if not np.isfinite(table).all() or not scale.all():
        return True
    answer = linprog(
        c=[0.0] * len(numbers) + [1.0],
        A_ub=np.column_stack([table / scale[:, None], np.full(len(rows), -1.0)]),
        b_ub=-constants / scale,
        bounds=[(None, None)] * len(numbers) + [(0.0, None)],
    )
    # Rounding errors of lengths between inputs far from zero.
    rounding = 1e-14 * np.abs(knots).max() / np.diff(knots).min(initial=length)
    return answer.status != 0 or bool(answer.x[-1] <= max(_LEAST_GAP, rounding))


def _measured(
    rows: Sequence[Row], length: float
) -> tuple[dict[int, float], dict[int, float]]:
    """The centre of each output's bounds, and the scale of its values."""
    ends: dict[int, list[float]] = {}
    steps: dict[int, list[float]] = {}
    for _, factors, constant in rows:
        outputs = {output for _, _, output in factors}
        largest = max(map(abs, factors.values()))
        for output in outputs:
            if len(factors) == 1 and not next(iter(factors))[0].startswith("slope"):
                (factor,) = factors.values()
                ends.setdefault(output, []).append(-constant / factor)
            else:
                is_slope = all(kind.startswith("slope") for kind, _, _ in factors)
                step = abs(constant) / largest * (length if is_slope else 1.0)
                steps.setdefault(output, []).append(step)
    centres, sizes = {}, {}
    for output in ends.keys() | steps.keys():
        output_ends = ends.get(output, [0.0])
        centres[output] = float(np.median(output_ends))
        size = max(np.ptp(output_ends), *steps.get(output, [0.0]), 0.0)
        # Bounds far from zero have only so many digits.
        sizes[output] = float(max(size, 1e-6 * abs(centres[output]))) or 1.0
    return centres, sizes
