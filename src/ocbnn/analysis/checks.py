"""How well rules hold, and what each part adds to the log density."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import numpy as np

from ocbnn.core.types import Unchecked
from ocbnn.errors import RuleError
from ocbnn.fitted import FittedModel
from ocbnn.fitted.estimator_record import (
    HasRecord,
    ModelOrRecord,
    fitted_of,
    is_model,
)
from ocbnn.fitted.names import refuse_other_columns
from ocbnn.metrics import RuleCheck, check_rule
from ocbnn.predictive.pointwise import log_parts
from ocbnn.priors import RuleTerm
from ocbnn.priors.rulebook import LOOKED_AT, bind_rules
from ocbnn.rules import BoundRule, Rule
from ocbnn.rules.rule import GivenRules

# Rules to check, or another model, for its rules; None for the model's own.
CheckedRules: TypeAlias = Unchecked[
    GivenRules | BoundRule | Sequence[BoundRule] | FittedModel | HasRecord | None
]
# How many draws are checked, at most.
_DRAWS = 1000


def check_rules(
    model: ModelOrRecord,
    points: int = 1000,
    X: Any = None,
    y: Any = None,
    *,
    rules: CheckedRules = None,
) -> list[RuleCheck]:
    """How well each rule holds, at fresh points of its region and on rows.

    Parameters
    ----------
    model
        A fitted model: an estimator, or its `fitted_`.
    points
        How many points of each region to check.
    X
        Rows to check instead of the training data.
    y
        Their observed outputs, if known.
    rules
        Rules to check instead of the model's own, whether it was fitted with them or
        not: text or rules, one or a list, or another fitted model, whose rules are
        then checked.

    Raises
    ------
    RuleError
        When a rule cannot be checked, or does not fit these columns.
    SettingError
        When the other model has other columns.
    """
    model = fitted_of(model)
    rows = None if model.data is None else model.data.X
    observed = None if model.data is None else model.data.Y
    if X is not None:
        rows = model.inputs_of(X)
        observed = None if y is None else model.observed(y)
    return [
        _check_rule(model, term, points, rows, observed)
        for term in _terms_to_check(model, rules)
    ]


def log_density_parts(model: FittedModel, draws: int = 200) -> dict[str, float]:
    """The mean share of weights, each rule and the data in the log density.

    Rules of a projection are not terms of the density, and have no share.

    Parameters
    ----------
    model
        A fitted model.
    draws
        How many draws to average over, at most.

    Returns
    -------
    dict[str, float]
        The shares by name: "weights", "rule 'NAME'" for each rule, and "data".

    Raises
    ------
    DataError
        When the model was saved without its data, or rows were read from a file.
    """
    model.need_all_rows("log_density_parts")
    shares = log_parts(model.target, model.draws.thinned(draws))
    return {name: float(np.mean(values)) for name, values in shares.items()}


def _terms_to_check(model: FittedModel, rules: CheckedRules) -> list[RuleTerm]:
    """The rules to check, with their points."""
    if rules is None or is_model(rules):
        owner = model if rules is None else fitted_of(rules)
        refuse_other_columns(model.schema, owner.schema)
        return [owner.term(bound) for bound in owner.placed(owner.checkable_rules)]
    given: Any = [rules] if isinstance(rules, (str, Rule, BoundRule)) else rules
    if isinstance(given, Sequence):
        given = [rule.rule if isinstance(rule, BoundRule) else rule for rule in given]
    own = {term.bound: term for term in model.terms}
    terms = []
    for bound in bind_rules(given, model.schema):
        if not bound.is_checkable:
            raise RuleError(
                f"rule {bound.name!r} does not say which outputs keep it, so it cannot "
                "be checked. Write it with require, forbid or expect, or write "
                "custom(log_g, holds=...)."
            )
        # One by one, because rules that contradict each other may both be checked.
        terms.append(own.get(bound) or model.proposed((bound,))[0])
    return terms


def _check_rule(
    model: FittedModel,
    term: RuleTerm,
    count: int,
    X: np.ndarray | None,
    observed: np.ndarray | None,
) -> RuleCheck:
    bound = term.bound
    # Fresh points: a rule may hold at its own points and not between them.
    xs = term.many(jax.random.key(LOOKED_AT), count)
    if bound.rule.strictness == "hard":
        # Rounding may put points just outside of the region, where nothing is claimed.
        xs = xs[bound.applies(xs)] if bound.applies(xs).any() else xs
    return check_rule(
        bound,
        xs,
        model.rule_values(xs, _DRAWS),
        X=X,
        observed=observed,
        predicted=None if X is None else model.rule_prediction(X),
        slopes=model.slopes(bound, xs, _DRAWS),
        predicted_slopes={} if X is None else model.predicted_slopes(bound, X),
    )
