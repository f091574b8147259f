"""How often functions violate a rule, in its region and on data."""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from ocbnn.core.types import Slopes
from ocbnn.rules import BoundRule
from ocbnn.rules.region import region_of

DrawValues = Float[np.ndarray, "draws points outputs"] | Int[np.ndarray, "draws points"]


_NO_SLOPES_IN_DATA = (
    "the rule is about slopes, which functions have and rows of data do not, so "
    "data_violation is unknown"
)


@dataclasses.dataclass(frozen=True)
class RuleCheck:
    """How well one rule holds.

    Attributes
    ----------
    rule
        The rule's name.
    violation
        Share of (draw, point) pairs in the region that violate it.
    draws_violating
        Share of draws that violate it at some point of the region.
    worst_point
        The point at which most draws violate it; None if all keep it.
    rows_in_region
        How many data rows the rule applies to.
    data_violation
        Share of those rows whose own observation violates it.
    prediction_violation
        Share of those rows whose prediction violates it.
    remark
        What could not be measured, and why; None if everything could.
    """

    rule: str
    violation: float
    draws_violating: float
    worst_point: tuple[float, ...] | None = None
    rows_in_region: int = 0
    data_violation: float | None = None
    prediction_violation: float | None = None
    remark: str | None = None


def broken(
    bound: BoundRule,
    xs: Float[np.ndarray, "points inputs"],
    values: DrawValues,
    slopes: Slopes | None = None,
) -> np.ndarray:
    """Where each draw violates the rule: an array of (draws, points)."""
    return ~bound.holds(xs, values, slopes)


def broken_at(
    bound: BoundRule,
    xs: Float[np.ndarray, "points inputs"],
    values: DrawValues,
    slopes: Slopes | None = None,
) -> np.ndarray:
    """Where each draw violates the rule, at points that were drawn in its region.

    Rounding may move points on the region's edge just outside of it, where the rule
    does not apply. So its claim is checked at all of them.
    """
    everywhere = region_of(None, bound.schema.inputs, bound.name)
    return broken(dataclasses.replace(bound, region=everywhere), xs, values, slopes)


def check_rule(
    bound: BoundRule,
    xs: Float[np.ndarray, "points inputs"],
    values: DrawValues,
    *,
    X: Float[np.ndarray, "rows inputs"] | None = None,
    observed: np.ndarray | None = None,
    predicted: np.ndarray | None = None,
    slopes: Slopes | None = None,
    predicted_slopes: Slopes | None = None,
) -> RuleCheck:
    """Measure one rule at points of its region and on data rows.

    Parameters
    ----------
    bound
        The rule.
    xs
        Points of its region.
    values
        Every draw's outputs there, or class numbers.
    X
        Data rows.
    observed
        Their observations, or class numbers.
    predicted
        Their predictions, or class numbers.
    slopes
        Every draw's slopes at `xs`, for a rule about slopes.
    predicted_slopes
        The prediction's slopes at `X`.

    Returns
    -------
    RuleCheck
        The shares of draws, points and rows that violate it.
    """
    violations = broken_at(bound, xs, values, slopes)
    worst = None
    if violations.any():
        worst = tuple(float(v) for v in xs[int(np.argmax(violations.mean(axis=0)))])
    rows, on_data, on_prediction = 0, None, None
    if X is not None:
        inside = bound.applies(X)
        rows = int(inside.sum())
        if rows and observed is not None and not bound.slopes:
            on_data = float((~bound.holds(X, observed))[inside].mean())
        if rows and predicted is not None:
            keeps = bound.holds(X, predicted, predicted_slopes)
            on_prediction = float((~keeps)[inside].mean())
    return RuleCheck(
        bound.name,
        float(violations.mean()),
        float(violations.any(axis=1).mean()),
        worst,
        rows,
        on_data,
        on_prediction,
        _NO_SLOPES_IN_DATA if bound.slopes else None,
    )
