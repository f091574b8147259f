"""Values that rules allow, exactly as the rules are written."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from ocbnn.core.choices import say_point
from ocbnn.core.words import listing
from ocbnn.errors import InferenceError, RuleError
from ocbnn.rules import BoundRule, find_conflict

Rules = Sequence[BoundRule]


def all_hold(
    rules: Rules,
    X: Float[np.ndarray, "rows inputs"],
    Y: Float[np.ndarray, "*lead rows outputs"],
) -> Bool[np.ndarray, "*lead rows"]:
    """Whether every rule holds at each row, in double precision; `<` is not `<=`."""
    kept = np.asarray(np.isfinite(Y).all(axis=-1))
    for bound in rules:
        kept &= bound.holds(X, Y)
    return kept


def classes_left(
    rules: Rules, X: Float[np.ndarray, "rows inputs"], classes: int
) -> Bool[np.ndarray, "rows classes"]:
    """Which classes the rules leave at each row; at rows of a contradiction none."""
    allowed = np.ones((len(X), classes), dtype=bool)
    for bound in rules:
        if bound.claim.allowed is not None:
            allowed &= ~bound.applies(X)[:, None] | np.array(bound.claim.allowed)
    return allowed


def drawn_in(
    rules: Rules,
    X: Float[np.ndarray, "rows inputs"],
    Y: Float[np.ndarray, "rows outputs"],
    inner: Float[np.ndarray, "rows outputs"],
) -> Float[np.ndarray, "rows outputs"]:
    """Values that break a rule, moved towards inner ones until they break none.

    An edge is computed with rounding, and may itself be forbidden, so the first steps
    are as small as numbers can be told apart. What never holds is left as it was.
    """
    Y = Y.copy()
    wrong = np.flatnonzero(~all_hold(rules, X, Y))
    for exponent in range(-52, 1, 2):
        if not wrong.size:
            break
        start, end = Y[wrong], inner[wrong]
        trial = start + 2.0**exponent * (end - start) if exponent else end
        good = all_hold(rules, X[wrong], trial)
        Y[wrong[good]] = trial[good]
        wrong = wrong[~good]
    return Y


def refuse_broken(
    rules: Rules,
    X: Float[np.ndarray, "rows inputs"],
    Y: Float[np.ndarray, "*lead rows outputs"],
) -> None:
    """Raise rather than answer with what is forbidden."""
    kept = all_hold(rules, X, Y).reshape(-1, len(X)).all(axis=0)
    if not kept.all():
        refuse_row(rules, X[np.flatnonzero(~kept)[0]])


def refuse_row(rules: Rules, x: Float[np.ndarray, " inputs"]) -> None:
    """Say that no allowed output was found at one row, and what to do."""
    conflict = find_conflict(rules, x[None])
    if conflict is not None:
        raise RuleError(conflict.message())
    active = [bound for bound in rules if bound.applies(x[None])[0]]
    schema = active[0].schema
    place = listing(say_point(schema.inputs, x.tolist(), schema.choices))
    raise InferenceError(
        f"no output that the hard rules allow was found at {place}, where "
        f"{listing(repr(bound.name) for bound in active)} must hold: no draw comes "
        "near one, or it is too narrow for numbers to lie in. Widen the claim, narrow "
        "its region, or write strength=firm."
    )
