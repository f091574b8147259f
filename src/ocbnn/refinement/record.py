"""What a refinement did, run by run, and how well each rule held after each run."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ocbnn.core.warn import warn
from ocbnn.core.words import at_least, listing
from ocbnn.errors import InferenceWarning, StorageError


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
        Share of draws that break it at the points where the density evaluates it.
    worst
        The least slack of all draws, in natural sizes; below zero if broken.
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
        """The share of draws that keep the rule that is broken most often."""
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
        The share of draws that may break a rule.
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
        """Whether no rule is broken by more draws than the target allows."""
        return 1.0 - self.after.held <= self.target

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return {
            **dataclasses.asdict(self),
            "rounds": [*map(_plain, self.rounds)],
            "unsearched": list(self.unsearched),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "RefinementRecord":
        """The record that `to_dict` wrote.

        Raises
        ------
        StorageError
            When a value is missing or has the wrong type.
        """
        try:
            rounds = tuple(_round(entry) for entry in document["rounds"])
            if not rounds:
                raise ValueError("there is no round")
            # Files of earlier versions do not name any.
            unsearched = tuple(str(name) for name in document.get("unsearched", ()))
            target, error_is = float(document["target"]), str(document["error_is"])
            return cls(target, error_is, rounds, unsearched)
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(
                f"the record of the refinement is damaged: {error}."
            ) from None

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


def _plain(run: Round) -> dict[str, Any]:
    rules = [
        {**dataclasses.asdict(rule), "slack": list(rule.slack)} for rule in run.rules
    ]
    return {**dataclasses.asdict(run), "rules": rules}


def _round(entry: Mapping[str, Any]) -> Round:
    rules = tuple(
        RuleRound(
            rule=str(rule["rule"]),
            held=float(rule["held"]),
            at_points=float(rule["at_points"]),
            worst=float(rule["worst"]),
            slack=(
                float(rule["slack"][0]),
                float(rule["slack"][1]),
                float(rule["slack"][2]),
            ),
            strength=float(rule["strength"]),
            added=int(rule["added"]),
        )
        for rule in entry["rules"]
    )
    return Round(
        is_full=bool(entry["is_full"]),
        draws=int(entry["draws"]),
        error=float(entry["error"]),
        seconds=float(entry["seconds"]),
        rules=rules,
    )


def warn_if_unmet(record: RefinementRecord) -> None:
    """Warn if more draws than the target allows still break a rule."""
    if record.is_met:
        return
    worst = min(record.after.rules, key=lambda rule: rule.held)
    warn(
        f"after {len(record.rounds) - 1} rounds of refinement, rule {worst.rule!r} is "
        f"still broken somewhere by {1 - worst.held:.1%} of the draws "
        f"({1 - record.before.rules[0].held:.1%} before refinement); at most "
        f'{record.target:.1%} are allowed. Write strength="firm" if it is not, allow '
        "more rounds, refine=10, or look at its worst inputs: the data may contradict "
        "it.",
        InferenceWarning,
    )
