"""Which rules pull against the data, how strongly, and at which rows."""

import dataclasses
from typing import Any

import jax
import numpy as np
from scipy.special import logsumexp

from ocbnn.analysis.conflict_page import (
    ConflictReport,
    Evidence,
    HeldOut,
    RuleConflict,
)
from ocbnn.analysis.contradicting_rows import (
    ContradictingRow,
    contradicting_rows,
    row_of,
    rows_in_region,
)
from ocbnn.analysis.projected_rules import RuleAlone, rows_of, rules_alone
from ocbnn.analysis.rule_removal import (
    RemovalWeights,
    refit_without,
    removal,
    second_keys,
    with_rules,
    without_rule,
)
from ocbnn.core.types import RandomKey, Unchecked
from ocbnn.errors import SettingError
from ocbnn.fitted import FittedModel
from ocbnn.fitted.estimator_record import ModelOrRecord, fitted_of
from ocbnn.inference import SMC, Draws, sample
from ocbnn.metrics.loo import LeaveOneOut, leave_one_out, log_density_of_rows
from ocbnn.metrics.psis import smooth, trust_limit
from ocbnn.posterior import Target
from ocbnn.predictive.pointwise import log_parts, pointwise_log_likelihood
from ocbnn.priors import RuleTerm
from ocbnn.priors.rulebook import bind_rules
from ocbnn.rules import BoundRule
from ocbnn.rules.rule import GivenRules

# Log likelihoods in memory at a time, draws times rows.
_MAX_VALUES = 2**25
_MAX_LOSING = 5
# The least drop in a row's log likelihood that is reported.
_LEAST_DROP = 0.5


def conflicts(
    model: ModelOrRecord,
    extra: Unchecked[GivenRules] = (),
    *,
    refit: bool = False,
    evidence: bool | SMC = False,
    progress: object = "auto",
) -> ConflictReport:
    """Compare every rule of a fitted model, and proposed ones, with its data.

    Parameters
    ----------
    model
        A fitted model: an estimator, or its `fitted_`.
    extra
        Proposed rules, which the model was not fitted with.
    refit
        Fit again for every rule: without it, or with it if it is proposed. The draws of
        a projected model are moved again, always.
    evidence
        Estimate each rule's Bayes factor: True, or an `SMC` plan.
    progress
        As for a model.
    """
    model = fitted_of(model)
    model.need_all_rows("conflicts")
    if model.projection is not None:
        if evidence:
            model.refuse_projected("evidence")
        proposed = _proposed(model, extra)
        pairs = rules_alone(model, model.terms, proposed, progress=progress)
        return ConflictReport(tuple(_projected_conflict(model, pair) for pair in pairs))
    proposed = _proposed(model, extra)
    target = with_rules(model.target, (*model.target.rules, *proposed))
    max_draws = max(200, _MAX_VALUES // max(1, len(model.rows.X)))
    positions = model.draws.thinned(max_draws)
    logs = pointwise_log_likelihood(model.target, positions)
    parts = log_parts(target, positions)
    left_out = leave_one_out(logs)
    reports = []
    for index, term in enumerate(target.rules):
        is_fitted = index < len(model.target.rules)
        alternative = _alternative(model.target, term, is_fitted)
        log_g = parts[f"rule {term.bound.name!r}"]
        comparison = _RuleComparison(model, term, is_fitted, logs, log_g, left_out)
        key_fit, key_evidence = second_keys(model, index)
        refitted = None
        if refit and is_fitted:
            refitted = _rows_of(
                model, alternative, refit_without(model, term, progress)
            )
        elif refit:
            refit_draws = sample(
                model.draws.plan, alternative, key_fit, progress=progress
            )
            refitted = _rows_of(model, alternative, refit_draws.whole())
        conflict = comparison.conflict(parts["data"], refitted)
        if evidence:
            pair = (
                (model.target, alternative)
                if is_fitted
                else (alternative, model.target)
            )
            plan = evidence if isinstance(evidence, SMC) else SMC()
            factor = _evidence(*pair, plan, key_evidence, progress)
            conflict = dataclasses.replace(conflict, evidence=factor)
        reports.append(conflict)
    return ConflictReport(tuple(reports))


@dataclasses.dataclass(frozen=True)
class _RuleComparison:
    """One rule, and the log densities of the rule and of every row for each draw."""

    model: FittedModel
    term: RuleTerm
    is_fitted: bool
    log_likelihood: np.ndarray
    log_g: np.ndarray
    left_out: LeaveOneOut

    def conflict(self, data: np.ndarray, refitted: np.ndarray | None) -> RuleConflict:
        bound, size = self.term.bound, len(self.log_g)
        weights = self._without() if self.is_fitted else self._with()
        held_out, drops = None, None
        even = np.full(size, -np.log(size))
        current = log_density_of_rows(self.log_likelihood, even)
        if refitted is not None:
            even_refitted = np.full(len(refitted), -np.log(len(refitted)))
            alternative = log_density_of_rows(refitted, even_refitted)
            held_out = self._held_out(leave_one_out(refitted), "refitted")
            drops = alternative - current
        elif weights.is_trusted:
            alternative = log_density_of_rows(self.log_likelihood, weights.log_weights)
            weighted = leave_one_out(self.log_likelihood, weights.log_weights)
            held_out = self._held_out(weighted, "reweighted")
            drops = alternative - current
        if drops is not None and not self.is_fitted:
            drops = -drops
        rows = contradicting_rows(self.model, bound, drops, is_fitted=self.is_fitted)
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
            losing=_losing(self.model, bound, drops),
            pareto_k=weights.pareto_k,
            is_reweighted=weights.is_trusted,
            held_out=held_out,
            is_class=bound.schema.classes is not None,
        )

    def _without(self) -> RemovalWeights:
        return removal(self.term, self.log_g)

    def _with(self) -> RemovalWeights:
        # Adding a rule only removes functions, so the tail of the weights is enough.
        smoothed = smooth(self.log_g)
        limit = trust_limit(len(self.log_g))
        return RemovalWeights(
            smoothed.log_weights, smoothed.pareto_k, smoothed.pareto_k <= limit
        )

    def _held_out(self, other: LeaveOneOut, how: str) -> HeldOut:
        pair = (self.left_out, other) if self.is_fitted else (other, self.left_out)
        return HeldOut.between(*pair, how, len(self.log_g))


