"""The posterior without one of its rules, by weights or by a second fit."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from ocbnn.core.randomness import key_from
from ocbnn.core.types import RandomKey
from ocbnn.estimators.reference import judged_values_of, reference_inputs
from ocbnn.inference import Draws, judge, sample
from ocbnn.metrics.psis import smooth, trust_limit
from ocbnn.posterior import Target
from ocbnn.predictive import Predictive
from ocbnn.priors import RuleTerm
from ocbnn.rules import Forbidden

MOST_DRAWS = 2000
# A rule that costs no more than this cannot keep functions away altogether.
_MILD = 5.0
# Draws that pay more than a little for a rule lean on it, if there are this many.
_LITTLE, _FEW = 0.1, 0.01
# Weights that are worth this share of the draws are nearly the same for all of them.
_EVEN = 0.95


@dataclasses.dataclass(frozen=True)
class Without:
    """Functions from the posterior without one rule, and their weights.

    Attributes:
        predictive: The functions.
        weights: How much each counts; they add up to one.
        how: "reweighted" from the fit itself, or "refitted" without the rule.
        verdict: How far a second fit can be trusted, in a word; empty without one.
    """

    predictive: Predictive
    weights: Float[np.ndarray, " draws"]
    how: str
    verdict: str = ""


@dataclasses.dataclass(frozen=True)
class Removal:
    """Whether weights of 1/g can take a rule out of the draws.

    Attributes:
        log_weights: Smoothed, of draws that are thinned as `some_draws` does.
        pareto_k: The shape of their tail.
        is_trusted: Whether they tell what the posterior without the rule is like.
    """

    log_weights: Float[np.ndarray, " draws"]
    pareto_k: float
    is_trusted: bool


def removal(term: RuleTerm, log_g: Float[np.ndarray, " draws"]) -> Removal:
    """Weights that take a rule out of draws that pay `log_g` for it.

    Pareto k says whether a few draws have all the weight. It cannot know of functions
    that a rule has kept away altogether, and those are what removing it would bring
    back. So weights are trusted where a rule is too mild to keep any away, and else
    only where they are nearly the same for all draws: no draw leans on the rule. They
    are never trusted for hard rules and for rules with room on several sides.
    """
    bound, size = term.bound, len(log_g)
    found = smooth(-log_g)
    trusted = found.pareto_k <= trust_limit(size)
    trusted &= bound.rule.held != "hard" and not bound.has_sides
    is_forbidden = isinstance(bound.claim, Forbidden)
    if not (is_forbidden and float(term.law.weight) <= _MILD):
        trusted &= found.ess >= _EVEN * size
        leaning = np.mean(log_g < -_LITTLE) if is_forbidden else 0.0
        trusted &= leaning <= _FEW
    return Removal(found.log_weights, found.pareto_k, bool(trusted))


def some_draws(model: Any) -> Predictive:
    """The model's own functions, thinned."""
    return dataclasses.replace(
        model._predictive, draws=model.draws_.thinned(MOST_DRAWS)
    )


def reweighted(model: Any, found: Removal) -> Without:
    """The fit's own functions, weighted."""
    return Without(some_draws(model), np.exp(found.log_weights), "reweighted")


def refitted(model: Any, term: RuleTerm) -> Without:
    """Functions of a second fit."""
    draws = refit_without(model, term)
    thinned = draws.thinned(MOST_DRAWS)
    predictive = dataclasses.replace(model._predictive, draws=thinned)
    values = judged_values_of(
        model._predict_with(draws), draws, reference_inputs(model)
    )
    verdict = judge(draws, values).status
    even = np.full(predictive.size, 1.0 / predictive.size)
    return Without(predictive, even, "refitted", verdict)


def refit_without(model: Any, term: RuleTerm) -> Draws:
    """A second fit of the same plan, kept for all who ask about this rule."""
    known = getattr(model, "_refits", None)
    if known is None or known[0] is not model.draws_:
        known = model._refits = (model.draws_, {})
    name = term.bound.name
    if name not in known[1]:
        place = [one.bound.name for one in model.target_.rules].index(name)
        key, _ = second_keys(model, place)
        known[1][name] = sample(
            model.draws_.plan,
            without_rule(model.target_, term),
            key,
            progress=model.progress,
            devices=model.devices,
        ).whole()
    return known[1][name]


def second_keys(model: Any, place: int) -> tuple[RandomKey, RandomKey]:
    """Random keys for a second fit about a rule, and for its evidence."""
    key = jax.random.fold_in(key_from(model.random_state), 2)
    first, second = jax.random.split(jax.random.fold_in(key, place))
    return first, second


def without_rule(target: Target, term: RuleTerm) -> Target:
    """The log density less one rule."""
    return with_rules(target, [one for one in target.rules if one is not term])


def with_rules(
    target: Target, rules: Sequence[RuleTerm], *, with_data: bool = True
) -> Target:
    """The log density with other rules, and perhaps without its data."""
    return Target(
        target.network,
        target.weight_prior,
        target.likelihood,
        tuple(rules),
        target.X if with_data else None,
        target.Y if with_data else None,
        target.units,
        target.batch_size,
    )
