"""Rules that leave no output possible at some input."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ocbnn.core.advice import Kind
from ocbnn.core.choices import free_columns, pick, say_point
from ocbnn.core.sentences import Sentence
from ocbnn.core.words import listing
from ocbnn.language.words import Label
from ocbnn.rules.bound import BoundRule
from ocbnn.rules.line_feasibility import LineFeasibility
from ocbnn.rules.point_feasibility import PointFeasibility, is_constant, is_judged
from ocbnn.rules.probe_points import (
    across,
    each_once,
    one_of_each_kind,
    say_box,
    shared_box,
    well_inside,
    where_regions_overlap,
)
from ocbnn.rules.standalone import bind_standalone

MOST_POINTS = 200
# Answers looked for in all; more rules at an input ask more.
_MOST_QUESTIONS = 20_000
# Lines that are followed along each input of which slopes speak.
_MOST_LINES = 200

_LOOSEN = "Narrow the region of one, loosen its claim, or ", Kind.LEAVE_OUT, "."


@dataclasses.dataclass(frozen=True)
class Conflict:
    """Rules that cannot all hold at one input, or along a line.

    Attributes
    ----------
    rules
        The rules, each of them needed.
    x
        The input, or where the line begins.
    end
        Where the line ends, which is `x` where only a jump would keep the rules;
        None at a single input.
    """

    rules: tuple[BoundRule, ...]
    x: tuple[float, ...]
    end: tuple[float, ...] | None = None

    @property
    def overlap(self) -> str:
        """Where the rules' regions overlap around the input; empty for everywhere."""
        box = shared_box(self.rules, np.array(self.x))
        schema = self.rules[0].schema
        return say_box(box, schema.inputs, schema.choices)

    def message(self) -> str:
        """Say where, which rules, and what to do."""
        named = "\n".join(f"  {rule.rule}" for rule in self.rules)
        if self.end is not None:
            several = "all of these rules" if len(self.rules) > 1 else "this rule"
            return Sentence(
                f"{self._stretch()} no function satisfies {several}:\n{named}\n",
                *_LOOSEN,
            )
        place = self._place(range(len(self.x)))
        if len(self.rules) == 1:
            return (
                f"at {place} no output satisfies this rule:\n{named}\n"
                "Correct its bounds, or narrow its region."
            )
        what = "function" if any(rule.slopes for rule in self.rules) else "output"
        both = f"All of them speak of {self.overlap}.\n" if self.overlap else ""
        return Sentence(
            f"at {place} no {what} satisfies all of these rules:\n{named}\n{both}",
            *_LOOSEN,
        )

    def _stretch(self) -> str:
        assert self.end is not None
        pairs = list(zip(self.x, self.end, strict=True))
        moves = [i for i, (one, other) in enumerate(pairs) if one != other]
        if not moves:
            # A jump where one region ends and the next begins.
            return f"at {self._place(range(len(pairs)))}"
        rest = self._place(i for i in range(len(pairs)) if i not in moves)
        name = self.rules[0].schema.inputs[moves[0]]
        low, high = pairs[moves[0]]
        at = f", at {rest}," if rest else ""
        return f"from {name} = {low:g} to {name} = {high:g}{at}"

    def _place(self, columns: Iterable[int]) -> str:
        schema, shown = self.rules[0].schema, list(columns)
        whole = [group for group in schema.choices if {*group} <= {*shown}]
        choices = tuple(tuple(map(shown.index, group)) for group in whole)
        names, x = [schema.inputs[i] for i in shown], [self.x[i] for i in shown]
        return listing(say_point(names, x, choices))


def find_conflict(
    rules: Any,
    X: Any = None,
    *,
    inputs: Iterable[str] | str | None = None,
    outputs: Iterable[str] | str | None = None,
    classes: Iterable[Label] | None = None,
) -> Conflict | None:
    """Find an input at which the rules that apply leave no output possible.

    Only what `require`, `forbid` and class rules say is looked at. A conflict found is
    real, and one may be missed. Tried are at most 200 of the rows `X` (n, inputs),
    inputs where regions overlap, and one of each kind where regions are made of
    thresholds: rules that say the same at every input of such a region, and are affine
    in outputs and slopes, are then compared completely. Of claims that bend
    (`y*y >= 4`) only what intervals prove counts. Rules about slopes are followed along
    their input (`y >= 2` on the left, `y <= 1` on the right, and rising in between), as
    far as thresholds and rows reach. The rules returned are needed, each of them, for
    the conflict.

    Parameters
    ----------
    rules
        Texts, rules or bound rules. Names in regions are inputs, and the one
        other name of a claim is an output; where that is not enough, say so.
    X
        Rows of inputs: an array, or a data frame. They are
        needed where regions without bounds make claims that vary.
    inputs
        Names of the inputs, in the order of the columns of an array. Of texts,
        `who=ada` and `who=bob` are values of one category; name all it has.
    outputs
        Names of the outputs.
    classes
        All classes of the output, for rules about classes.

    Raises
    ------
    RuleError
        Where it cannot be told which names are inputs, or where to look.

    >>> texts = "if x > 0 then y > 3", "if x < 2 then y < 1", "y < 9"
    >>> print(find_conflict(texts, np.array([[-1.0], [1.0]])).message())
    at x = 1 no output satisfies all of these rules:
      if x > 0 then y > 3
      if x < 2 then y < 1
    All of them speak of x between 0 and 2.
    Narrow the region of one, loosen its claim, or leave it out.
    """
    bounds, X = bind_standalone(rules, X, inputs, outputs, classes)
    judged = [rule for rule in bounds if is_judged(rule)]
    if not judged:
        return None
    some = X
    if len(X) > MOST_POINTS:
        some = X[np.linspace(0, len(X) - 1, MOST_POINTS).round().astype(int)]
    conflict = _at_fault(
        judged, np.concatenate([some, where_regions_overlap(judged, X)])
    )
    same = [rule for rule in judged if is_constant(rule)]
    if conflict is None and same:
        cells = one_of_each_kind(same, X)
        conflict = None if cells is None else _at_fault(same, cells)
    return conflict or _along_lines(judged, X)


def _at_fault(rules: Sequence[BoundRule], X: np.ndarray) -> Conflict | None:
    X = each_once(pick(X, rules[0].schema.choices))
    active = np.stack([well_inside(rule, X) for rule in rules], axis=1)
    tried = np.cumsum(active.sum(axis=1)) <= _MOST_QUESTIONS
    feasibility = PointFeasibility(rules)
    for x, applies in zip(X[tried], active[tried], strict=True):
        at_fault = feasibility.at_fault([int(i) for i in np.flatnonzero(applies)], x)
        if at_fault:
            culprits = tuple(rules[index] for index in at_fault)
            return Conflict(culprits, tuple(map(float, x)))
    return None


def _along_lines(rules: Sequence[BoundRule], X: np.ndarray) -> Conflict | None:
    schema = rules[0].schema
    # Between the values of a choice there is no input, and so no line.
    free = {*free_columns(len(schema.inputs), schema.choices)}
    for column in sorted({slope[-1] for rule in rules for slope in rule.slopes} & free):
        reach = X[:, column].min(initial=np.inf), X[:, column].max(initial=-np.inf)
        bases = across(rules, X, column, _MOST_LINES)
        line = LineFeasibility(rules, column).find(pick(bases, schema.choices), reach)
        if line is not None:
            ends = (tuple(map(float, end)) for end in (line.start, line.end))
            return Conflict(line.rules, *ends)
    return None
