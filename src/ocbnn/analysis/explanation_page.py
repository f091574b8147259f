"""A rule's effect on a fit, as values and in words."""

import dataclasses
from collections.abc import Iterator
from typing import Any

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
from ocbnn.core.words import share
from ocbnn.metrics.binding import Binding
from ocbnn.metrics.places import Place

# A rule that would be violated less often than this without it is idle.
_IDLE = 0.01
# From this share of points on, a rule binds "everywhere".
_EVERYWHERE = 0.9
# Up to this share of points, it binds "nowhere".
_RARELY = 0.05
# Changes of spread: up to the first there is none, up to the second hardly any, and
# above the third it is not an accident of few draws.
_NO_CHANGE, _SMALL_CHANGE, _CLEAR_CHANGE = 0.005, 0.1, 0.25


@dataclasses.dataclass(frozen=True)
class Range:
    """Where a rule binds along one input, compared with its region.

    Attributes
    ----------
    input
        The input's name.
    low
        The least value at a point where the rule binds.
    median
        The median over such points.
    high
        The greatest.
    region_low
        The least value among all points of the region.
    region_high
        The greatest.
    """

    input: str
    low: float
    median: float
    high: float
    region_low: float
    region_high: float


@dataclasses.dataclass(frozen=True)
class Spread:
    """How uncertain the function is without a rule and with it.

    All are standard deviations over draws, averaged over points.

    Attributes
    ----------
    output
        The output, or for classes the probability of the allowed ones.
    without
        In the rule's region, without the rule.
    with_rule
        In the region, with it.
    near_without
        Just outside of the region, without the rule; None if there is no outside.
    near_with
        Just outside, with it.
    """

    output: str
    without: float
    with_rule: float
    near_without: float | None = None
    near_with: float | None = None

    @property
    def removed(self) -> float:
        """The share of the spread that the rule removed; negative if it added some."""
        return 1.0 - self.with_rule / self.without if self.without > 0 else 0.0


