"""Which rules pull against the data, how hard, and at which rows."""

import dataclasses
from typing import Any

import jax
import numpy as np
from scipy.special import logsumexp

from ocbnn.core.errors import SettingError
from ocbnn.core.randomness import key_from
from ocbnn.core.types import RandomKey
from ocbnn.estimators.conflict import (
    ConflictReport,
    Evidence,
    HeldOut,
    RuleConflict,
)
from ocbnn.estimators.rows_against import Row, breaking_rows, row_of, rows_in_region
from ocbnn.estimators.rulebook import bind_rules, make_terms
from ocbnn.estimators.without import (
    Removal,
    refit_without,
    removal,
    second_keys,
    with_rules,
    without_rule,
)
from ocbnn.inference import SMC, Draws, sample
from ocbnn.metrics.loo import LeaveOneOut, leave_one_out, log_density_of_rows
from ocbnn.metrics.psis import smooth, trust_limit
from ocbnn.posterior import Target
from ocbnn.predictive.pointwise import log_parts, pointwise_log_likelihood
from ocbnn.priors import RuleTerm
from ocbnn.rules import Expectation, Forbidden

# Log likelihoods held at a time, (draws, rows).
_ROOM = 2**25
_MOST_LOSING = 5
# A drop in one row's log likelihood that is worth a person's look.
_DROP = 0.5


