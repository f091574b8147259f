"""Rules that leave no output possible at some input."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ocbnn.core.errors import RuleError
from ocbnn.rules.affine import affine
from ocbnn.rules.bound import AllowedClasses, BoundRule, Forbidden
from ocbnn.rules.normal_form import Atom, Terms, normal_form
from ocbnn.rules.words import listing

MOST_POINTS = 200
MOST_CASES = 512

# `slopes · y + constant <= 0`, or `<` when strict.
HalfSpace: TypeAlias = tuple[tuple[float, ...], float, bool]
Case: TypeAlias = tuple[HalfSpace, ...]


@dataclasses.dataclass(frozen=True)
class Conflict:
    """Rules that cannot all hold at one input."""

    rules: tuple[BoundRule, ...]
    x: tuple[float, ...]

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
        return (
            f"at {place} no output satisfies all of these rules:\n{named}\n"
            "Narrow the region of one, loosen its claim, or leave it out."
        )


def find_conflict(bounds: Sequence[BoundRule], X: np.ndarray) -> Conflict | None:
    """Find an input at which the rules that apply leave no output possible.

    Only what `require`, `forbid` and class rules say is looked at, and of that only
    what is affine in the outputs; so a conflict found is real, and one may be missed.
    At most 200 of the rows `X` (n, inputs) are tried. The rules returned are needed,
    each of them, for the conflict.

    >>> from ocbnn.rules import Schema, bind, parse_rule
    >>> texts = "if x > 0 then y > 3", "if x < 2 then y < 1", "y < 9"
    >>> bounds = [bind(parse_rule(t), Schema(("x",), ("y",))) for t in texts]
    >>> print(find_conflict(bounds, np.array([[-1.0], [1.0]])).message())
    at x = 1 no output satisfies all of these rules:
      if x > 0 then y > 3
      if x < 2 then y < 1
    Narrow the region of one, loosen its claim, or leave it out.
    """
    rules = [
        rule for rule in bounds if isinstance(rule.claim, Forbidden | AllowedClasses)
    ]
    X = np.asarray(X, dtype=np.float64)
    if not rules or not len(X):
        return None
    if len(X) > MOST_POINTS:
        X = X[np.linspace(0, len(X) - 1, MOST_POINTS).round().astype(int)]
    active = np.stack([rule.applies(X) for rule in rules], axis=1)
    judge = Judge(rules)
    for x, applies in zip(X, active, strict=True):
        at_fault = judge.at_fault([int(i) for i in np.flatnonzero(applies)], x)
        if at_fault:
            found = tuple(rules[index] for index in at_fault)
            return Conflict(found, tuple(map(float, x)))
    return None


class Judge:
    """Remembers what is possible, since most inputs ask the same question."""

    def __init__(self, rules: Sequence[BoundRule]) -> None:
        self._allowed = [_allowed(rule) for rule in rules]
        self._masks = [
            np.array(rule.claim.mask)
            if isinstance(rule.claim, AllowedClasses)
            else None
            for rule in rules
        ]
        self._outputs = len(rules[0].schema.outputs)
        self._known: dict[Case, bool] = {}
        self._asked: set[tuple[object, ...]] = set()

    def at_fault(self, active: Sequence[int], x: np.ndarray) -> list[int]:
        """Smallest set of rules found that leaves nothing possible; empty if none."""
        cases = {index: self._cases(index, x) for index in active}
        question = tuple(cases.items())
        if question in self._asked or self._possible(active, cases):
            self._asked.add(question)
            return []
        for size in (1, 2):
            for some in itertools.combinations(active, size):
                if not self._possible(some, cases):
                    return list(some)
        needed = list(active)
        for index in active:
            rest = [other for other in needed if other != index]
            if not self._possible(rest, cases):
                needed = rest
        return needed

    def _possible(
        self, indices: Sequence[int], cases: dict[int, tuple[Case, ...] | None]
    ) -> bool:
        masks = [mask for i in indices if (mask := self._masks[i]) is not None]
        if masks and not np.any(np.all(masks, axis=0)):
            return False
        return bool(self._joined([cases[index] for index in indices]))

    def alternatives(self, x: np.ndarray) -> list[Case]:
        """What all rules together leave open at `x`, of what is affine in outputs."""
        every = range(len(self._allowed))
        return self._joined([self._cases(index, x) for index in every])

    def _joined(self, cases: Sequence[tuple[Case, ...] | None]) -> list[Case]:
        """Those combinations of the rules' cases that can be; empty if there is none.

        Rules after the last one that can be looked at in time are left out.
        """
        open_cases: list[Case] = [()]
        for alternatives in cases:
            if alternatives is None:
                continue
            if len(open_cases) * len(alternatives) > MOST_CASES:
                return open_cases
            joined = (one + two for one in open_cases for two in alternatives)
            open_cases = [case for case in joined if self._feasible(case)]
        return open_cases

    def _cases(self, index: int, x: np.ndarray) -> tuple[Case, ...] | None:
        """Alternatives the rule leaves open at `x`; None when nothing is known."""
        terms = self._allowed[index]
        if terms is None:
            return None
        cases = []
        for term in terms:
            exact = [atom for atom in term if not atom.uses_outputs]
            if all(atom.holds(x[None], None)[0] for atom in exact):
                spaces = (_half_space(atom, x, self._outputs) for atom in term)
                # A half-space that is not affine is left out: it may be satisfied.
                cases.append(tuple(space for space in spaces if space is not None))
        return tuple(cases)

    def _feasible(self, case: Case) -> bool:
        if case not in self._known:
            one = self._outputs == 1
            self._known[case] = _interval(case) if one else _linear_program(case)
        return self._known[case]


def _allowed(rule: BoundRule) -> Terms | None:
    if not isinstance(rule.claim, Forbidden):
        return None
    try:
        return normal_form(rule.claim.condition)
    except RuleError:
        return None  # Too many pieces to look at.


def _half_space(atom: Atom, x: np.ndarray, outputs: int) -> HalfSpace | None:
    if not atom.uses_outputs:
        return None
    form = affine(atom.expr, "output", x)
    if form is None:
        return None
    slopes = tuple(form.slopes.get(index, 0.0) for index in range(outputs))
    scale = max(map(abs, slopes)) or 1.0
    return tuple(s / scale for s in slopes), form.constant / scale, atom.strict


def _interval(case: Case) -> bool:
    lower, upper, open_below, open_above = -math.inf, math.inf, False, False
    for (slope,), constant, strict in case:
        bound = -constant / slope if slope else 0.0
        if slope > 0:
            upper, open_above = min((upper, not open_above), (bound, not strict))
            open_above = not open_above
        elif slope < 0:
            lower, open_below = max((lower, open_below), (bound, strict))
        elif constant > 0 or (strict and constant == 0):
            return False
    return lower < upper or (lower == upper and not (open_below or open_above))


def _linear_program(case: Case) -> bool:
    """Ask for a point that satisfies all, the strict ones with room to spare."""
    from scipy.optimize import linprog  # noqa: PLC0415 (slow to import, seldom needed)

    if not case:
        return True
    slopes = np.array([space[0] for space in case])
    constants = np.array([space[1] for space in case])
    strict = np.array([space[2] for space in case], dtype=float)
    answer = linprog(
        c=[0.0] * slopes.shape[1] + [-1.0],
        A_ub=np.column_stack([slopes, strict]),
        b_ub=-constants,
        bounds=[(None, None)] * slopes.shape[1] + [(0.0, 1.0)],
    )
    if answer.status != 0:
        return (
            answer.status != 2
        )  # 2 is "infeasible"; any other failure proves nothing.
    return not strict.any() or bool(answer.x[-1] > 1e-7)
