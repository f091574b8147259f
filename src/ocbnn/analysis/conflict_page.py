"""How well each rule agrees with the data, as values and in words."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from ocbnn.analysis.contradicting_rows import (
    ContradictingRow,
    pulled,
    say_missed,
    say_noise,
    say_rows,
    say_values,
)
from ocbnn.core.advice import Advice, Kind, Spelling
from ocbnn.core.page import RulePages, block
from ocbnn.core.plain import plain
from ocbnn.core.sentences import Sentence, in_python, spelled
from ocbnn.core.words import listing, share
from ocbnn.metrics.loo import LeaveOneOut
from ocbnn.metrics.psis import trust_limit
from ocbnn.refinement.projected import Distance

# A change of log likelihood counts if it exceeds both of these: standard errors, nats.
_SIGMAS, _SMALL = 2.0, 1.0
# A log Bayes factor that is commonly called strong: odds of twenty to one.
_STRONG = 3.0


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Log likelihood of held-out rows with the rule, minus the same without it.

    Attributes
    ----------
    change
        Summed over rows; below zero when the rule makes predictions worse.
    error
        Its standard error over rows.
    how
        "reweighted" from one fit, "refitted" with and without the rule, or
        "projected": the same draws, moved onto the rules with it and without it.
    rough
        The share of rows whose leave-one-out estimates cannot be trusted.
    """

    change: float
    error: float
    how: str
    rough: float

    @classmethod
    def between(
        cls, with_rule: LeaveOneOut, without: LeaveOneOut, how: str, draws: int
    ) -> "HeldOut":
        """The change from one leave-one-out estimate to another, of so many draws."""
        change = with_rule.rows - without.rows
        error = np.sqrt(len(change) * change.var())
        limit = trust_limit(draws)
        rough = np.mean((with_rule.pareto_k > limit) | (without.pareto_k > limit))
        return cls(float(change.sum()), float(error), how, float(rough))

    @property
    def is_worse(self) -> bool:
        """Whether predictions are clearly worse with the rule."""
        return -self.change > max(_SIGMAS * self.error, _SMALL)

    @property
    def is_better(self) -> bool:
        """Whether predictions are clearly better with the rule."""
        return self.change > max(_SIGMAS * self.error, _SMALL)


@dataclasses.dataclass(frozen=True)
class Evidence:
    """Log Bayes factor of the rule: how much better it makes the data's evidence.

    Attributes
    ----------
    log_bayes_factor
        log p(D | with the rule) - log p(D | without it).
    error
        Its Monte Carlo standard deviation, from differences between populations.
    """

    log_bayes_factor: float
    error: float

    @property
    def is_against(self) -> bool:
        """Whether the data are clearly against the rule."""
        return -self.log_bayes_factor > max(_SIGMAS * self.error, _STRONG)