def find_conflicts(
    model: Any, extra: Any, *, refit: bool, evidence: bool | SMC
) -> ConflictReport:
    """Set every rule of a fitted model, and some proposed ones, against its data."""
    whole = _with_proposed(model, extra)
    most = max(200, _ROOM // max(1, len(model._X)))
    positions = model.draws_.thinned(most)
    logs = pointwise_log_likelihood(model.target_, positions)
    parts = log_parts(whole, positions)
    here = leave_one_out(logs)
    found = []
    for index, term in enumerate(whole.rules):
        is_fitted = index < len(model.target_.rules)
        other = _other(model.target_, term, is_fitted)
        log_g = parts[f"rule {term.bound.name!r}"]
        side = _Side(model, term, is_fitted, logs, log_g, here)
        key_fit, key_evidence = second_keys(model, index)
        refitted = None
        if refit and is_fitted:
            refitted = _rows_of(model, other, refit_without(model, term))
        elif refit:
            again = sample(model.draws_.plan, other, key_fit, progress=model.progress)
            refitted = _rows_of(model, other, again.whole())
        conflict = side.conflict(parts["data"], refitted)
        if evidence:
            pair = (model.target_, other) if is_fitted else (other, model.target_)
            plan = evidence if isinstance(evidence, SMC) else SMC()
            factor = _evidence(*pair, plan, key_evidence, model.progress)
            conflict = dataclasses.replace(conflict, evidence=factor)
        found.append(conflict)
    return ConflictReport(tuple(found))


@dataclasses.dataclass(frozen=True)
class _Side:
    """One rule and what the draws say about it and about every row."""

    model: Any
    term: RuleTerm
    is_fitted: bool
    log_likelihood: np.ndarray
    log_g: np.ndarray
    left_out: LeaveOneOut

    def conflict(self, data: np.ndarray, refitted: np.ndarray | None) -> RuleConflict:
        bound, size = self.term.bound, len(self.log_g)
        there = self._without() if self.is_fitted else self._with()
        held_out, drops = None, None
        even = np.full(size, -np.log(size))
        here = log_density_of_rows(self.log_likelihood, even)
        if refitted is not None:
            others = np.full(len(refitted), -np.log(len(refitted)))
            away = log_density_of_rows(refitted, others)
            held_out = self._held_out(leave_one_out(refitted), "refitted")
            drops = away - here
        elif there.is_trusted:
            away = log_density_of_rows(self.log_likelihood, there.log_weights)
            weighted = leave_one_out(self.log_likelihood, there.log_weights)
            held_out = self._held_out(weighted, "reweighted")
            drops = away - here
        if drops is not None and not self.is_fitted:
            drops = -drops
        rows = breaking_rows(self.model, bound, drops, is_fitted=self.is_fitted)
        return RuleConflict(
            rule=bound.name,
            claim=str(bound.rule.claim),
            is_fitted=self.is_fitted,
            log_g=float(self.log_g.mean()),
            best=_best(self.term, self.log_g),
            log_likelihood=float(data.mean()),
            rows_in_region=rows_in_region(self.model, bound),
            against=tuple(row for row in rows if not row.is_noise),
            within_noise=tuple(row for row in rows if row.is_noise),
            losing=self._losing(drops),
            pareto_k=there.pareto_k,
            is_reweighted=there.is_trusted,
            held_out=held_out,
            is_class=bound.schema.classes is not None,
        )

    def _without(self) -> Removal:
        return removal(self.term, self.log_g)

    def _with(self) -> Removal:
        # What is added only takes from the draws, so the weights' tail tells all.
        found = smooth(self.log_g)
        limit = trust_limit(len(self.log_g))
        return Removal(found.log_weights, found.pareto_k, found.pareto_k <= limit)

    def _held_out(self, away: LeaveOneOut, how: str) -> HeldOut:
        here = self.left_out
        change = here.rows - away.rows if self.is_fitted else away.rows - here.rows
        limit = trust_limit(len(self.log_g))
        error = np.sqrt(len(change) * change.var())
        rough = np.mean((here.pareto_k > limit) | (away.pareto_k > limit))
        return HeldOut(float(change.sum()), float(error), how, float(rough))

    def _losing(self, drops: np.ndarray | None) -> tuple[Row, ...]:
        if drops is None:
            return ()
        worst = np.argsort(-drops)[:_MOST_LOSING]
        return tuple(
            row_of(self.model, self.term.bound, row, drops)
            for row in worst.tolist()
            if drops[row] > _DROP
        )


def _with_proposed(model: Any, extra: Any) -> Target:
    """The model's target with proposed rules added, their points placed anew."""
    target, schema = model.target_, model.schema_
    bounds = bind_rules(extra, schema)
    known = {term.bound.name for term in target.rules}
    twice = [bound.name for bound in bounds if bound.name in known]
    if twice:
        raise SettingError(
            f"the model was fitted with a rule called {twice[0]!r} already. Give the "
            "proposed rule another name, or leave it out."
        )
    key = jax.random.fold_in(key_from(model.random_state), 3)
    Y = model._Y if schema.classes is None else None
    terms = make_terms(bounds, key, model._X, Y, target.units)
    return with_rules(target, (*target.rules, *terms))


def _other(target: Target, term: RuleTerm, is_fitted: bool) -> Target:
    """The posterior to compare with: without a rule of the fit, or with one more."""
    if not is_fitted:
        return with_rules(target, (*target.rules, term))
    return without_rule(target, term)


def _rows_of(model: Any, target: Target, draws: Draws) -> np.ndarray:
    """Log likelihoods from a second fit."""
    most = max(200, _ROOM // max(1, len(model._X)))
    return pointwise_log_likelihood(target, draws.thinned(most))


def _evidence(
    with_rule: Target, without: Target, plan: SMC, key: RandomKey, progress: Any
) -> Evidence:
    """Four runs: a rule's density is not normalised, so its prior mass is taken off."""
    runs = [
        (+1, with_rule),
        (-1, with_rules(with_rule, with_rule.rules, with_data=False)),
        (-1, without),
        (+1, with_rules(without, without.rules, with_data=False)),
    ]
    total, variance = 0.0, 0.0
    keys = jax.random.split(key, len(runs))
    for (sign, target), one in zip(runs, keys, strict=True):
        if target.X is None and not target.rules:
            continue  # The prior on weights has mass one.
        found = sample(plan, target, one, progress=progress).whole()
        logs = np.asarray(found.log_evidence, float)
        total += sign * float(logsumexp(logs) - np.log(len(logs)))
        if len(logs) > 1:
            variance += float(logs.var(ddof=1)) / len(logs)
    return Evidence(total, float(np.sqrt(variance)))


def _best(term: RuleTerm, log_g: np.ndarray) -> float:
    """The most a rule's share can be; the best draw's, where that has no bound."""
    claim, rule = term.bound.claim, term.bound.rule
    if isinstance(claim, Forbidden):
        return 0.0
    if isinstance(claim, Expectation):
        heights = -np.log(np.sqrt(2 * np.pi) * np.array(claim.sds))
        total = term.count if rule.weight is None else rule.weight
        shares = np.log(np.array(claim.weights))
        if rule.per == "region":
            return float(logsumexp(shares + total * heights))
        return float(total * logsumexp(shares + heights))
    return float(log_g.max())
