"""Rules that leave no output possible at some input."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ocbnn.core.advice import Kind
from ocbnn.core.choices import free_columns, pick, say_point
from ocbnn.core.rows import evenly
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
# Rules that are compared in total, summed over inputs.
_MOST_QUESTIONS = 20_000
# Lines that are checked along each input that slopes are taken of.
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
        Where the line ends, equal to `x` where only a jump would keep the rules;
        None for a single input.
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
        """A message that says where, which rules, and what to do."""
        named = "\n".join(f"  {rule.rule}" for rule in self.rules)
        if self.end is not None:
            several = "all of these rules" if len(self.rules) > 1 else "this rule"
            return Sentence(
                f"{self._stretch()} no function satisfies {several}:\n{named}\n",
                *_LOOSEN,
            )
        location = self._location(range(len(self.x)))
        if len(self.rules) == 1:
            return (
                f"at {location} no output satisfies this rule:\n{named}\n"
                "Correct its bounds, or narrow its region."
            )
        subject = "function" if any(rule.slopes for rule in self.rules) else "output"
        overlap = f"All of them speak of {self.overlap}.\n" if self.overlap else ""
        return Sentence(
            f"at {location} no {subject} satisfies all of these rules:\n"
            f"{named}\n{overlap}",
            *_LOOSEN,
        )

    def _stretch(self) -> str:
        assert self.end is not None
        pairs = list(zip(self.x, self.end, strict=True))
        moves = [i for i, (start, end) in enumerate(pairs) if start != end]
        if not moves:
            # A jump where one region ends and the next begins.
            return f"at {self._location(range(len(pairs)))}"
        others = self._location(i for i in range(len(pairs)) if i not in moves)
        name = self.rules[0].schema.inputs[moves[0]]
        low, high = pairs[moves[0]]
        at = f", at {others}," if others else ""
        return f"from {name} = {low:g} to {name} = {high:g}{at}"

    def _location(self, columns: Iterable[int]) -> str:
        schema, positions = self.rules[0].schema, list(columns)
        groups = [group for group in schema.choices if {*group} <= {*positions}]
        choices = tuple(tuple(map(positions.index, group)) for group in groups)
        names, x = [schema.inputs[i] for i in positions], [self.x[i] for i in positions]
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

    Only `require`, `forbid` and class rules are compared. A conflict that is found is
    real, but conflicts may be missed. The search tries at most 200 of the rows `X`
    (n, inputs), inputs where regions overlap, and, where regions are made of
    thresholds, one input for every combination of rules that apply. So the comparison
    is complete for rules that are affine in outputs and slopes and say the same at
    every input of such regions. Of nonlinear claims (`y*y >= 4`), it uses what interval
    arithmetic proves. It follows rules about slopes along their input (`y >= 2` on the
    left, `y <= 1` on the right, and rising in between), as far as thresholds and rows
    reach. Each of the returned rules is needed for the conflict.

    Parameters
    ----------
    rules
        Texts, rules or bound rules. Names in regions are inputs, and the one
        other name of a claim is an output; otherwise, pass `inputs` or `outputs`.
    X
        Rows of inputs: an array or a data frame. Required if a claim depends on
        inputs that its region does not bound.
    inputs
        Names of the inputs, in the order of the columns of an array. For rules as
        text, `who=ada` and `who=bob` are values of one category; name all of them.
    outputs
        Names of the outputs.
    classes
        All classes of the output, for rules about classes.

    Raises
    ------
    RuleError
        When it is unclear which names are inputs, or where to look.

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
    rows = X[evenly(len(X), MOST_POINTS)]
    conflict = _at_fault(
        judged, np.concatenate([rows, where_regions_overlap(judged, X)])
    )
    constant = [rule for rule in judged if is_constant(rule)]
    if conflict is None and constant:
        cells = one_of_each_kind(constant, X)
        conflict = None if cells is None else _at_fault(constant, cells)
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
    # There are no inputs, and so no lines, between the levels of a choice.
    free = {*free_columns(len(schema.inputs), schema.choices)}
    for column in sorted({slope[-1] for rule in rules for slope in rule.slopes} & free):
        reach = X[:, column].min(initial=np.inf), X[:, column].max(initial=-np.inf)
        bases = across(rules, X, column, _MOST_LINES)
        line = LineFeasibility(rules, column).find(pick(bases, schema.choices), reach)
        if line is not None:
            ends = (tuple(map(float, end)) for end in (line.start, line.end))
            return Conflict(line.rules, *ends)
    return None
