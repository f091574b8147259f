"""How a rule and the data get on, in words: plain data and a page of text."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from ocbnn.estimators.page import RulePages, block, listed, plain
from ocbnn.estimators.rows_against import (
    Row,
    pulled,
    say_missed,
    say_noise,
    say_rows,
    say_values,
)

# A change of log likelihood that is nothing beside its own error, or next to nothing.
_SIGMAS, _SMALL = 2.0, 1.0
# A log Bayes factor that is commonly called strong: odds of twenty to one.
_STRONG = 3.0


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Log likelihood of held-out rows with the rule, less the same without it.

    Attributes:
        change: Summed over rows; below zero when the rule makes predictions worse.
        error: Its standard error over rows.
        how: "reweighted" from one fit, or "refitted" with and without the rule.
        rough: The share of rows at which leaving them out is not to be trusted.
    """

    change: float
    error: float
    how: str
    rough: float

    @property
    def is_worse(self) -> bool:
        """Whether predictions are clearly worse with the rule."""
        return -self.change > max(_SIGMAS * self.error, _SMALL)

    @property
    def is_better(self) -> bool:
        """Whether they are clearly better."""
        return self.change > max(_SIGMAS * self.error, _SMALL)


@dataclasses.dataclass(frozen=True)
class Evidence:
    """Log Bayes factor of the rule: how much better the data are foretold with it.

    Attributes:
        log_bayes_factor: log p(D | with the rule) - log p(D | without it).
        error: Its Monte Carlo standard deviation, from how populations differ.
    """

    log_bayes_factor: float
    error: float

    @property
    def is_against(self) -> bool:
        """Whether the data speak clearly against the rule."""
        return -self.log_bayes_factor > max(_SIGMAS * self.error, _STRONG)


@dataclasses.dataclass(frozen=True)
class RuleConflict:
    """How one rule and the data get on.

    Attributes:
        rule: The rule's name.
        claim: What it says.
        is_fitted: Whether the model was fitted with it; else it is only proposed.
        log_g: Mean over the draws of its share of the log density.
        best: The most that share can be; what the best draw has, where no one knows.
        log_likelihood: The data's own share.
        rows_in_region: How many data rows the rule speaks about; None for custom rules
            and for rules about slopes, which no row can break.
        against: Rows whose observation breaks it by more than twice the noise's
            standard deviation; of classes, those that the fit hardly expects.
        within_noise: Rows whose observation breaks it by no more than that.
        losing: Rows whose log likelihood drops most under it, worst first.
        pareto_k: Of the weights that take it out of the draws, or into them.
        is_reweighted: Whether those weights can be trusted.
        held_out: What it does to predictions of held-out rows; None when unknown.
        evidence: Its log Bayes factor, if asked for.
        is_class: Whether the output is a class, which has no noise.
    """

    rule: str
    claim: str
    is_fitted: bool
    log_g: float
    best: float
    log_likelihood: float
    rows_in_region: int | None
    against: tuple[Row, ...]
    within_noise: tuple[Row, ...]
    losing: tuple[Row, ...]
    pareto_k: float
    is_reweighted: bool
    held_out: HeldOut | None
    evidence: Evidence | None = None
    is_class: bool = False

    @property
    def status(self) -> str:
        """One of "agrees", "pulls" (against the data) and "unknown"."""
        is_worse = self.held_out is not None and self.held_out.is_worse
        is_unlikely = self.evidence is not None and self.evidence.is_against
        if self._pulled or is_worse or is_unlikely:
            return "pulls"
        return "unknown" if self.held_out is None else "agrees"

    @property
    def _pulled(self) -> list[Row]:
        return pulled(self.against, self.within_noise)

    def sentences(self) -> list[str]:
        """The findings in words, the conclusion first."""
        return [
            *self._rows(),
            self._price(),
            *self._predictions(),
            *self._bayes(),
        ]

    def _rows(self) -> Iterator[str]:
        name, said = f"Rule {self.rule!r}", f"but the rule says {self.claim}"
        if self._pulled:
            rows, values = say_rows(self._pulled), say_values(self._pulled)
            yield f"{name} pulls against {rows} ({values}, {said})."
        elif self.status == "pulls":
            yield f"{name} pulls against the data: they are less likely with it."
        elif self.status == "agrees":
            yield f"{name} agrees with the data."
        else:
            noise = "" if self.is_class else " beyond the noise"
            yield f"{name}: no row contradicts it{noise}."
        if self.rows_in_region == 0:
            yield (
                "No data row lies in its region, so data can contradict it only from "
                "outside."
            )
        elif self.rows_in_region and not self.against and not self.within_noise:
            count = self.rows_in_region
            yield f"All {count} rows in its region keep it."
        if self.within_noise:
            few = self.within_noise
            yield f"{say_noise(few)} ({say_values(few)}, {said})."
        yield from say_missed([*self.against, *self.within_noise])

    def _price(self) -> str:
        return (
            f"Its share of the log density is {self.log_g:.3g} on average, at best "
            f"{self.best:.3g}; that of the data {self.log_likelihood:.4g}."
        )

    def _predictions(self) -> Iterator[str]:
        found = self.held_out
        if found is None:
            do = "with it in place" if not self.is_fitted else "without it"
            yield (
                f"What the model would say {do} cannot be told from these draws "
                f"(Pareto k {self.pareto_k:.2f}): conflicts(refit=True) fits again "
                f"{do}."
            )
            return
        size = f"{abs(found.change):.2g} ± {found.error:.2g}"
        if found.is_worse:
            yield f"Held-out log likelihood is {size} lower with it."
        elif found.is_better:
            yield f"Held-out log likelihood is {size} higher with it: it helps."
        else:
            yield (
                "Held-out log likelihood is the same with and without it (change "
                f"{found.change:.2g} ± {found.error:.2g})."
            )
        if found.rough > 0.1:
            yield (
                f"That is rough: at {found.rough:.0%} of rows leaving one out changes "
                "too much to be told from the draws (Pareto k)."
            )
        if self.losing:
            drops = listed(f"{row.drop:.2g}" for row in self.losing if row.drop)
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
    """How each rule gets on with the data. Print it, or go through it rule by rule."""

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

    def __str__(self) -> str:
        if not self.rules:
            return "There are no rules, so nothing can pull against the data."
        return "\n\n".join(
            block(
                f"{rule.rule}: {rule.status}"
                + ("" if rule.is_fitted else " (proposed)"),
                rule.sentences(),
            )
            for rule in self.rules
        )