@dataclasses.dataclass(frozen=True)
class RuleConflict:
    """How well one rule agrees with the data.

    Attributes
    ----------
    rule
        The rule's name.
    claim
        Its claim.
    is_fitted
        Whether the model was fitted with it; otherwise it is only proposed.
    log_g
        Mean over the draws of its share of the log density; None after a projection,
        whose rules have none.
    best
        The largest value of that share; the best draw's, if the largest is unknown.
    log_likelihood
        The data's share of the log density.
    rows_in_region
        How many data rows the rule applies to; None for custom rules
        and for rules about slopes, which no row can violate.
    against
        Rows whose observation violates it by more than twice the noise's
        standard deviation; for classes, those to which the fit gives little
        probability.
    within_noise
        Rows whose observation violates it by no more than that.
    losing
        Rows whose log likelihood drops most because of it, worst first.
    pareto_k
        Pareto k of the weights that remove it from the draws, or add it; None after a
        projection.
    is_reweighted
        Whether those weights can be trusted.
    held_out
        Its effect on predictions of held-out rows; None when unknown.
    evidence
        Its log Bayes factor, if requested.
    is_class
        Whether the output is a class, which has no noise.
    distances
        After a projection: how far it moved each output at the data rows.
    """

    rule: str
    claim: str
    is_fitted: bool
    log_g: float | None
    best: float | None
    log_likelihood: float
    rows_in_region: int | None
    against: tuple[ContradictingRow, ...]
    within_noise: tuple[ContradictingRow, ...]
    losing: tuple[ContradictingRow, ...]
    pareto_k: float | None
    is_reweighted: bool
    held_out: HeldOut | None
    evidence: Evidence | None = None
    is_class: bool = False
    distances: tuple[Distance, ...] = ()

    @property
    def status(self) -> str:
        """One of "agrees", "pulls" (against the data) and "unknown"."""
        is_worse = self.held_out is not None and self.held_out.is_worse
        is_unlikely = self.evidence is not None and self.evidence.is_against
        if self._pulled or is_worse or is_unlikely:
            return "pulls"
        return "unknown" if self.held_out is None else "agrees"

    @property
    def _pulled(self) -> list[ContradictingRow]:
        return pulled(self.against, self.within_noise)

    def sentences(self) -> list[str]:
        """The findings in words, the conclusion first; each may be a `Sentence`."""
        return [
            *self._rows(),
            *self._price(),
            *self._predictions(),
            *self._bayes(),
        ]

    def _rows(self) -> Iterator[str]:
        name, claim = f"Rule {self.rule!r}", f"but the rule says {self.claim}"
        if self._pulled:
            rows, values = say_rows(self._pulled), say_values(self._pulled)
            yield f"{name} pulls against {rows} ({values}, {claim})."
        elif self.status == "pulls":
            yield f"{name} pulls against the data: they are less likely with it."
        elif self.status == "agrees":
            yield f"{name} agrees with the data."
        else:
            noise = "" if self.is_class else " beyond the noise"
            yield f"{name}: no row contradicts it{noise}."
        if self.rows_in_region == 0:
            yield (
                "No data row lies in its region, so only rows outside of it can "
                "contradict it."
            )
        elif self.rows_in_region and not self.against and not self.within_noise:
            count = self.rows_in_region
            yield f"All {count} rows in its region keep it."
        if self.within_noise:
            rows = self.within_noise
            yield f"{say_noise(rows)} ({say_values(rows)}, {claim})."
        yield from say_missed([*self.against, *self.within_noise])

    def _price(self) -> Iterator[str]:
        for distance in self.distances:
            yield f"Because of it, {distance}."
        if self.log_g is not None:
            yield (
                f"Its share of the log density is {self.log_g:.3g} on average, at best "
                f"{self.best:.3g}; that of the data {self.log_likelihood:.4g}."
            )

    def _predictions(self) -> Iterator[str]:
        held_out = self.held_out
        if held_out is None:
            do = "with it in place" if not self.is_fitted else "without it"
            values = {"do": do, "pareto_k": self.pareto_k}
            yield Sentence(Advice(Kind.COMPARE_AGAIN, self.rule, values))
            return
        size = f"{abs(held_out.change):.2g} ± {held_out.error:.2g}"
        if held_out.is_worse:
            yield f"Held-out log likelihood is {size} lower with it."
        elif held_out.is_better:
            yield f"Held-out log likelihood is {size} higher with it: it helps."
        else:
            yield (
                "Held-out log likelihood is the same with and without it (change "
                f"{held_out.change:.2g} ± {held_out.error:.2g})."
            )
        if held_out.rough > 0.1:
            yield (
                f"This is rough: for {share(held_out.rough)} of rows, the draws cannot "
                "tell what leaving the row out would change (Pareto k)."
            )
        if self.losing:
            drops = listing((f"{row.drop:.2g}" for row in self.losing if row.drop), 6)
            yield (
                f"The log likelihood drops most at {say_rows(self.losing)}, by {drops}."
            )

    def _bayes(self) -> Iterator[str]:
        if self.evidence is None:
            return
        value, error = self.evidence.log_bayes_factor, self.evidence.error
        word = "does not decide"
        if abs(value) > max(_SIGMAS * error, _STRONG):
            word = "is for it" if value > 0 else "is against it"
        yield f"The evidence {word}: log Bayes factor {value:.2f} ± {error:.2f} (SMC)."


@dataclasses.dataclass(frozen=True)
class ConflictReport(RulePages[RuleConflict]):
    """How well each rule agrees with the data. Print it, or iterate over its rules."""

    rules: tuple[RuleConflict, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON, by the rules' names."""
        return {
            rule.rule: {
                "status": rule.status,
                **plain(dataclasses.asdict(rule)),
                "sentences": rule.sentences(),
            }
            for rule in self.rules
        }

    def to_text(self, spelling: Spelling = in_python) -> str:
        """The page, with advice in the words of some readers."""
        if not self.rules:
            return "There are no rules, so nothing can pull against the data."
        return "\n\n".join(
            block(
                f"{rule.rule}: {rule.status}"
                + ("" if rule.is_fitted else " (proposed)"),
                spelled(rule.sentences(), spelling),
            )
            for rule in self.rules
        )
