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
    keeps = np.asarray(np.isfinite(Y).all(axis=-1))
    for bound in rules:
        keeps &= bound.holds(X, Y)
    return keeps


def classes_left(
    rules: Rules, X: Float[np.ndarray, "rows inputs"], classes: int
) -> Bool[np.ndarray, "rows classes"]:
    """Which classes the rules allow at each row; none where they contradict."""
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
    """Values that violate a rule, moved towards inner ones until they violate none.

    Edges are rounded, and may themselves be forbidden, so the first steps are as small
    as double precision allows. Values that no step makes valid stay as they were.
    """
    Y = Y.copy()
    violating = np.flatnonzero(~all_hold(rules, X, Y))
    for exponent in range(-52, 1, 2):
        if not violating.size:
            break
        start, end = Y[violating], inner[violating]
        trial = start + 2.0**exponent * (end - start) if exponent else end
        is_allowed = all_hold(rules, X[violating], trial)
        Y[violating[is_allowed]] = trial[is_allowed]
        violating = violating[~is_allowed]
    return Y


def refuse_broken(
    rules: Rules,
    X: Float[np.ndarray, "rows inputs"],
    Y: Float[np.ndarray, "*lead rows outputs"],
) -> None:
    """Raise an error instead of returning a forbidden value."""
    keeps = all_hold(rules, X, Y).reshape(-1, len(X)).all(axis=0)
    if not keeps.all():
        refuse_row(rules, X[np.flatnonzero(~keeps)[0]])


def refuse_row(rules: Rules, x: Float[np.ndarray, " inputs"]) -> None:
    """Raise the error that no allowed output was found at one row."""
    conflict = find_conflict(rules, x[None])
    if conflict is not None:
        raise RuleError(conflict.message())
    active = [bound for bound in rules if bound.applies(x[None])[0]]
    schema = active[0].schema
    place = listing(say_point(schema.inputs, x.tolist(), schema.choices))
    raise InferenceError(
        f"no output that the hard rules allow was found at {place}, where "
        f"{listing(repr(bound.name) for bound in active)} must hold: no draw comes "
        "near one, or the allowed range is too narrow. Widen the claim, narrow its "
        "region, or write strength=firm."
    )
