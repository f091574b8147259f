"""A fitted model's report, as values and on a page."""

import dataclasses
from typing import Any

import numpy as np

from ocbnn.analysis.run_numbers import Number
from ocbnn.core.advice import Spelling
from ocbnn.core.page import Page, block
from ocbnn.core.plain import plain
from ocbnn.core.sentences import in_python, spelled
from ocbnn.core.words import share
from ocbnn.inference import Verdict
from ocbnn.metrics.hard_rules import HardRuleRecord
from ocbnn.metrics.rules import RuleCheck
from ocbnn.refinement.projected import ProjectionRecord

# The lines about the fit, in this order.
_FIT_LINES = (
    "data",
    "network",
    "relevance",
    "noise",
    "inference",
    "chosen",
    "settings",
)


@dataclasses.dataclass(frozen=True)
class RuleReport:
    """How well one rule holds, how well its penalty mixes, and whether weights undo it.

    Attributes
    ----------
    rule
        The rule's name.
    text
        The rule.
    check
        How well it holds; None for custom rules, which cannot be checked.
    log_g
        Mean over the draws of its share of the log density; NaN if it has none.
    rhat
        R-hat of that share; None if it has no meaning or never changes.
    ess
        Its effective sample size, likewise.
    mixing
        Those two in words; empty if they have no meaning.
    pareto_k
        Pareto k of the weights that would remove the rule from the draws.
    is_removable
        Whether those weights can be trusted.
    advice
        What to do next.
    role
        Its effect on the fit; None if only a second fit can tell.
    is_priced
        Whether the target had a penalty for it; that of projected draws had none.
    """

    rule: str
    text: str
    check: RuleCheck | None
    log_g: float
    rhat: float | None
    ess: float | None
    mixing: str
    pareto_k: float
    is_removable: bool
    advice: tuple[str, ...] = ()
    role: str | None = None
    is_priced: bool = True


@dataclasses.dataclass(frozen=True)
class Report(Page):
    """What was fitted, whether to trust it, and what to do next. Print it.

    Attributes
    ----------
    fitted
        Rows, columns, network, algorithm, settings and time.
    verdict
        The judgement in words.
    numbers
        The numbers behind it.
    places
        Where in input space the draws disagree, in words.
    rules
        How each rule holds.
    advice
        What to do next, for every number that is not good.
    held
        What hard rules have cost; None without any.
    projection
        What a projection onto the rules did; None without one.
    """

    fitted: dict[str, Any]
    verdict: Verdict
    numbers: tuple[Number, ...]
    places: tuple[str, ...]
    rules: tuple[RuleReport, ...]
    advice: tuple[str, ...]
    held: HardRuleRecord | None = None
    projection: ProjectionRecord | None = None

    def to_dict(self, spelling: Spelling = in_python) -> dict[str, Any]:
        """Everything as plain values, ready for JSON; None for NaN."""
        document = {
            "fitted": plain(self.fitted),
            "verdict": plain(dataclasses.asdict(self.verdict)),
            "numbers": {number.key: plain(number.value) for number in self.numbers},
            "places": list(self.places),
            "rules": {
                rule.rule: plain(dataclasses.asdict(rule)) for rule in self.rules
            },
            "advice": list(self.advice),
            **({} if self.held is None else {"held": self.held.to_dict()}),
            **(
                {}
                if self.projection is None
                else {"projection": plain(self.projection.to_dict())}
            ),
        }
        return spelled(document, spelling)

    def to_text(self, spelling: Spelling = in_python) -> str:
        """The page, with advice in the words of some readers."""
        advice = spelled(self.advice, spelling)
        sentences = spelled(self.verdict.sentences, spelling)
        blocks = [
            block(self.fitted["title"], spelled(self._fitted_lines(), spelling)),
            block(f"Verdict: {self.verdict.status}", sentences),
            block("Numbers", [_number_line(n) for n in self.numbers], wrap=False),
            block("Where draws disagree", self.places),
            block("Rules", [line for rule in self.rules for line in _lines_of(rule)]),
            block(
                "Projection",
                [] if self.projection is None else self.projection.lines(),
            ),
            block(
                "Hard rules", [] if self.held is None else str(self.held).split("\n")
            ),
            block("What to do next", [f"{i}. {s}" for i, s in enumerate(advice, 1)]),
        ]
        return "\n\n".join(block for block in blocks if block)

    def _fitted_lines(self) -> list[str]:
        return [self.fitted[key] for key in _FIT_LINES if key in self.fitted]


def _number_line(number: Number) -> str:
    mark = "!" if number.is_good is False else " "
    return f"{mark} {number.name:<36}{number.text:>16}  {number.wanted}".rstrip()


def _lines_of(rule: RuleReport) -> list[str]:
    lines = [rule.text]
    if rule.check is None:
        lines.append("  A custom rule, which cannot be checked.")
    else:
        lines.append(f"  {_holding(rule.check)}")
    if rule.is_priced:
        lines.append(f"  {_price(rule)}")
    if rule.role is not None:
        lines.append(f"  {rule.role}")
    return lines


def _holding(check: RuleCheck) -> str:
    if check.violation == 0:
        sentence = "Holds at every point tried, in every draw."
    else:
        sentence = (
            f"Violated in {share(check.violation)} of (draw, point) pairs, by "
            f"{share(check.draws_violating)} of draws somewhere."
        )
    if check.rows_in_region and check.data_violation is not None:
        count = check.rows_in_region
        sentence += (
            f" {count} data row{'s' * (count > 1)} in its region, "
            f"{share(check.data_violation)} of them violate it."
        )
    return sentence if check.remark is None else f"{sentence} ({check.remark}.)"


def _price(rule: RuleReport) -> str:
    mixed = f" ({rule.mixing})" if rule.mixing else ""
    k = (
        "all draws weigh the same without it"
        if np.isneginf(rule.pareto_k)
        else f"Pareto k without it {rule.pareto_k:.2f}"
        + ("" if rule.is_removable else ", and weights cannot take it out")
    )
    return f"Its share log g: {rule.log_g:.3g} on average{mixed}; {k}."
