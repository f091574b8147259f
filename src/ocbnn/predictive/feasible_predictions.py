"""One prediction that rules allow, from draws that each keep them but disagree.

If half of the draws predict a and half b, their mean may be largest for c. If half pass
above a forbidden region and half below, their mean lies inside it.
"""

import numpy as np
from jaxtyping import Float, Int

from ocbnn.core.choices import say_point
from ocbnn.core.warn import warn
from ocbnn.core.words import listing
from ocbnn.errors import RuleWarning
from ocbnn.predictive.allowed_values import Rules, all_hold, classes_left
from ocbnn.predictive.constrained import ConstrainedPredictive
from ocbnn.predictive.predictive import Limits, Predictive
from ocbnn.rules.pieces import allowed_pieces

Rows = Float[np.ndarray, "rows inputs"]
Table = Float[np.ndarray, "rows outputs"]
Values = Float[np.ndarray, "draws rows outputs"]
# Function values in memory at a time.
_MAX_VALUES = 2**21


def feasible_classes(
    rules: Rules, X: Rows, probabilities: Float[np.ndarray, "rows classes"]
) -> Int[np.ndarray, " rows"]:
    """The most probable class at each row, of those that the rules allow there.

    Where they allow none, the most probable of all, with a warning.
    """
    allowed = classes_left(rules, X, probabilities.shape[1])
    empty = np.flatnonzero(~allowed.any(axis=1))
    if empty.size:
        _warn_no_class_left(rules, X, empty)
        allowed[empty] = True
    # Below every probability, even of a class with probability zero.
    return np.argmax(np.where(allowed, probabilities, -1.0), axis=1)


def feasible_means(
    rules: Rules, X: Rows, mean: Table, answers: Predictive | ConstrainedPredictive
) -> Table:
    """The mean at each row, replaced where it violates a rule.

    The replacement is the mean of those draws that keep the rules there, on the side
    with most of these draws. If that mean is forbidden, too, it is the draw nearest to
    it. Where no draw keeps the rules, the mean of all draws stays.

    Parameters
    ----------
    rules
        The rules, none of them about slopes.
    X
        The rows.
    mean
        The mean of all draws, which is returned where it is allowed.
    answers
        The draws.
    """
    if not rules:
        return mean
    broken = np.flatnonzero(~all_hold(rules, X, mean))
    mean = mean.copy()
    block_size = max(1, _MAX_VALUES // (answers.size * mean.shape[1]))
    for start in range(0, len(broken), block_size):
        block = broken[start : start + block_size]
        values = answers.functions(X[block])
        mean[block] = _feasible_mean(
            rules, X[block], mean[block], values, answers.limits()
        )
    return mean


def _feasible_mean(
    rules: Rules, X: Rows, mean: Table, values: Values, limits: Limits | None
) -> Table:
    keeps = all_hold(rules, X, values)
    if limits is not None:
        keeps &= np.all((limits[0] <= values) & (values <= limits[1]), axis=-1)
    pieces = allowed_pieces(rules, X, values.shape[-1])
    inside = (pieces.low <= values[..., None]) & (values[..., None] <= pieces.high)
    sides = np.argmax(inside, axis=-1)
    mean = mean.copy()
    for row in np.flatnonzero(keeps.any(axis=0)):
        kept = values[keeps[:, row], row]
        _, side_of_draw, counts = np.unique(
            sides[keeps[:, row], row], axis=0, return_inverse=True, return_counts=True
        )
        mean[row] = _middle(
            rules, X[[row]], kept[side_of_draw.ravel() == np.argmax(counts)]
        )
    return mean


def _middle(
    rules: Rules,
    x: Float[np.ndarray, "1 inputs"],
    values: Float[np.ndarray, "draws outputs"],
) -> Float[np.ndarray, " outputs"]:
    """The mean of allowed values, or the one of them that is nearest to it."""
    centre = values.mean(axis=0)
    if all_hold(rules, x, centre[None])[0]:
        return centre
    spread = values.std(axis=0)
    gaps = (values - centre) / np.where(spread > 0, spread, 1.0)
    return values[np.argmin(np.sum(gaps**2, axis=1))]


def _warn_no_class_left(rules: Rules, X: Rows, empty: np.ndarray) -> None:
    x = X[empty[0]]
    active = [bound for bound in rules if bound.applies(x[None])[0]]
    schema = active[0].schema
    place = listing(say_point(schema.inputs, x.tolist(), schema.choices))
    warn(
        f"rules allow no class at {len(empty)} of {len(X)} rows, where the most "
        f"probable class is predicted as if there were no rule. At {place} these "
        f"contradict each other: {listing(repr(bound.name) for bound in active)}. "
        "Narrow the region of one, or let it allow more classes.",
        RuleWarning,
    )
