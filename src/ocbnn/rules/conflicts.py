"""Rules that leave no output possible at some input."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ocbnn.rules.asked import bind_asked
from ocbnn.rules.bound import BoundRule
from ocbnn.rules.places import (
    one_of_each_kind,
    say_box,
    shared_box,
    where_regions_overlap,
)
from ocbnn.rules.possible import Judge, is_constant, is_judged
from ocbnn.rules.words import Label, listing

MOST_POINTS = 200
# Answers looked for in all; more rules at an input ask more.
_MOST_QUESTIONS = 20_000


@dataclasses.dataclass(frozen=True)
class Conflict:
    """Rules that cannot all hold at one input."""

    rules: tuple[BoundRule, ...]
    x: tuple[float, ...]

    @property
    def overlap(self) -> str:
        """Where the rules' regions overlap around the input; empty for everywhere."""
        box = shared_box(self.rules, np.array(self.x))
        return say_box(box, self.rules[0].schema.inputs)

    def message(self) -> str:
        """Say where, which rules, and what to do."""
        inputs = self.rules[0].schema.inputs
        place = listing(
            f"{name} = {value:g}" for name, value in zip(inputs, self.x, strict=True)
        )
        named = "\n".join(f"  {rule.rule}" for rule in self.rules)
        if len(self.rules) == 1:
            return (
                f"at {place} no output satisfies this rule:\n{named}\n"
                "Correct its bounds, or narrow its region."
            )
        both = f"All of them speak of {self.overlap}.\n" if self.overlap else ""
        return (
            f"at {place} no output satisfies all of these rules:\n{named}\n{both}"
            "Narrow the region of one, loosen its claim, or leave it out."
        )


def find_conflict(
    rules: Any,
    X: Any = None,
    *,
    inputs: Iterable[str] | str | None = None,
    outputs: Iterable[str] | str | None = None,
    classes: Iterable[Label] | None = None,
) -> Conflict | None:
    """Find an input at which the rules that apply leave no output possible.

    Only what `require`, `forbid` and class rules say is looked at, and of that only
    what is affine in the outputs; so a conflict found is real, and one may be missed.
    Tried are at most 200 of the rows `X` (n, inputs), inputs where regions overlap, and
    one of each kind where regions are made of thresholds: rules that say the same at
    every input of such a region are then compared completely. The rules returned are
    needed, each of them, for the conflict.

    Args:
        rules: Texts, rules or bound rules. Names in regions are inputs, and the one
            other name of a claim is an output; where that is not enough, say so.
        X: Rows of inputs: an array, or a data frame. They are
            needed where regions without bounds make claims that vary.
        inputs: Names of the inputs, in the order of the columns of an array.
        outputs: Names of the outputs.
        classes: All classes of the output, for rules about classes.

    Raises:
        RuleError: Where it cannot be told which names are inputs, or where to look.

    >>> texts = "if x > 0 then y > 3", "if x < 2 then y < 1", "y < 9"
    >>> print(find_conflict(texts, np.array([[-1.0], [1.0]])).message())
    at x = 1 no output satisfies all of these rules:
      if x > 0 then y > 3
      if x < 2 then y < 1
    All of them speak of x between 0 and 2.
    Narrow the region of one, loosen its claim, or leave it out.
    """
    bounds, X = bind_asked(rules, X, inputs, outputs, classes)
    judged = [rule for rule in bounds if is_judged(rule)]
    if not judged:
        return None
    some = X
    if len(X) > MOST_POINTS:
        some = X[np.linspace(0, len(X) - 1, MOST_POINTS).round().astype(int)]
    found = _at_fault(judged, np.concatenate([some, where_regions_overlap(judged, X)]))
    same = [rule for rule in judged if is_constant(rule)]
    if found is None and same:
        cells = one_of_each_kind(same, X)
        found = None if cells is None else _at_fault(same, cells)
    return found


def _at_fault(rules: Sequence[BoundRule], X: np.ndarray) -> Conflict | None:
    active = np.stack([rule.applies(X) for rule in rules], axis=1)
    asked = np.cumsum(active.sum(axis=1)) <= _MOST_QUESTIONS
    judge = Judge(rules)
    for x, applies in zip(X[asked], active[asked], strict=True):
        at_fault = judge.at_fault([int(i) for i in np.flatnonzero(applies)], x)
        if at_fault:
            found = tuple(rules[index] for index in at_fault)
            return Conflict(found, tuple(map(float, x)))
    return None
