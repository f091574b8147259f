"""What a rule does to a fit: where it binds, what it removed, which rows it fights."""

import dataclasses
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from ocbnn.analysis.contradicting_rows import contradicting_rows, rows_in_region
from ocbnn.analysis.explanation_page import Explanation, Explanations
from ocbnn.analysis.rule_effect import RuleEffect, just_outside
from ocbnn.analysis.rule_removal import (
    MOST_DRAWS,
    PosteriorWithoutRule,
    RemovalWeights,
    refitted,
    removal,
    reweighted,
)
from ocbnn.core.words import listing, suggest
from ocbnn.errors import SettingError
from ocbnn.fitted import FittedModel
from ocbnn.predictive.pointwise import log_parts
from ocbnn.priors import RuleTerm
from ocbnn.priors.rulebook import LOOKED_AT
from ocbnn.rules import find_conflict, find_redundant

# Points of a region, and just outside of it, that are looked at.
POINTS = 400
# Seconds that second fits may take in all when no one asked for them.
PATIENCE = 120.0


def explain(
    model: FittedModel,
    rule: Any = None,
    *,
    refit: bool | None = None,
    progress: object = "auto",
) -> Explanations:
    """What one rule does, or every rule; see `explain` of an estimator.

    Parameters
    ----------
    model
        A fitted model.
    rule
        The rule's name; every rule when left out.
    refit
        True fits again for each rule, False never. Left out, it is done where
        weights cannot be trusted, within two minutes in all.
    progress
        As for a model.
    """
    model.refuse_projected("explain")
    model.need_all_rows("explain")
    terms = _chosen(model, rule)
    removals = find_removals(model)
    patience, explanations = PATIENCE, []
    for term in terms:
        known, without = removals[term.bound.name], None
        if known.is_trusted and not refit:
            without = reweighted(model, known)
        elif refit or (refit is None and model.draws.seconds <= patience):
            patience -= model.draws.seconds
            without = refitted(model, term, progress)
        explanations.append(explain_term(model, term, known, without))
    everywhere = np.concatenate([model.rows.X, *(t.places for t in model.target.rules)])
    redundant = find_redundant(model.rules, everywhere) if terms else []
    follows = {redundancy.rule.name: redundancy.sentence() for redundancy in redundant}
    conflict = find_conflict(model.rules, everywhere) if terms else None
    return Explanations(
        tuple(
            dataclasses.replace(e, follows=follows.get(e.rule)) for e in explanations
        ),
        None if conflict is None else conflict.message(),
    )


def find_removals(model: FittedModel) -> dict[str, RemovalWeights]:
    """For each rule by name, whether weights can take it out of the draws."""
    parts = log_parts(model.target, model.draws.thinned(MOST_DRAWS))
    return {
        term.bound.name: removal(term, parts[f"rule {term.bound.name!r}"])
        for term in model.target.rules
    }


def role_from_draws(
    model: FittedModel, name: str, log_g: Float[np.ndarray, " draws"]
) -> str | None:
    """What a rule does, in a sentence, where draws that pay `log_g` for it can tell."""
    term = next(other for other in model.target.rules if other.bound.name == name)
    known = removal(term, log_g[model.draws.chosen(MOST_DRAWS)])
    if not known.is_trusted:
        return None
    return explain_term(model, term, known, reweighted(model, known), 100).sentence


def explain_term(
    model: FittedModel,
    term: RuleTerm,
    known: RemovalWeights,
    without: PosteriorWithoutRule | None,
    points: int = POINTS,
) -> Explanation:
    """Explain one rule, given functions that do not know it."""
    bound = term.bound
    rows = contradicting_rows(model, bound, None, is_fitted=True)
    explanation = Explanation(
        rule=bound.name,
        text=str(bound.rule),
        claim=str(bound.rule.claim),
        how="unknown" if without is None else without.how,
        pareto_k=known.pareto_k,
        verdict="" if without is None else without.verdict,
        binding=None,
        violation=None,
        ranges=(),
        places=(),
        spreads=(),
        rows_in_region=rows_in_region(model, bound),
        against=tuple(row for row in rows if not row.is_noise),
        within_noise=tuple(row for row in rows if row.is_noise),
        has_others=len(model.target.rules) > 1,
    )
    if without is None:
        return explanation
    effect = RuleEffect(bound, model.some_draws(MOST_DRAWS), without)
    xs = term.many(jax.random.key(LOOKED_AT), points)
    spreads = effect.spreads(xs, just_outside(bound, xs, model.rows.X))
    explanation = dataclasses.replace(explanation, spreads=spreads)
    return effect.with_binding(explanation, xs) if bound.is_checkable else explanation


def _chosen(model: FittedModel, rule: Any) -> list[RuleTerm]:
    terms = list(model.target.rules)
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
