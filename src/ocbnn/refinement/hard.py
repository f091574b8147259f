"""Hard rules: rows that contradict them, draws that keep them, and predictions."""

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeAlias

import jax
import numpy as np

from ocbnn.core.advice import Kind
from ocbnn.core.sentences import Sentence
from ocbnn.core.types import RandomKey, RowNames
from ocbnn.core.words import listing, share
from ocbnn.errors import DataError, InferenceError
from ocbnn.metrics.hard_rules import (
    LEAST_DRAWS,
    LEAST_ESS,
    ConditionedDraws,
    HardRuleEntry,
    HardRuleRecord,
    condition,
    too_few,
)
from ocbnn.metrics.worst import draws_broken_at, find_worst
from ocbnn.posterior import Model, Target
from ocbnn.predictive import ConstrainedPredictive, Predictive
from ocbnn.predictive.pointwise import log_parts
from ocbnn.priors import RuleTerm
from ocbnn.rules import BoundRule

Answers: TypeAlias = Predictive | ConstrainedPredictive

# Inputs of each region at which draws are checked, besides the worst ones found.
LOOKED_AT = 4096
_KEY = 20190502


def hard_rules(bounds: Iterable[BoundRule]) -> tuple[BoundRule, ...]:
    """The rules that are held without exception."""
    return tuple(bound for bound in bounds if bound.rule.strictness == "hard")


def kept_rules(bounds: Iterable[BoundRule]) -> tuple[BoundRule, ...]:
    """The rules that every prediction keeps: firm and hard ones, not about slopes."""
    return tuple(b for b in bounds if b.rule.strictness != "soft" and not b.slopes)


def refuse_rows(
    bounds: Iterable[BoundRule],
    blocks: Iterable[tuple[int, np.ndarray, np.ndarray]],
    names: RowNames | None,
) -> None:
    """Refuse rows that contradict hard rules.

    Parameters
    ----------
    bounds
        All rules.
    blocks
        The number of a first row, and inputs and outputs (or class numbers)
        from there on.
    names
        Names of the rows; None if they are counted from 0.
    """
    hard = [bound for bound in hard_rules(bounds) if not bound.slopes]
    if not hard:
        return
    violating: dict[str, list[int]] = {bound.name: [] for bound in hard}
    total = 0
    for start, X, Y in blocks:
        total += len(X)
        for bound in hard:
            rows = np.flatnonzero(~bound.holds(X, Y)) + start
            violating[bound.name] += rows.tolist()
    for bound in hard:
        rows = violating[bound.name]
        if rows:
            row_names = [row if names is None else names[row] for row in rows]
            suffix = " (counted from 0)" if names is None else ""
            raise DataError(
                f"{len(rows)} of {total} rows violate the hard rule {bound.name!r}, "
                f"which allows no exceptions: row {listing(row_names, 5)}{suffix}. "
                "Correct these rows or the rule, or write strength=firm."
            )


def hold(
    target: Target,
    positions: Model,
    predictive: Predictive,
    X: np.ndarray,
    *,
    projected_onto: tuple[RuleTerm, ...] = (),
) -> tuple[HardRuleRecord | None, np.ndarray]:
    """Which draws keep the hard rules: a record, and the numbers of those draws.

    Parameters
    ----------
    target
        The log density.
    positions
        Every draw from it.
    predictive
        Their function values.
    X
        Data rows, at which draws must keep the rules, too.
    projected_onto
        The rules of projected draws. The target has no penalties for them, which
        weights would have to undo.

    Raises
    ------
    InferenceError
        When too few draws remain to represent a posterior.
    """
    rules = projected_onto or target.rules
    terms = [term for term in rules if term.bound.rule.strictness == "hard"]
    size = predictive.size
    if not terms:
        return None, np.arange(size)
    keeps, log_g = np.ones(size, dtype=bool), np.zeros(size)
    entries = []
    for term, key in zip(terms, _keys(len(terms)), strict=True):
        xs = _inputs(X, term, key)
        worst = find_worst(predictive, term, key, rows=X)
        holds = ~(draws_broken_at(predictive, term, xs).any(axis=1) | worst.broken)
        # Masking a class excludes no draw, so the rule's penalty needs no undoing.
        treatment = "conditioned" if term.bound.claim.allowed is None else "masked"
        if treatment == "conditioned":
            keeps &= holds
        entries.append(
            HardRuleEntry(term.bound.name, treatment, float(holds.mean()), len(xs))
        )
    is_priced = not projected_onto
    if is_priced and any(entry.way == "conditioned" for entry in entries):
        parts = log_parts(target, positions)
        log_g = sum(parts[f"rule {entry.rule!r}"] for entry in entries) + log_g
    conditioned = condition(keeps, log_g)
    record = HardRuleRecord(
        tuple(entries),
        size,
        int(keeps.sum()),
        conditioned.ess,
        conditioned.pareto_k,
        conditioned.weights,
        len(np.unique(conditioned.kept)),
    )
    _refuse_few(record, conditioned, is_priced)
    return record, conditioned.kept


def answering(
    rules: Iterable[BoundRule], predictive: Predictive, kept: np.ndarray
) -> Answers:
    """What predictions come from: all draws, or those that keep the hard rules.

    Rules about slopes select draws, but do not constrain single values.
    """
    hard = hard_rules(rules)
    if not hard:
        return predictive
    kept_draws = jax.tree.map(lambda leaf: leaf[kept], predictive.draws)
    inner = dataclasses.replace(predictive, draws=kept_draws)
    value_rules = tuple(bound for bound in hard if not bound.slopes)
    return ConstrainedPredictive(inner, value_rules) if value_rules else inner


def _keys(count: int) -> Any:
    return jax.random.split(jax.random.key(_KEY), count)


def _inputs(X: np.ndarray, term: RuleTerm, key: RandomKey) -> np.ndarray:
    """Fresh points of the region, its faces among them, and the data rows in it."""
    points = [term.many(key, LOOKED_AT), X[term.bound.applies(X)]]
    return np.unique(np.concatenate(points), axis=0)


def _refuse_few(
    record: HardRuleRecord, conditioned: ConditionedDraws, is_priced: bool
) -> None:
    if not too_few(conditioned, record.holding, record.draws):
        return
    shares = listing(f"{share(r.share)} keep {r.rule!r}" for r in record.rules)
    message = (
        "too few draws keep the hard rules to represent a posterior: "
        f"{record.holding} of {record.draws}, worth {record.ess:.1f} of equal weight. "
        f"At least {LEAST_DRAWS}, worth {LEAST_ESS:g}, are needed (or half of the "
        f"draws, if there are fewer than 40). Of the draws, {shares}. "
    )
    if is_priced:
        remedy = (
            "Give the rules more points (points=200), draw more, refine the fit, or "
            "write strength=firm; if hardly any draw comes close, fit with "
            "strength=firm and "
        )
        raise InferenceError(Sentence(message, remedy, Kind.ASK_CONFLICTS, "."))
    more = Sentence("Give the projection more rounds (", Kind.MORE_ROUNDS, ")")
    rest = ", draw more, or write strength=firm."
    raise InferenceError(Sentence(message, more, rest))
