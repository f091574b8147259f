"""Hard rules: data they refuse, draws that keep them, and what these may answer."""

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeAlias

import jax
import numpy as np

from ocbnn.core.advice import Kind
from ocbnn.core.sentences import Sentence
from ocbnn.core.types import RandomKey, RowNames
from ocbnn.core.words import listing
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

# Inputs of each region at which draws are judged, besides those that are searched for.
LOOKED_AT = 4096
_KEY = 20190502


def hard_rules(bounds: Iterable[BoundRule]) -> tuple[BoundRule, ...]:
    """Those that are held without exception."""
    return tuple(bound for bound in bounds if bound.rule.held == "hard")


def kept_rules(bounds: Iterable[BoundRule]) -> tuple[BoundRule, ...]:
    """Those that no prediction may break: firm and hard ones, none about slopes."""
    return tuple(b for b in bounds if b.rule.held != "soft" and not b.slopes)


def refuse_rows(
    bounds: Iterable[BoundRule],
    blocks: Iterable[tuple[int, np.ndarray, np.ndarray]],
    names: RowNames | None,
) -> None:
    """Refuse data that hard rules say cannot be.

    Parameters
    ----------
    bounds
        All rules.
    blocks
        The number of a first row, and inputs and outputs (or class numbers)
        from there on.
    names
        What rows are called; None where they are counted from 0.
    """
    hard = [bound for bound in hard_rules(bounds) if not bound.slopes]
    if not hard:
        return
    wrong: dict[str, list[int]] = {bound.name: [] for bound in hard}
    total = 0
    for start, X, Y in blocks:
        total += len(X)
        for bound in hard:
            rows = np.flatnonzero(~bound.holds(X, Y)) + start
            wrong[bound.name] += rows.tolist()
    for bound in hard:
        rows = wrong[bound.name]
        if rows:
            called = [row if names is None else names[row] for row in rows]
            counted = " (counted from 0)" if names is None else ""
            raise DataError(
                f"{len(rows)} of {total} rows break the hard rule {bound.name!r}, "
                f"which says that no output can: row {listing(called, 5)}{counted}. "
                "Mend these rows or the rule, or let it have exceptions: strength=firm."
            )


def hold(
    target: Target,
    positions: Model,
    predictive: Predictive,
    X: np.ndarray,
    *,
    priced: bool = True,
) -> tuple[HardRuleRecord | None, np.ndarray]:
    """Which draws keep the hard rules: what was found, and their numbers.

    Parameters
    ----------
    target
        The log density.
    positions
        Every draw from it.
    predictive
        What they say.
    X
        Data rows, at which draws must keep the rules, too.
    priced
        Whether draws have paid for breaking them, which weights then undo. Draws that
        were projected have not.

    Raises
    ------
    InferenceError
        When too few draws remain to stand for a posterior.
    """
    terms = [term for term in target.rules if term.bound.rule.held == "hard"]
    size = predictive.size
    if not terms:
        return None, np.arange(size)
    keeps, log_g = np.ones(size, dtype=bool), np.zeros(size)
    entries = []
    for term, key in zip(terms, _keys(len(terms)), strict=True):
        xs = _inputs(X, term, key)
        worst = find_worst(predictive, term, key, rows=X)
        holds = ~(draws_broken_at(predictive, term, xs).any(axis=1) | worst.broken)
        # A masked class needs no draw's consent, and its density stays in the prior.
        way = "conditioned" if term.bound.claim.allowed is None else "masked"
        if way == "conditioned":
            keeps &= holds
        entries.append(
            HardRuleEntry(term.bound.name, way, float(holds.mean()), len(xs))
        )
    if priced and any(rule.way == "conditioned" for rule in entries):
        parts = log_parts(target, positions)
        log_g = sum(parts[f"rule {rule.rule!r}"] for rule in entries) + log_g
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
    _refuse_few(record, conditioned)
    return record, conditioned.kept


def answering(
    rules: Iterable[BoundRule], predictive: Predictive, kept: np.ndarray
) -> Answers:
    """What people's questions are answered with; draws as they are without hard rules.

    Rules about slopes choose the draws, and have no say in single values.
    """
    hard = hard_rules(rules)
    if not hard:
        return predictive
    chosen = jax.tree.map(lambda leaf: leaf[kept], predictive.draws)
    inner = dataclasses.replace(predictive, draws=chosen)
    values = tuple(bound for bound in hard if not bound.slopes)
    return ConstrainedPredictive(inner, values) if values else inner


def _keys(count: int) -> Any:
    return jax.random.split(jax.random.key(_KEY), count)


def _inputs(X: np.ndarray, term: RuleTerm, key: RandomKey) -> np.ndarray:
    """Fresh points of the region, its faces among them, and the data rows in it."""
    points = [term.many(key, LOOKED_AT), X[term.bound.applies(X)]]
    return np.unique(np.concatenate(points), axis=0)


def _refuse_few(record: HardRuleRecord, conditioned: ConditionedDraws) -> None:
    if not too_few(conditioned, record.holding, record.draws):
        return
    shares = listing(f"{r.share:.1%} keep {r.rule!r}" for r in record.rules)
    sentence = (
        f"too few draws keep the hard rules to stand for a posterior: {record.holding} "
        f"of {record.draws}, as good as {record.ess:.1f} of equal weight. Needed are "
        f"{LEAST_DRAWS}, as good as {LEAST_ESS:g} (half of the draws, where there are "
        f"fewer than 40). Of the draws {shares}. Give the rules more points "
        "(points=200), draw more, refine the fit, or write strength=firm; if hardly "
        "any draw comes near, fit that and "
    )
    raise InferenceError(Sentence(sentence, Kind.ASK_CONFLICTS, "."))