@dataclasses.dataclass(frozen=True)
class Explanation:
    """One rule's effect: where it binds, what it removes, which rows contradict it.

    Attributes
    ----------
    rule
        The rule's name.
    text
        The rule.
    claim
        What it says about the outputs.
    how
        How the posterior without it was estimated: "reweighted" from the draws,
        "refitted", "projected" (the draws, moved onto the other rules only), or
        "unknown" if it was not, and nothing below is known.
    pareto_k
        Pareto k of the weights that would remove it from the draws; None after a
        projection.
    verdict
        How far the second fit can be trusted, in a word; empty without one.
    binding
        How often it would be violated without itself; None when unknown, and
        for rules that cannot be checked.
    violation
        How often it is violated with itself in place, likewise.
    ranges
        Where it binds along each input; empty if it binds nowhere.
    places
        Where it binds most, in words.
    elsewhere
        The share of the other points at which it binds, too.
    spreads
        Its effect on uncertainty, for each output that it mentions.
    rows_in_region
        How many data rows it applies to; None if no row can violate it.
    against
        Rows whose observation violates it by more than twice the noise's
        standard deviation; for classes, those to which the fit gives little
        probability.
    within_noise
        Rows whose observation violates it by no more than that.
    follows
        From which other rules it follows, in a sentence; None if from none.
    has_others
        Whether the model has other rules.
    """

    rule: str
    text: str
    claim: str
    how: str
    pareto_k: float | None
    verdict: str
    binding: Binding | None
    violation: float | None
    ranges: tuple[Range, ...]
    places: tuple[Place, ...]
    spreads: tuple[Spread, ...]
    rows_in_region: int | None
    against: tuple[ContradictingRow, ...]
    within_noise: tuple[ContradictingRow, ...]
    follows: str | None = None
    has_others: bool = False
    elsewhere: float = 0.0

    @property
    def pulled(self) -> list[ContradictingRow]:
        """Rows that it pulls against: those against it, and others the fit misses."""
        return pulled(self.against, self.within_noise)

    @property
    def status(self) -> str:
        """One of "pulls" (against rows), "works", "idle" and "unknown"."""
        if self.pulled:
            return "pulls"
        if self.how == "unknown":
            return "unknown"
        return "works" if self._work() else "idle"

    @property
    def sentence(self) -> str:
        """The status in one sentence."""
        name = f"Rule {self.rule!r}"
        if self.status == "unknown":
            return Sentence(
                f"{name}: its effect cannot be estimated from these draws; ",
                Advice(Kind.EXPLAIN_AGAIN, self.rule),
                ".",
            )
        if self.status == "idle":
            return f"{name} is idle: {self._keepers} keep it."
        work = self._work()
        if self.pulled:
            also = f", and {work}" if work else ""
            return f"{name} pulls against {say_rows(self.pulled)}{also}."
        return f"{name} {work}."

    def sentences(self) -> list[str]:
        """The findings in words, the conclusion first; each may be a `Sentence`."""
        return [
            self.sentence,
            *self._where(),
            *self._uncertainty(),
            *self._rows(),
            *self._others(),
            *self._doubts(),
        ]

    @property
    def _keepers(self) -> str:
        return "the data and the other rules" if self.has_others else "the data alone"

    def _work(self) -> str:
        binding = self.binding
        if binding is not None and (binding.points > 0 or binding.pairs >= _IDLE):
            if binding.points > 0:
                return f"does the work at {share(binding.points)} of its region"
            return f"does a little: {share(binding.pairs)} of cases would violate it"
        if not any(abs(spread.removed) > _CLEAR_CHANGE for spread in self.spreads):
            return ""
        keep = "" if binding is None else ", which would keep it without it"
        return f"changes the functions in its region{keep}"

    def _where(self) -> Iterator[str]:
        binding = self.binding
        if binding is None or self.violation is None:
            return
        if binding.pairs > 0:
            mostly = f"; at {share(binding.mostly)} of its points, most functions would"
            yield (
                f"Without it functions would violate it in {share(binding.pairs)} of "
                f"cases (with it {share(self.violation)})"
                f"{mostly * (binding.mostly > 0)}."
            )
        if binding.points > _EVERYWHERE:
            yield "It binds everywhere in its region."
        elif self.places:
            where = " and ".join(map(_say_place, self.places))
            if self.elsewhere > _RARELY:
                most = f"It binds most {where}, and at {share(self.elsewhere)}"
                yield f"{most} of the points elsewhere."
            else:
                yield f"It binds {where}; elsewhere {self._keepers} keep it."

    def _uncertainty(self) -> Iterator[str]:
        for spread in self.spreads:
            word = "removed" if spread.removed > 0 else "added"
            changed = share(round(abs(spread.removed), 2))
            if abs(spread.removed) <= _SMALL_CHANGE:
                kept = "stays" if abs(spread.removed) < _NO_CHANGE else "hardly changes"
                size = (
                    "" if abs(spread.removed) < _NO_CHANGE else f" ({changed} {word})"
                )
                yield (
                    f"The standard deviation of {spread.output} in its region {kept}: "
                    f"{spread.without:.3g} without it, {spread.with_rule:.3g} with "
                    f"it{size}."
                )
                continue
            near = ""
            if spread.near_with is not None and spread.near_without is not None:
                near = f"; just outside, from {spread.near_without:.3g} to "
                near += f"{spread.near_with:.3g}"
            yield (
                f"It takes the standard deviation of {spread.output} in its region "
                f"from {spread.without:.3g} to {spread.with_rule:.3g} "
                f"({changed} {word}){near}."
            )

    def _rows(self) -> Iterator[str]:
        claim = f"but the rule says {self.claim}"
        if self.against:
            rows, values = say_rows(self.against), say_values(self.against)
            yield f"Against it: {rows} ({values}, {claim})."
        if self.within_noise:
            rows = self.within_noise
            yield f"{say_noise(rows)} ({say_values(rows)}, {claim})."
        yield from say_missed([*self.against, *self.within_noise])
        if self.rows_in_region == 0:
            yield "No data row lies in its region."
        elif self.rows_in_region and not self.against and not self.within_noise:
            rows = self.rows_in_region
            all_of_them = f"All {rows} rows" if rows > 1 else "The one row"
            yield f"{all_of_them} in its region keep{'s' * (rows == 1)} it."

    def _others(self) -> Iterator[str]:
        if self.follows is None:
            return
        yield self.follows
        if self.status == "works" and self.has_others:
            yield "It only adds to the penalty of what they forbid already."

    def _doubts(self) -> Iterator[str]:
        if self.how == "reweighted":
            yield "The posterior without it was estimated by reweighting the draws."
        elif self.how == "refitted":
            rough = ""
            if self.verdict in ("poor", "unknown"):
                rough = f", whose verdict is {self.verdict!r}: the numbers are rough"
            yield f"The posterior without it comes from a second fit{rough}."
        elif self.how == "projected":
            onto = ", moved onto the other rules only" * self.has_others
            yield f"The functions without it are the original draws{onto}."


@dataclasses.dataclass(frozen=True)
class Explanations(RulePages[Explanation]):
    """The effect of each rule. Print it, or iterate over its rules.

    Attributes
    ----------
    rules
        An explanation for each of the chosen rules.
    contradiction
        Rules that cannot all hold, in words; None if there are none.
    """

    rules: tuple[Explanation, ...]
    contradiction: str | None = None

    def to_dict(self, spelling: Spelling = in_python) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        document = {
            "contradiction": self.contradiction,
            "rules": {
                rule.rule: {
                    "status": rule.status,
                    "sentence": rule.sentence,
                    **plain(dataclasses.asdict(rule)),
                    "sentences": rule.sentences(),
                }
                for rule in self.rules
            },
        }
        return spelled(document, spelling)

    def to_text(self, spelling: Spelling = in_python) -> str:
        """The page, with advice in the words of some readers."""
        if not self.rules:
            return "There are no rules to explain."
        blocks = [
            (f"{rule.rule}: {rule.status}", [rule.text, *rule.sentences()])
            for rule in self.rules
        ]
        if self.contradiction:
            blocks.append(("Rules that contradict each other", [self.contradiction]))
        pages = [block(title, spelled(lines, spelling)) for title, lines in blocks]
        return "\n\n".join(pages)


def _say_place(place: Place) -> str:
    if place.input is None:
        return "everywhere"
    low, high = place.spelled(digits=3)
    if place.low == place.high:
        return f"where {place.input} is {low}"
    is_everywhere = place.share > _EVERYWHERE
    often = "" if is_everywhere else f" ({share(place.share)} of points there)"
    return f"where {place.input} is between {low} and {high}{often}"
