"""A rule's effect on a fit: where it binds, what it removes, which rows it fights."""

import dataclasses
from collections.abc import Iterator, Sequence

import jax
import numpy as np
from jaxtyping import Float

from ocbnn.analysis.contradicting_rows import contradicting_rows, rows_in_region
from ocbnn.analysis.explanation_page import Explanation, Explanations
from ocbnn.analysis.projected_rules import rules_alone
from ocbnn.analysis.rule_effect import RuleEffect, just_outside
from ocbnn.analysis.rule_removal import (
    MOST_DRAWS,
    PosteriorWithoutRule,
    RemovalWeights,
    refitted,
    removal,
    reweighted,
)
from ocbnn.core.types import Unchecked
from ocbnn.core.words import listing, suggest
from ocbnn.errors import SettingError
from ocbnn.fitted import FittedModel
from ocbnn.fitted.estimator_record import ModelOrRecord, fitted_of
from ocbnn.predictive.pointwise import log_parts
from ocbnn.priors import RuleTerm
from ocbnn.priors.rulebook import LOOKED_AT
from ocbnn.rules import find_conflict, find_redundant

# Points of a region, and just outside of it, at which functions are compared.
POINTS = 400
# Seconds that second fits may take in all when `refit` is left out.
PATIENCE = 120.0


def explain(
    model: ModelOrRecord,
    rule: Unchecked[str | None] = None,
    *,
    refit: bool | None = None,
    progress: object = "auto",
) -> Explanations:
    """The effect of one rule or of every rule; see `explain` of an estimator.

    Parameters
    ----------
    model
        A fitted model: an estimator, or its `fitted_`.
    rule
        The rule's name; every rule when left out.
    refit
        True fits again for each rule, False never. If left out, a rule is refitted
        when its weights cannot be trusted, within two minutes in all. A projected model
        is not fitted again: its draws are moved onto the other rules.
    progress
        As for a model.
    """
    model = fitted_of(model)
    model.need_all_rows("explain")
    terms = _chosen(model, rule)
    alone = _without_projected if model.projection is not None else _without
    effects = zip(terms, alone(model, terms, refit, progress), strict=True)
    explanations = [explain_term(model, term, *effect) for term, effect in effects]
    points = np.concatenate([model.rows.X, *(t.places for t in model.terms)])
    redundant = find_redundant(model.rules, points) if terms else []
    follows = {redundancy.rule.name: redundancy.sentence() for redundancy in redundant}
    conflict = find_conflict(model.rules, points) if terms else None
    return Explanations(
        tuple(
            dataclasses.replace(e, follows=follows.get(e.rule)) for e in explanations
        ),
        None if conflict is None else conflict.message(),
    )


_Effect = tuple[float | None, PosteriorWithoutRule | None]


def _without(
    model: FittedModel,
    terms: Sequence[RuleTerm],
    refit: bool | None,
    progress: object,
) -> Iterator[_Effect]:
    """Pareto k and the posterior without each rule, by weights or a second fit."""
    removals = find_removals(model)
    patience = PATIENCE
    for term in terms:
        weights, without = removals[term.bound.name], None
        if weights.is_trusted and not refit:
            without = reweighted(model, weights)
        elif refit or (refit is None and model.draws.seconds <= patience):
            patience -= model.draws.seconds
            without = refitted(model, term, progress)
        yield weights.pareto_k, without


def _without_projected(
    model: FittedModel,
    terms: Sequence[RuleTerm],
    refit: bool | None,
    progress: object,
) -> Iterator[_Effect]:
    """The same for a projected model: each rule is left out of the projection."""
    # The draws onto no rules are the original ones, which takes no time.
    if refit is False and len(model.terms) > 1:
        yield from ((None, None) for _ in terms)
        return
    for alone in rules_alone(model, terms, progress=progress):
        yield None, alone.posterior_without()


def find_removals(model: FittedModel) -> dict[str, RemovalWeights]:
    """For each rule by name, whether weights can remove it from the draws."""
    parts = log_parts(model.target, model.draws.thinned(MOST_DRAWS))
    return {
        term.bound.name: removal(term, parts[f"rule {term.bound.name!r}"])
        for term in model.target.rules
    }


def role_from_draws(
    model: FittedModel, name: str, log_g: Float[np.ndarray, " draws"]
) -> str | None:
    """A rule's effect in a sentence, or None if reweighting cannot tell.

    `log_g` is the rule's share of the log density of each draw.
    """
    term = next(term for term in model.target.rules if term.bound.name == name)
    weights = removal(term, log_g[model.draws.chosen(MOST_DRAWS)])
    if not weights.is_trusted:
        return None
    without = reweighted(model, weights)
    return explain_term(model, term, weights.pareto_k, without, 100).sentence


def explain_term(
    model: FittedModel,
    term: RuleTerm,
    pareto_k: float | None,
    without: PosteriorWithoutRule | None,
    points: int = POINTS,
) -> Explanation:
    """Explain one rule, given the posterior without it."""
    bound = term.bound
    rows = contradicting_rows(model, bound, None, is_fitted=True)
    explanation = Explanation(
        rule=bound.name,
        text=str(bound.rule),
        claim=str(bound.rule.claim),
        how="unknown" if without is None else without.how,
        pareto_k=pareto_k,
        verdict="" if without is None else without.verdict,
        binding=None,
        violation=None,
        ranges=(),
        places=(),
        spreads=(),
        rows_in_region=rows_in_region(model, bound),
        against=tuple(row for row in rows if not row.is_noise),
        within_noise=tuple(row for row in rows if row.is_noise),
        has_others=len(model.terms) > 1,
    )
    if without is None:
        return explanation
    effect = RuleEffect(bound, model.some_draws(MOST_DRAWS), without)
    xs = term.many(jax.random.key(LOOKED_AT), points)
    spreads = effect.spreads(xs, just_outside(bound, xs, model.rows.X))
    explanation = dataclasses.replace(explanation, spreads=spreads)
    return effect.with_binding(explanation, xs) if bound.is_checkable else explanation


def _chosen(model: FittedModel, rule: Unchecked[str | None]) -> list[RuleTerm]:
    terms = list(model.terms)
    if rule is None:
        return terms
    chosen = [term for term in terms if term.bound.name == rule]
    if not chosen:
        names = [term.bound.name for term in terms]
        raise SettingError(
            f"explain needs the name of a rule that the model was fitted with, got "
            f"{rule!r}. It has {listing(map(repr, names), 6) or 'none'}."
            f"{suggest(rule, names)}"
        )
    return chosen