def _losing(
    model: FittedModel, bound: BoundRule, drops: np.ndarray | None
) -> tuple[ContradictingRow, ...]:
    """The rows whose log likelihood drops most."""
    if drops is None:
        return ()
    worst = np.argsort(-drops)[:_MAX_LOSING]
    return tuple(
        row_of(model, bound, row, drops)
        for row in worst.tolist()
        if drops[row] > _LEAST_DROP
    )


def _proposed(model: FittedModel, extra: Unchecked[GivenRules]) -> tuple[RuleTerm, ...]:
    """Terms of proposed rules, with points of their own."""
    bounds = bind_rules(extra, model.schema)
    names = {term.bound.name for term in model.terms}
    duplicates = [bound.name for bound in bounds if bound.name in names]
    if duplicates:
        raise SettingError(
            f"the model was fitted with a rule called {duplicates[0]!r} already. Give "
            "the proposed rule another name, or leave it out."
        )
    return model.proposed(bounds)


def _projected_conflict(model: FittedModel, alone: RuleAlone) -> RuleConflict:
    """What one rule of a projection does to the data."""
    bound, is_fitted = alone.term.bound, alone.is_fitted
    size = alone.with_rule.draws.size
    even = np.full(size, -np.log(size))
    drops = log_density_of_rows(rows_of(alone.without), even) - log_density_of_rows(
        rows_of(alone.with_rule), even
    )
    few = alone.with_rule if is_fitted else alone.without
    data = log_parts(few.target, few.draws.stacked())["data"]
    rows = contradicting_rows(model, bound, drops, is_fitted=is_fitted)
    return RuleConflict(
        rule=bound.name,
        claim=str(bound.rule.claim),
        is_fitted=is_fitted,
        log_g=None,
        best=None,
        log_likelihood=float(data.mean()),
        rows_in_region=rows_in_region(model, bound),
        against=tuple(row for row in rows if not row.is_noise),
        within_noise=tuple(row for row in rows if row.is_noise),
        losing=_losing(model, bound, drops),
        pareto_k=None,
        is_reweighted=False,
        held_out=HeldOut.between(*alone.held_out(), "projected", size),
        is_class=bound.schema.classes is not None,
        distances=alone.distances(),
    )


def _alternative(target: Target, term: RuleTerm, is_fitted: bool) -> Target:
    """The target to compare with: without a fitted rule, or with a proposed one."""
    if not is_fitted:
        return with_rules(target, (*target.rules, term))
    return without_rule(target, term)


def _rows_of(model: FittedModel, target: Target, draws: Draws) -> np.ndarray:
    """Log likelihoods from a second fit."""
    max_draws = max(200, _MAX_VALUES // max(1, len(model.rows.X)))
    return pointwise_log_likelihood(target, draws.thinned(max_draws))


def _evidence(
    with_rule: Target, without: Target, plan: SMC, key: RandomKey, progress: Any
) -> Evidence:
    """Four runs, because a rule's density is not normalised: two are without data."""
    runs = [
        (+1, with_rule),
        (-1, with_rules(with_rule, with_rule.rules, with_data=False)),
        (-1, without),
        (+1, with_rules(without, without.rules, with_data=False)),
    ]
    total, variance = 0.0, 0.0
    keys = jax.random.split(key, len(runs))
    for (sign, target), run_key in zip(runs, keys, strict=True):
        if target.X is None and not target.rules:
            continue  # The prior on weights has mass one.
        draws = sample(plan, target, run_key, progress=progress).whole()
        logs = np.asarray(draws.log_evidence, float)
        total += sign * float(logsumexp(logs) - np.log(len(logs)))
        if len(logs) > 1:
            variance += float(logs.var(ddof=1)) / len(logs)
    return Evidence(total, float(np.sqrt(variance)))


def _best(term: RuleTerm, log_g: np.ndarray) -> float:
    """The largest value of a rule's share; the best draw's, if it has no bound."""
    best = term.bound.claim.best(term.bound.rule, term.count)
    return float(log_g.max()) if best is None else best
