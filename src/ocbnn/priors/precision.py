"""Whether single precision has enough digits for a rule.

Shifts and scales of columns are folded into a rule's numbers, so a bound on one column
loses no digits, however far from zero it lies. Some expressions keep their offset:
`y * y` of numbers near a billion, or a user's own density, which is given values in
the user's units. Users are warned about these when the rule's points are chosen.
"""

import jax.numpy as jnp
import numpy as np

from ocbnn.claims.base import BoundClaim, Scales
from ocbnn.core.types import Slopes
from ocbnn.core.units import Units
from ocbnn.core.warn import warn
from ocbnn.errors import RuleWarning
from ocbnn.language.evaluate import evaluate
from ocbnn.language.tree import Expression
from ocbnn.rules import BoundRule

# A rule's value may be off by this share of its natural size.
_MAX_ERROR = 0.01
_REMEDY = (
    "Take the offset away first, in the table and in the rule, as in "
    "`(y - 1000000000)**2`, or compute in double precision: "
    "jax.config.update('jax_enable_x64', True)."
)


def warn_of_lost_digits(
    bound: BoundRule,
    claim: BoundClaim,
    xs: np.ndarray,
    ys: np.ndarray,
    scales: Scales,
    units: Units | None,
) -> None:
    """Warn if a rule's value has too much rounding error at some of its points.

    Parameters
    ----------
    bound
        The rule.
    claim
        Its claim, in the units of the computation.
    xs
        Some of its points, likewise.
    ys
        Typical outputs, likewise.
    scales
        The natural size of each atom.
    units
        The standard units of points and outputs; None if these are in the user's.
    """
    precision = np.dtype(jnp.zeros(()).dtype)
    if precision == np.float64:
        return
    # Every point with every output.
    pairs = np.repeat(xs, len(ys), axis=0), np.tile(ys, (len(xs), 1))
    slopes = {along: np.ones_like(pairs[1]) for along in bound.slopes}
    for expr, size in claim.compared(scales):
        share = _error(expr, *pairs, slopes, precision) / size
        if share > _MAX_ERROR:
            _warn(bound, f"({bound.rule.claim}) is off by {share:.1g} of its size")
            return
    if units is not None and (name := _far(bound, units, precision)) is not None:
        _warn(bound, f"its own function is given {name!r}, which lies far from zero")


def _error(
    expr: Expression,
    xs: np.ndarray,
    ys: np.ndarray,
    slopes: Slopes,
    precision: np.dtype,
) -> float:
    """How far the value in single precision is from that in double precision."""
    x, y = np.asarray(xs, precision), np.asarray(ys, precision)
    narrow_slopes = {along: slope.astype(precision) for along, slope in slopes.items()}
    single = np.asarray(evaluate(expr, x, y, np, narrow_slopes), np.float64)
    # Rounding of the inputs is not an error of the expression.
    x, y = x.astype(np.float64), y.astype(np.float64)
    gaps = single - evaluate(expr, x, y, np, slopes)
    return float(np.max(np.abs(gaps[np.isfinite(gaps)]), initial=0.0))


def _far(bound: BoundRule, units: Units, precision: np.dtype) -> str | None:
    """A column that a user's own function sees with too few digits, or None."""
    has_own = not bound.claim.trees
    if not has_own and not callable(bound.rule.sampler):
        return None
    columns = [*zip(bound.schema.inputs, units.x_mean, units.x_scale, strict=True)]
    if has_own and bound.schema.classes is None:
        outputs = bound.schema.outputs
        columns += zip(outputs, units.y_mean, units.y_scale, strict=True)
    step = np.finfo(precision).eps
    far = (
        name for name, mean, scale in columns if step * abs(mean) > _MAX_ERROR * scale
    )
    return next(far, None)


def _warn(bound: BoundRule, reason: str) -> None:
    warn(
        f"rule {bound.name!r} loses its digits in single precision: {reason}. "
        f"{_REMEDY}",
        RuleWarning,
    )
