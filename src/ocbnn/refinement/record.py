"""What a refinement did, run by run, and how well each rule held after each run."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ocbnn.core.warn import warn
from ocbnn.core.words import at_least, listing, share
from ocbnn.errors import InferenceWarning, StorageError
from ocbnn.storage import record_from_dict, record_to_dict


@dataclasses.dataclass(frozen=True)
class RuleRound:
    """How well one rule held after a run.

    Attributes
    ----------
    rule
        Its name.
    held
        Share of draws for which neither the search nor a test point found a violation.
    at_points
        Share of draws that violate it at the points where the density evaluates it.
    worst
        The least slack of all draws, in natural sizes; below zero if violated.
    slack
        Slack of the draws at their worst inputs: 5 %, 50 % and 95 % quantiles.
    strength
        The rule's weight in this run, per point if it was given no weight; γ of the
        paper's indicator.
    added
        How many points were added for the next run.
    """

    rule: str
    held: float
    at_points: float
    worst: float
    slack: tuple[float, float, float]
    strength: float
    added: int


@dataclasses.dataclass(frozen=True)
class Round:
    """One run, and what the search found in its draws.

    Attributes
    ----------
    is_full
        Whether it was as long as the plan says; other runs are shorter.
    draws
        How many draws were searched.
    error
        Error on the training rows: root mean squared, or the share of wrong classes.
    seconds
        Time of the run and the search together.
    rules
        How well each refined rule held.
    """

    is_full: bool
    draws: int
    error: float
    seconds: float
    rules: tuple[RuleRound, ...]

    @property
    def held(self) -> float:
        """The share of draws that keep the rule that is violated most often."""
        return min(rule.held for rule in self.rules)

    @property
    def added(self) -> int:
        """Points that were added, over all rules."""
        return sum(rule.added for rule in self.rules)

    def __str__(self) -> str:
        more = f", {self.added} points added" if self.added else ""
        return (
            f"{at_least(self.held)} of draws hold every rule, training error "
            f"{self.error:.4g}{more}"
        )


@dataclasses.dataclass(frozen=True)
class RefinementRecord:
    """What a refinement did, one entry for each run. The first has the rules as given.

    Attributes
    ----------
    target
        The share of draws that may violate a rule.
    error_is
        What the training error is.
    rounds
        The runs, in order; the last one made the model's draws.
    unsearched
        Rules that were to be refined and stayed as given, because no search can find
        where they are violated.
    """

    target: float
    error_is: str
    rounds: tuple[Round, ...]
    unsearched: tuple[str, ...] = ()

    @property
    def before(self) -> Round:
        """The first run, with the rules as they were given."""
        return self.rounds[0]

    @property
    def after(self) -> Round:
        """The last run, whose draws are the model's."""
        return self.rounds[-1]

    @property
    def is_met(self) -> bool:
        """Whether no rule is violated by more draws than the target allows."""
        return 1.0 - self.after.held <= self.target

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return record_to_dict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "RefinementRecord":
        """The record that `to_dict` wrote.

        Raises
        ------
        StorageError
            When a value is missing or has the wrong type.
        """
        record = record_from_dict(cls, document, "refinement")
        if not record.rounds:
            raise StorageError("the record of the refinement is damaged: no rounds.")
        return record

    def __str__(self) -> str:
        head = f"Refinement in {len(self.rounds)} runs, aiming at "
        lines = [f"{head}{at_least(1 - self.target)} of draws that hold each rule"]
        for number, run in enumerate(self.rounds):
            length = "in full" if run.is_full else "short"
            lines.append(f"  run {number + 1}, {length}: {run} ({run.seconds:.1f} s)")
            lines += [f"    {_rule_line(rule)}" for rule in run.rules]
        lines.append(f"  {self.error_is} is the training error")
        if self.unsearched:
            names = listing(self.unsearched)
            lines.append(f"  cannot be searched, and stay as given: {names}")
        return "\n".join(lines)


def _rule_line(rule: RuleRound) -> str:
    low, middle, _ = rule.slack
    return (
        f"{rule.rule}: {at_least(rule.held)} hold it, weight {rule.strength:.4g}, "
        f"slack left {low:.3f} (5 %) and {middle:.3f} (median), least {rule.worst:.3f}"
    )


def warn_if_unmet(record: RefinementRecord) -> None:
    """Warn if more draws than the target allows still violate a rule."""
    if record.is_met:
        return
    worst = min(record.after.rules, key=lambda rule: rule.held)
    before = next(rule for rule in record.before.rules if rule.rule == worst.rule)
    rounds = len(record.rounds) - 1
    warn(
        f"after {rounds} round{'s' * (rounds != 1)} of refinement, rule "
        f"{worst.rule!r} is still violated somewhere by {share(1 - worst.held)} of "
        f"the draws ({share(1 - before.held)} before refinement); at most "
        f'{share(record.target)} are allowed. Write strength="firm" if it is not, '
        "allow more rounds, refine=10, or look at its worst inputs: the data may "
        "contradict it.",
        InferenceWarning,
    )
