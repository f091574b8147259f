"""What a report says: plain data, a page of text, a dictionary."""

import dataclasses
from typing import Any

import numpy as np

from ocbnn.estimators.page import Page, block, plain, share
from ocbnn.inference import Verdict
from ocbnn.metrics.held import Held
from ocbnn.metrics.rules import RuleCheck


@dataclasses.dataclass(frozen=True)
class Number:
    """One number about the draws.

    Attributes:
        key: Its name in `to_dict`.
        name: Its name for people.
        value: The number, or several.
        text: How it is printed.
        wanted: What would be good, in words; empty where nothing is.
        is_good: Whether it is; None where nothing can be said.
        advice: What to do next, where it is not.
    """

    key: str
    name: str
    value: float | tuple[float, ...]
    text: str
    wanted: str = ""
    is_good: bool | None = None
    advice: str = ""


@dataclasses.dataclass(frozen=True)
class RuleReport:
    """How one rule holds, how its price has mixed, and whether it can be undone.

    Attributes:
        rule: The rule's name.
        text: The rule.
        check: How well it holds; None for custom rules, which nothing can break.
        log_g: Mean over the draws of its share of the log density.
        rhat: R-hat of that share; None where it has no meaning or never changes.
        ess: Its effective sample size, likewise.
        mixing: Those two in words; empty where they have no meaning.
        pareto_k: Of the weights that would take the rule out of the draws.
        is_removable: Whether those weights can be trusted.
        advice: What to do next.
        role: What it does to the fit; None where only a second fit would tell.
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


@dataclasses.dataclass(frozen=True)
class Report(Page):
    """What was fitted, whether to trust it, and what to do next. Print it.

    Attributes:
        fitted: Rows, columns, network, algorithm, settings and time.
        verdict: The judgement in words.
        numbers: What it rests on.
        places: Where in input space the draws disagree, in words.
        rules: How each rule holds.
        advice: What to do next, for every number that is not good.
        held: What hard rules have cost; None without any.
    """

    fitted: dict[str, Any]
    verdict: Verdict
    numbers: tuple[Number, ...]
    places: tuple[str, ...]
    rules: tuple[RuleReport, ...]
    advice: tuple[str, ...]
    held: Held | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON; None for what is no number."""
        return {
            "fitted": plain(self.fitted),
            "verdict": plain(dataclasses.asdict(self.verdict)),
            "numbers": {number.key: plain(number.value) for number in self.numbers},
            "places": list(self.places),
            "rules": {
                rule.rule: plain(dataclasses.asdict(rule)) for rule in self.rules
            },
            "advice": list(self.advice),
            **({} if self.held is None else {"held": self.held.to_dict()}),
        }

    def __str__(self) -> str:
        blocks = [
            block(self.fitted["title"], self._fitted_lines()),
            block(f"Verdict: {self.verdict.status}", self.verdict.sentences),
            block("Numbers", [_number_line(n) for n in self.numbers], wrap=False),
            block("Where draws disagree", self.places),
            block("Rules", [line for rule in self.rules for line in _lines_of(rule)]),
            block(
                "Hard rules", [] if self.held is None else str(self.held).split("\n")
            ),
            block(
                "What to do next",
                [f"{i}. {one}" for i, one in enumerate(self.advice, 1)],
            ),
        ]
        return "\n\n".join(block for block in blocks if block)

    def _fitted_lines(self) -> list[str]:
        return [
            self.fitted[key]
            for key in ("data", "network", "noise", "inference", "chosen", "settings")
            if key in self.fitted
        ]


def _number_line(number: Number) -> str:
    mark = "!" if number.is_good is False else " "
    return f"{mark} {number.name:<36}{number.text:>16}  {number.wanted}".rstrip()


def _lines_of(rule: RuleReport) -> list[str]:
    lines = [rule.text]
    if rule.check is None:
        lines.append("  A custom rule: nothing can break it.")
    else:
        lines.append(f"  {_holding(rule.check)}")
    lines.append(f"  {_price(rule)}")
    if rule.role is not None:
        lines.append(f"  {rule.role}")
    return lines


def _holding(check: RuleCheck) -> str:
    if check.violation == 0:
        said = "Holds at every point tried, in every draw."
    else:
        said = (
            f"Broken in {share(check.violation)} of (draw, point) pairs, by "
            f"{share(check.draws_violating)} of draws somewhere."
        )
    if check.rows_in_region and check.data_violation is not None:
        count = check.rows_in_region
        said += (
            f" {count} data row{'s' * (count > 1)} in its region, "
            f"{share(check.data_violation)} of them break it."
        )
    return said if check.remark is None else f"{said} ({check.remark}.)"


def _price(rule: RuleReport) -> str:
    mixed = f" ({rule.mixing})" if rule.mixing else ""
    k = (
        "all draws weigh the same without it"
        if np.isneginf(rule.pareto_k)
        else f"Pareto k without it {rule.pareto_k:.2f}"
        + ("" if rule.is_removable else ", and weights cannot take it out")
    )
    return f"Its share log g: {rule.log_g:.3g} on average{mixed}; {k}."
