"""What `fit(refine=...)` means, and which rules are refined without it."""

import dataclasses
from collections.abc import Iterable
from typing import TypeAlias

from ocbnn.core.types import Unchecked
from ocbnn.core.words import listing
from ocbnn.errors import SettingError
from ocbnn.rules import BoundRule

_COUNTS = ("rounds", "starts", "steps", "test_points")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Refinement:
    """How rules are refined: by a search for violations and new points there.

    Attributes
    ----------
    rounds
        How often points are added and the model is fitted again, at most.
    target
        The share of draws that may break a rule in the end.
    points
        Room for added points, for every rule. None means as many as the rule has of
        its own, and at least 10 for each input, or 50 if points do not walk.
    starts
        From how many inputs the search for every draw's worst input starts.
    steps
        How many steps it takes from each of them.
    test_points
        How many fresh points of the region are checked as well.
    """

    rounds: int = 10
    target: float = 0.01
    points: int | None = None
    starts: int = 64
    steps: int = 40
    test_points: int = 1000

    def __post_init__(self) -> None:
        for name in (*_COUNTS, *(() if self.points is None else ("points",))):
            value = getattr(self, name)
            is_integer = isinstance(value, int) and not isinstance(value, bool)
            if not is_integer or value < 1:
                raise SettingError(
                    f"Refinement({name}=...) must be a whole number above zero, got "
                    f"{value!r}. Write Refinement({name}={_EXAMPLES[name]})."
                )
        if not isinstance(self.target, (int, float)) or not 0 < self.target < 1:
            raise SettingError(
                "Refinement(target=...) is the share of draws that may break a rule, "
                f"between 0 and 1, got {self.target!r}. Write Refinement(target=0.01)."
            )


# What `refine=...` takes.
Refine: TypeAlias = Unchecked[bool | int | Refinement | None]

_EXAMPLES = {
    "rounds": 10,
    "starts": 64,
    "steps": 40,
    "test_points": 1000,
    "points": 100,
}


def as_refinement(refine: Refine, rules: tuple[BoundRule, ...]) -> Refinement | None:
    """The refinement that `fit(refine=...)` asks for; None when there is none.

    If it is left out, firm and hard rules are refined.

    Raises
    ------
    SettingError
        When it is anything else, or there is no rule to refine.
    """
    if refine is False:
        return None
    if refine is None:
        return Refinement() if any(is_strict(bound) for bound in rules) else None
    if isinstance(refine, Refinement):
        refinement = refine
    elif refine is True:
        refinement = Refinement()
    elif isinstance(refine, int):
        refinement = Refinement(rounds=refine)
    else:
        raise SettingError(
            "refine must be True, False, a number of rounds or a Refinement, got "
            f"{refine!r}. Write refine=5."
        )
    if not any(bound.is_searchable for bound in rules):
        which = listing(repr(bound.name) for bound in rules) or "it has none"
        raise SettingError(
            "refine searches for inputs at which draws violate a rule, and no rule of "
            f"this model can be searched: {which}. Write a rule with require, forbid "
            "or expect, or leave refine out."
        )
    return refinement


def unsearchable(rules: Iterable[BoundRule]) -> tuple[str, ...]:
    """The names of rules that no search can be led through, so they stay as given."""
    return tuple(bound.name for bound in rules if not bound.is_searchable)


def is_strict(bound: BoundRule) -> bool:
    """Whether draws must keep a rule: it is firm or hard.

    A class that a hard rule forbids is masked, which needs no refinement.
    """
    is_masked = bound.rule.strictness == "hard" and bound.schema.is_classification
    return bound.rule.strictness != "soft" and bound.is_searchable and not is_masked
