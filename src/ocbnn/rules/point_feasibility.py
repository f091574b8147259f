"""Which outputs some rules leave possible at one input, and what they rule out.

Slopes count as further outputs. What is not understood is taken to be satisfied, so
that "nothing is possible" is always true when it is said.
"""

import itertools
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from ocbnn.errors import RuleError
from ocbnn.language.affine import affine
from ocbnn.language.normal_form import Atom, Terms, columns, normal_form
from ocbnn.rules.bound import BoundRule
from ocbnn.rules.feasibility import (
    Case,
    FeasibilityChecker,
    HalfSpace,
    NonlinearConstraint,
)
from ocbnn.rules.unknowns import Unknowns, at_input

MOST_CASES = 512

Point: TypeAlias = Float[np.ndarray, " inputs"]
# What a rule leaves open; None when nothing is known about it.
_Cases: TypeAlias = tuple[Case, ...] | None


def is_judged(rule: BoundRule) -> bool:
    """Whether the rule rules outputs out, and does not only make them less likely."""
    return rule.claim.required is not None or rule.claim.allowed is not None


def is_constant(rule: BoundRule) -> bool:
    """Whether the rule says the same about the outputs at every input of its region."""
    if rule.claim.required is None:
        return rule.claim.allowed is not None
    terms = Unknowns([rule]).terms(rule.claim.broken or ())
    atoms = (atom for term in terms for atom in term)
    found = (column for atom in atoms for column in columns(atom.expr))
    return all(column.kind == "output" for column in found)


class PointFeasibility:
    """Remembers what is possible, since most inputs ask the same question."""

    def __init__(self, rules: Sequence[BoundRule]) -> None:
        self._rules, unknowns = rules, Unknowns(rules)
        self._allowed = [allowed_terms(rule, unknowns) for rule in rules]
        self._broken = [
            None
            if rule.claim.required is None
            else unknowns.terms(rule.claim.broken or ())
            for rule in rules
        ]
        masks = (rule.claim.allowed for rule in rules)
        self._masks = [None if mask is None else np.array(mask) for mask in masks]
        self._constant = [is_constant(rule) for rule in rules]
        self._unknowns = unknowns.count
        self._same: dict[tuple[int, bool], _Cases] = {}
        self._feasible = FeasibilityChecker()
        self._answers: dict[tuple[object, ...], bool] = {}

    def at_fault(self, active: Sequence[int], x: Point) -> list[int]:
        """Smallest set of rules found that leaves nothing possible; empty if none."""
        cases = {index: self._cases(index, x) for index in active}
        question = tuple(cases.items())
        if question not in self._answers:
            self._answers[question] = self._possible(active, cases)
        if self._answers[question]:
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

    def implies(self, others: Sequence[int], index: int, x: Point) -> bool:
        """Whether every output that the others allow at `x` is allowed by the rule."""
        mask = self._masks[index]
        if mask is not None:
            known = [m for i in others if (m := self._masks[i]) is not None]
            return not np.any(np.all([~mask, *known], axis=0))
        claim = self._rules[index].claim
        if any(self._rules[i].claim == claim for i in others):
            return True
        cases = {other: self._cases(other, x) for other in others}
        broken = self._cases(index, x, broken=True) or ()
        question = ("broken", broken, *cases.items())
        if question not in self._answers:
            self._answers[question] = not any(
                self._possible(others, cases, case) for case in broken
            )
        return self._answers[question]

    def _possible(
        self,
        indices: Sequence[int],
        cases: dict[int, _Cases],
        given: Case = (),
    ) -> bool:
        masks = [mask for i in indices if (mask := self._masks[i]) is not None]
        if masks and not np.any(np.all(masks, axis=0)):
            return False
        return bool(self._joined([cases[index] for index in indices], given))

    def alternatives(self, x: Point) -> list[tuple[HalfSpace, ...]]:
        """What all rules together leave open at `x`, of what is affine in outputs."""
        every = range(len(self._allowed))
        found = self._joined([self._cases(index, x) for index in every])
        return [
            tuple(part for part in case if isinstance(part, HalfSpace))
            for case in found
        ]

    def _joined(self, cases: Sequence[_Cases], given: Case = ()) -> list[Case]:
        """Those combinations of the rules' cases that can be; empty if there is none.

        Rules after the last one that can be looked at in time are left out.
        """
        open_cases = [given] if self._feasible(given) else []
        for alternatives in cases:
            if alternatives is None:
                continue
            if len(open_cases) * len(alternatives) > MOST_CASES:
                return open_cases
            joined = (one + two for one in open_cases for two in alternatives)
            open_cases = [case for case in joined if self._feasible(case)]
        return open_cases

    def _cases(self, index: int, x: Point, *, broken: bool = False) -> _Cases:
        """Alternatives the rule leaves open at `x`, or the ways to break it there.

        None when nothing is known.
        """
        terms = self._broken[index] if broken else self._allowed[index]
        if terms is None:
            return None
        if not self._constant[index]:
            return self._open(terms, x)
        if (index, broken) not in self._same:
            self._same[index, broken] = self._open(terms, x)
        return self._same[index, broken]

    def _open(self, terms: Terms, x: Point) -> tuple[Case, ...]:
        cases = []
        for term in terms:
            exact = [atom for atom in term if not atom.uses_outputs]
            if all(atom.holds(x[None], None)[0] for atom in exact):
                said = (atom for atom in term if atom.uses_outputs)
                cases.append(tuple(_part(atom, x, self._unknowns) for atom in said))
        return tuple(cases)


def allowed_terms(rule: BoundRule, unknowns: Unknowns) -> Terms | None:
    """What a rule asks for, slopes as unknowns; None where that is not known."""
    if rule.claim.required is None:
        return None
    try:
        return unknowns.terms(normal_form(rule.claim.required))
    except RuleError:
        return None  # Too many pieces to look at.


def half_space(atom: Atom, x: Point, unknowns: int) -> HalfSpace | None:
    """What an atom says at `x`, where it is affine in the unknowns."""
    form = affine(atom.expr, "output", x)
    if form is None:
        return None
    slopes = tuple(form.slopes.get(index, 0.0) for index in range(unknowns))
    scale = max(map(abs, slopes)) or 1.0
    slopes = tuple(slope / scale for slope in slopes)
    return HalfSpace(slopes, form.constant / scale, atom.strict)


def _part(atom: Atom, x: Point, unknowns: int) -> HalfSpace | NonlinearConstraint:
    straight = half_space(atom, x, unknowns)
    return straight or NonlinearConstraint(at_input(atom.expr, x), atom.strict)
