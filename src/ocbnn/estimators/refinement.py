"""What a person asks of a refinement, and the record of what it found."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ocbnn.core.errors import SettingError, StorageError
from ocbnn.rules import BoundRule

_WHOLE = ("rounds", "starts", "steps", "test_points")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Refinement:
    """How rules are refined: searched for violations, and felt where there are any.

    Attributes:
        rounds: How often points are added and the model is fitted again, at most.
        target: The share of draws that may break a rule in the end.
        points: Room for found points, for every rule; None: as many as the rule has of
            its own, and at least 10 for each input; 50 where points do not walk.
        starts: From how many places every draw's worst input is searched.
        steps: How many steps from each of them.
        test_points: Fresh points of the region that are looked at besides.
    """

    rounds: int = 10
    target: float = 0.01
    points: int | None = None
    starts: int = 64
    steps: int = 40
    test_points: int = 1000

    def __post_init__(self) -> None:
        for name in (*_WHOLE, *(() if self.points is None else ("points",))):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or value < 1:
                raise SettingError(
                    f"Refinement({name}=...) must be a whole number above zero, got "
                    f"{value!r}. Write Refinement({name}={_EXAMPLES[name]})."
                )
        if not isinstance(self.target, (int, float)) or not 0 < self.target < 1:
            raise SettingError(
                "Refinement(target=...) is the share of draws that may break a rule, "
                f"between 0 and 1, got {self.target!r}. Write Refinement(target=0.01)."
            )


_EXAMPLES = {
    "rounds": 10,
    "starts": 64,
    "steps": 40,
    "test_points": 1000,
    "points": 100,
}


def as_refinement(refine: object, rules: tuple[BoundRule, ...]) -> Refinement | None:
    """The refinement that `fit(refine=...)` asks for; None when there is none.

    Left out, firm and hard rules ask for one.

    Raises:
        SettingError: When it is something else, or there is no rule to refine.
    """
    if refine is False:
        return None
    if refine is None:
        return Refinement() if any(is_strict(bound) for bound in rules) else None
    if isinstance(refine, Refinement):
        found = refine
    elif refine is True:
        found = Refinement()
    elif isinstance(refine, int):
        found = Refinement(rounds=refine)
    else:
        raise SettingError(
            "refine must be True, False, a number of rounds or a Refinement, got "
            f"{refine!r}. Write refine=5."
        )
    if not any(bound.is_checkable for bound in rules):
        raise SettingError(
            "refine looks for inputs at which rules are broken, and no rule of this "
            "model can be. Add a rule, or leave refine out."
        )
    return found


def is_strict(bound: BoundRule) -> bool:
    """Whether a rule is to be held whatever it takes: firm or hard.

    A class that a hard rule forbids is masked, which takes nothing.
    """
    is_masked = bound.rule.held == "hard" and bound.schema.is_classification
    return bound.rule.held != "soft" and bound.is_checkable and not is_masked


@dataclasses.dataclass(frozen=True)
class RuleRound:
    """How one rule stood after a run.

    Attributes:
        rule: Its name.
        held: Share of draws that no search and no test point caught breaking it.
        at_points: Share of draws that break it where it was felt.
        worst: The least slack of all draws, in natural sizes; below zero: broken.
        slack: That of every draw at its worst input: 5 %, 50 % and 95 % quantiles.
        strength: What a violation cost in this run: γ, or the weight of other rules.
        added: How many points were found and added for the next run.
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

    Attributes:
        is_full: Whether it was run as long as the plan says; others are shorter.
        draws: How many draws were searched.
        error: On the training rows: root mean squared, or the share of wrong classes.
        seconds: Of the run and the search together.
        rules: How each refined rule stood.
    """

    is_full: bool
    draws: int
    error: float
    seconds: float
    rules: tuple[RuleRound, ...]

    @property
    def held(self) -> float:
        """The share of draws that hold the rule that is broken most."""
        return min(one.held for one in self.rules)

    @property
    def added(self) -> int:
        """Points that were added, over all rules."""
        return sum(one.added for one in self.rules)

    def __str__(self) -> str:
        more = f", {self.added} points added" if self.added else ""
        return (
            f"{_percent(self.held)} of draws hold every rule, training error "
            f"{self.error:.4g}{more}"
        )


@dataclasses.dataclass(frozen=True)
class RefinementRecord:
    """What a refinement did: one entry for each run, the first with the rules as given.

    Attributes:
        target: The share of draws that may break a rule.
        error_is: What the training error is.
        rounds: The runs, in order; the last one made the model's draws.
    """

    target: float
    error_is: str
    rounds: tuple[Round, ...]

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
        return {**dataclasses.asdict(self), "rounds": [*map(_plain, self.rounds)]}

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> "RefinementRecord":
        """The record that `to_dict` wrote.

        Raises:
            StorageError: When something is missing or of another kind.
        """
        try:
            rounds = tuple(_round(one) for one in said["rounds"])
            if not rounds:
                raise ValueError("there is no round")
            return cls(float(said["target"]), str(said["error_is"]), rounds)
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(
                f"the record of the refinement is damaged: {error}."
            ) from None

    def __str__(self) -> str:
        head = f"Refinement in {len(self.rounds)} runs, aiming at "
        lines = [f"{head}{_percent(1 - self.target)} of draws that hold each rule"]
        for number, one in enumerate(self.rounds):
            length = "in full" if one.is_full else "short"
            lines.append(f"  run {number + 1}, {length}: {one} ({one.seconds:.1f} s)")
            lines += [f"    {_rule_line(rule)}" for rule in one.rules]
        lines.append(f"  {self.error_is} is the training error")
        return "\n".join(lines)


def _rule_line(one: RuleRound) -> str:
    low, middle, _ = one.slack
    return (
        f"{one.rule}: {_percent(one.held)} hold it, strength {one.strength:.4g}, "
        f"slack left {low:.3f} (5 %) and {middle:.3f} (median), least {one.worst:.3f}"
    )


def _percent(share: float) -> str:
    """A share as people read it; never rounded up to all.

    >>> _percent(0.9996), _percent(1.0), _percent(0.25)
    ('99.9 %', '100 %', '25 %')
    """
    whole = int(share * 1000) / 10
    return f"{whole:g} %"


def _plain(one: Round) -> dict[str, Any]:
    rules = [
        {**dataclasses.asdict(rule), "slack": list(rule.slack)} for rule in one.rules
    ]
    return {**dataclasses.asdict(one), "rules": rules}


def _round(said: Mapping[str, Any]) -> Round:
    rules = tuple(
        RuleRound(
            rule=str(one["rule"]),
            held=float(one["held"]),
            at_points=float(one["at_points"]),
            worst=float(one["worst"]),
            slack=(
                float(one["slack"][0]),
                float(one["slack"][1]),
                float(one["slack"][2]),
            ),
            strength=float(one["strength"]),
            added=int(one["added"]),
        )
        for one in said["rules"]
    )
    return Round(
        is_full=bool(said["is_full"]),
        draws=int(said["draws"]),
        error=float(said["error"]),
        seconds=float(said["seconds"]),
        rules=rules,
    )
