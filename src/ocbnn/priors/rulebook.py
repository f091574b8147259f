"""A person's rules, bound to the columns of their table and checked against it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ocbnn.core.advice import Kind
from ocbnn.core.rows import evenly
from ocbnn.core.sentences import Sentence
from ocbnn.core.types import RandomKey
from ocbnn.core.units import Units
from ocbnn.core.warn import warn
from ocbnn.errors import RuleError, RuleWarning
from ocbnn.priors import RuleTerm, make_term
from ocbnn.rules import BoundRule, Rule, Schema, bind, find_conflict, parse_rule

# A region this many data ranges away from all data is more likely a mistake of units.
_FAR = 10.0
# Decides at which points of their regions rules are looked at, once fitted.
LOOKED_AT = 20190501


def bind_rules(rules: object, schema: Schema) -> tuple[BoundRule, ...]:
    """Rules as a person gives them (one or several, objects or text), bound."""
    if isinstance(rules, (str, Rule)):
        rules = (rules,)
    if not isinstance(rules, Sequence):
        raise RuleError(
            "rules must be a rule, a text, or a list of those, got "
            f'{type(rules).__name__}. Write rules=["if x < 0 then y > 0"].'
        )
    bound = [bind(_as_rule(one), schema) for one in rules]
    twice = [name for name, n in Counter(b.name for b in bound).items() if n > 1]
    if twice:
        said = f"two rules are called {twice[0]!r}. Give each a name of its own, so "
        raise RuleError(
            Sentence(said, "that reports can tell them apart: ", Kind.NAME_RULE, ".")
        )
    return tuple(bound)


def make_terms(
    bounds: tuple[BoundRule, ...],
    key: RandomKey,
    X: np.ndarray | None,
    Y: np.ndarray | None,
    units: Units | None,
    *,
    is_inner: bool = True,
) -> tuple[RuleTerm, ...]:
    """Place every rule's points; refuse rules that contradict each other.

    Parameters
    ----------
    bounds
        The rules.
    key
        Decides the points.
    X
        Data rows in the user's units, if there are any.
    Y
        Their outputs, where those are numbers.
    units
        Sizes of inputs and outputs; None: all are of order one.
    is_inner
        Whether functions will be given and answer in these units; if not, in
        a person's.
    """
    if not bounds:
        return ()
    known: dict[str, Any] = {"rows": X, "reference": Y}
    if units is not None and is_inner:
        known["units"] = units
    elif units is not None:
        known |= {"output_scale": units.y_scale, "input_scale": units.x_scale}
    terms = tuple(
        make_term(bound, one, **known)
        for bound, one in zip(bounds, jax.random.split(key, len(bounds)), strict=True)
    )
    points = np.concatenate([term.places for term in terms])
    some = points[evenly(len(points), 200)]
    if (conflict := find_conflict(bounds, some)) is not None:
        raise RuleError(conflict.message())
    if X is not None:
        for bound in bounds:
            _warn_if_far(bound, X)
    return terms


def _as_rule(one: object) -> Rule:
    if isinstance(one, Rule):
        return one
    if isinstance(one, str):
        return parse_rule(one)
    raise RuleError(
        f"a rule is made by require, forbid, expect or custom, or is a text, got "
        f"{type(one).__name__}: {one!r}. Write for example "
        '"if -1 <= x <= 1 then y >= 0".'
    )


def _warn_if_far(bound: BoundRule, X: np.ndarray) -> None:
    lower, upper = bound.region.box()
    low, high = X.min(axis=0), X.max(axis=0)
    reach = np.where(high > low, high - low, np.inf)
    gap = np.maximum(np.maximum(lower - high, low - upper), 0.0) / reach
    column = int(np.argmax(gap))
    if gap[column] > _FAR:
        name = bound.schema.inputs[column]
        warn(
            f"rule {bound.name!r} speaks of {name!r} between {lower[column]:g} and "
            f"{upper[column]:g}, but the data lie between {low[column]:g} and "
            f"{high[column]:g}. Check that both are in the same units.",
            RuleWarning,
        )
