"""Outputs well inside what rules allow at one input, for affine rules."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ocbnn.rules.bound import BoundRule
from ocbnn.rules.feasibility import HalfSpace
from ocbnn.rules.point_feasibility import PointFeasibility

Point = Float[np.ndarray, " outputs"]


def interior_points(
    bounds: Sequence[BoundRule],
    x: Float[np.ndarray, " inputs"],
    near: Point,
    size: Point,
) -> list[Point]:
    """One point of every alternative that the rules allow at `x`, nearest first.

    Claims that are not affine in the outputs are ignored, so a point may still be
    forbidden.

    Parameters
    ----------
    bounds
        Rules.
    x
        The input.
    near
        Outputs that the points should be close to.
    size
        The unit of each output; points keep up to half of it from every edge.

    >>> from ocbnn.rules import Schema, bind
    >>> rule = bind("a + b <= 1 and a >= 0", Schema(("x",), ("a", "b")))
    >>> zero, one = np.zeros(1), np.ones(2)
    >>> (a, b), = interior_points([rule], zero, np.array([0.0, 5.0]), one)
    >>> round(float(a), 2), bool(a + b < 1)
    (0.5, True)
    """
    applies = [bound for bound in bounds if bound.applies(x[None])[0]]
    feasibility = PointFeasibility(applies)
    candidates = [_inside(case, near, size) for case in feasibility.alternatives(x)]
    points = [point for point in candidates if point is not None]
    return sorted(points, key=lambda p: float(np.sum(np.abs(p - near) / size)))


def _inside(case: Sequence[HalfSpace], near: Point, size: Point) -> Point | None:
    from scipy.optimize import linprog  # noqa: PLC0415 (slow to import, seldom needed)

    if not case:
        return near
    count = len(near)
    # In units of `size` around `near`; the last variable is the distance to each edge.
    slopes = np.array([space[0] for space in case]) * size
    constants = np.array([space[1] for space in case])
    constants = constants + np.array([space[0] for space in case]) @ near
    lengths = np.linalg.norm(slopes, axis=1)
    widest = linprog(
        c=[0.0] * count + [-1.0],
        A_ub=np.column_stack([slopes, lengths]),
        b_ub=-constants,
        bounds=[(None, None)] * count + [(0.0, 1.0)],
    )
    if widest.status != 0:
        return None
    # The nearest point, in each output, that keeps half of that distance.
    step = np.eye(count)
    closest = linprog(
        c=[0.0] * count + [1.0] * count,
        A_ub=np.block([[slopes, 0 * slopes], [step, -step], [-step, -step]]),
        b_ub=np.concatenate(
            [-constants - 0.5 * widest.x[-1] * lengths, np.zeros(2 * count)]
        ),
        bounds=[(None, None)] * count + [(0.0, None)] * count,
    )
    chosen = closest.x if closest.status == 0 else widest.x
    return near + size * chosen[:count]
