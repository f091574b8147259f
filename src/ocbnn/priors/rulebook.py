"""The user's rules, bound to the columns of their table and checked against it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ocbnn.core.advice import Kind
from ocbnn.core.rows import evenly
from ocbnn.core.sentences import Sentence
from ocbnn.core.types import RandomKey, Unchecked
from ocbnn.core.units import Units
from ocbnn.core.warn import warn
from ocbnn.errors import RuleError, RuleWarning
from ocbnn.priors import RuleTerm, make_term
from ocbnn.rules import BoundRule, Rule, Schema, bind, find_conflict, parse_rule
from ocbnn.rules.rule import GivenRules

# A region this many data ranges away from all data is more likely a mistake of units.
_FAR = 10.0
# Seed of the points at which a fitted model's rules are checked.
LOOKED_AT = 20190501


def bind_rules(rules: Unchecked[GivenRules], schema: Schema) -> tuple[BoundRule, ...]:
    """Rules as users give them (one or several, objects or text), bound."""
    if isinstance(rules, (str, Rule)):
        rules = (rules,)
    if not isinstance(rules, Sequence):
        raise RuleError(
            "rules must be a rule, a text, or a list of those, got "
            f'{type(rules).__name__}. Write rules=["if x < 0 then y > 0"].'
        )
    bound = [bind(_as_rule(rule), schema) for rule in rules]
    duplicates = [name for name, n in Counter(b.name for b in bound).items() if n > 1]
    if duplicates:
        problem = (
            f"two rules are called {duplicates[0]!r}. Give each a name of its own, so "
        )
        raise RuleError(
            Sentence(problem, "that reports can tell them apart: ", Kind.NAME_RULE, ".")
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
    """Choose every rule's points; refuse rules that contradict each other.

    Parameters
    ----------
    bounds
        The rules.
    key
        Determines the points.
    X
        Data rows in the user's units, if there are any.
    Y
        Their outputs, if these are numbers.
    units
        Sizes of inputs and outputs; None if all are of order one.
    is_inner
        Whether functions take and return values in these units; if not, in the
        user's.
    """
    if not bounds:
        return ()
    settings: dict[str, Any] = {"rows": X, "reference": Y}
    if units is not None and is_inner:
        settings["units"] = units
    elif units is not None:
        settings |= {"output_scale": units.y_scale, "input_scale": units.x_scale}
    terms = tuple(
        make_term(bound, point_key, **settings)
        for bound, point_key in zip(
            bounds, jax.random.split(key, len(bounds)), strict=True
        )
    )
    points = np.concatenate([term.places for term in terms])
    sample = points[evenly(len(points), 200)]
    if (conflict := find_conflict(bounds, sample)) is not None:
        raise RuleError(conflict.message())
    if X is not None:
        for bound in bounds:
            _warn_if_far(bound, X)
    return terms


def _as_rule(rule: object) -> Rule:
    if isinstance(rule, Rule):
        return rule
    if isinstance(rule, str):
        return parse_rule(rule)
    raise RuleError(
        "a rule must be made by require, forbid, expect or custom, or be a text, got "
        f"{type(rule).__name__}: {rule!r}. Write for example "
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
