"""The posterior without one of its rules, by weights or by a second fit."""

import dataclasses
from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Float

from ocbnn.core.randomness import key_from
from ocbnn.core.types import RandomKey
from ocbnn.fitted import FittedModel
from ocbnn.inference import Draws
from ocbnn.metrics.psis import smooth, trust_limit
from ocbnn.posterior import Target
from ocbnn.predictive import Predictive
from ocbnn.priors import RuleTerm
from ocbnn.refinement.data_start import sample_from_data

MOST_DRAWS = 2000
# A penalty up to this size cannot exclude functions altogether.
_MILD = 5.0
# Draws with a larger penalty lean on a rule, and up to this share of them may.
_LITTLE, _FEW_LEANING = 0.1, 0.01
# Weights whose effective sample size is this share of the draws are nearly even.
_EVEN = 0.95


@dataclasses.dataclass(frozen=True)
class PosteriorWithoutRule:
    """Functions from the posterior without one rule, and their weights.

    Attributes
    ----------
    predictive
        The functions.
    weights
        Their weights, which sum to one.
    how
        "reweighted" from the fit itself, or "refitted" without the rule.
    verdict
        How far a second fit can be trusted, in a word; empty without one.
    """

    predictive: Predictive
    weights: Float[np.ndarray, " draws"]
    how: str
    verdict: str = ""


@dataclasses.dataclass(frozen=True)
class RemovalWeights:
    """Whether weights of 1/g can remove a rule from the draws.

    Attributes
    ----------
    log_weights
        Smoothed log weights of draws that are thinned to `MOST_DRAWS`.
    pareto_k
        The shape of their tail.
    is_trusted
        Whether they represent the posterior without the rule.
    """

    log_weights: Float[np.ndarray, " draws"]
    pareto_k: float
    is_trusted: bool


def removal(term: RuleTerm, log_g: Float[np.ndarray, " draws"]) -> RemovalWeights:
    """Weights that remove a rule from draws whose penalty for it is `log_g`.

    Pareto k says whether a few draws have all the weight. It says nothing about
    functions that the rule has excluded altogether, and removing the rule would bring
    those back. So weights are trusted if the rule is too mild to exclude any, and
    otherwise only if they are nearly the same for all draws, so that no draw leans on
    the rule. They are never trusted for hard rules or for rules with room on several
    sides.
    """
    bound, size = term.bound, len(log_g)
    smoothed = smooth(-log_g)
    trusted = smoothed.pareto_k <= trust_limit(size)
    trusted &= bound.rule.strictness != "hard" and not bound.claim.has_sides
    is_penalty = bound.claim.is_penalty
    is_mild = term.law.density.is_limited and float(term.law.weight) <= _MILD
    if not is_mild:
        trusted &= smoothed.ess >= _EVEN * size
        leaning = np.mean(log_g < -_LITTLE) if is_penalty else 0.0
        trusted &= leaning <= _FEW_LEANING
    return RemovalWeights(smoothed.log_weights, smoothed.pareto_k, bool(trusted))


def reweighted(model: FittedModel, weights: RemovalWeights) -> PosteriorWithoutRule:
    """The fit's own functions, weighted."""
    return PosteriorWithoutRule(
        model.some_draws(MOST_DRAWS), np.exp(weights.log_weights), "reweighted"
    )


def refitted(
    model: FittedModel, term: RuleTerm, progress: object
) -> PosteriorWithoutRule:
    """Functions of a second fit."""
    second = dataclasses.replace(model, draws=refit_without(model, term, progress))
    predictive = second.some_draws(MOST_DRAWS)
    verdict = second.judge_at(model.reference_inputs()).status
    even = np.full(predictive.size, 1.0 / predictive.size)
    return PosteriorWithoutRule(predictive, even, "refitted", verdict)


def refit_without(model: FittedModel, term: RuleTerm, progress: object) -> Draws:
    """A second fit with the same plan, cached for all analyses of this rule."""
    fits, name = model.second_fits, term.bound.name
    if name not in fits:
        index = [other.bound.name for other in model.target.rules].index(name)
        key, _ = second_keys(model, index)
        fits[name] = sample_from_data(
            model.draws.plan,
            without_rule(model.target, term),
            key,
            progress=progress,
            devices=model.devices,
        ).whole()
    return fits[name]


def second_keys(model: FittedModel, index: int) -> tuple[RandomKey, RandomKey]:
    """Random keys for a second fit about a rule, and for its evidence."""
    key = jax.random.fold_in(key_from(model.random_state), 2)
    first, second = jax.random.split(jax.random.fold_in(key, index))
    return first, second


def without_rule(target: Target, term: RuleTerm) -> Target:
    """The log density without one rule."""
    return with_rules(target, [rule for rule in target.rules if rule is not term])


def with_rules(
    target: Target, rules: Sequence[RuleTerm], *, with_data: bool = True
) -> Target:
    """The log density with other rules, with or without its data."""
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
