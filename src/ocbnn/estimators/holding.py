"""A fitted model held to its hard rules: which draws count, what may be answered."""

import abc
import dataclasses
from collections.abc import Iterable
from typing import Any, TypeAlias

import jax
import numpy as np

from ocbnn.core.errors import DataError, InferenceError
from ocbnn.core.types import RandomKey
from ocbnn.core.words import listing
from ocbnn.estimators.asking import ask_rows
from ocbnn.estimators.diagnosing import Diagnosable
from ocbnn.estimators.names import RowNames
from ocbnn.inference import Draws
from ocbnn.metrics.held import (
    LEAST_DRAWS,
    LEAST_ESS,
    Conditioned,
    Held,
    HeldRule,
    condition,
    too_few,
)
from ocbnn.metrics.worst import draws_broken_at, find_worst
from ocbnn.predictive import Guarded, Predictive
from ocbnn.predictive.pointwise import log_parts
from ocbnn.priors import RuleTerm
from ocbnn.rules import AllowedClasses, BoundRule

Answers: TypeAlias = Predictive | Guarded

# Inputs of each region at which draws are judged, besides those that are searched for.
LOOKED_AT = 4096
_KEY = 20190502


class Holdable(Diagnosable, abc.ABC):
    """A fitted model that answers with those draws alone that keep its hard rules."""

    draws_: Draws
    held_: Held | None
    _predictive: Predictive  # with every draw
    _answering: Answers
    _kept: np.ndarray  # the numbers of the draws that answer, some of them repeated

    @abc.abstractmethod
    def _judged(self, values: np.ndarray) -> np.ndarray:
        """What rules judge of function values: outputs, or class numbers."""

    def _hold(self) -> None:
        try:
            self.held_, self._kept = hold(self, self.draws_)
        except InferenceError:
            del self.draws_  # A model that cannot answer is not fitted.
            raise
        self._answering = answering(self, self._predictive, self._kept)

    def _rule_values(self, X: np.ndarray, most: int | None = None) -> np.ndarray:
        """What rules judge at `X`, of every draw that answers."""
        return self._judged(self._answering.functions(X, most))


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

    Args:
        bounds: All rules.
        blocks: The number of a first row, and inputs and outputs (or class numbers)
            from there on.
        names: What rows are called; None where they are counted from 0.
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


def hold(model: Any, draws: Draws) -> tuple[Held | None, np.ndarray]:
    """Which draws keep the hard rules: what was found, and their numbers.

    Raises:
        InferenceError: When too few draws remain to stand for a posterior.
    """
    terms = [term for term in model.target_.rules if term.bound.rule.held == "hard"]
    every = np.arange(draws.size)
    if not terms:
        return None, every
    predictive = model._predict_with(draws)
    keeps, log_g = np.ones(draws.size, dtype=bool), np.zeros(draws.size)
    said = []
    for term, key in zip(terms, _keys(len(terms)), strict=True):
        xs = _inputs(model, term, key)
        worst = find_worst(predictive, term, key, rows=model._X)
        holds = ~(draws_broken_at(predictive, term, xs).any(axis=1) | worst.broken)
        # A masked class needs no draw's consent, and its density stays in the prior.
        way = (
            "masked" if isinstance(term.bound.claim, AllowedClasses) else "conditioned"
        )
        if way == "conditioned":
            keeps &= holds
        said.append(HeldRule(term.bound.name, way, float(holds.mean()), len(xs)))
    if any(rule.way == "conditioned" for rule in said):
        parts = log_parts(model.target_, draws.stacked())
        log_g = sum(parts[f"rule {rule.rule!r}"] for rule in said) + log_g
    found = condition(keeps, log_g)
    held = Held(
        tuple(said),
        draws.size,
        int(keeps.sum()),
        found.ess,
        found.pareto_k,
        found.weights,
        len(np.unique(found.kept)),
    )
    _refuse_few(held, found)
    return held, found.kept


def answering(model: Any, predictive: Predictive, kept: np.ndarray) -> Answers:
    """What people's questions are answered with; draws as they are without hard rules.

    Rules about slopes choose the draws, and have no say in single values.
    """
    hard = hard_rules(model.rules_)
    if not hard:
        return predictive
    chosen = jax.tree.map(lambda leaf: leaf[kept], predictive.draws)
    inner = dataclasses.replace(predictive, draws=chosen)
    values = tuple(bound for bound in hard if not bound.slopes)
    return Guarded(inner, values) if values else inner


def _keys(count: int) -> Any:
    return jax.random.split(jax.random.key(_KEY), count)


def _inputs(model: Any, term: RuleTerm, key: RandomKey) -> np.ndarray:
    """Fresh points of the region, its faces among them, and the data rows in it."""
    found = [term.many(key, LOOKED_AT)]
    found.append(model._X[term.bound.applies(model._X)])
    return np.unique(np.concatenate(found), axis=0)


def _refuse_few(held: Held, found: Conditioned) -> None:
    if not too_few(found, held.holding, held.draws):
        return
    shares = listing(f"{r.share:.1%} keep {r.rule!r}" for r in held.rules)
    raise InferenceError(
        f"too few draws keep the hard rules to stand for a posterior: {held.holding} "
        f"of {held.draws}, as good as {held.ess:.1f} of equal weight. Needed are "
        f"{LEAST_DRAWS}, as good as {LEAST_ESS:g} (half of the draws, where there are "
        f"fewer than 40). Of the draws {shares}. Give the rules more points "
        "(points=200), draw more, refine the fit, or write strength=firm; if hardly "
        f"any draw comes near, fit that and ask {ask_rows()} whether the data speak "
        "against a rule."
    )
