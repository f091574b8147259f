"""Whether rules allow any output at one input, and whether they imply another rule.

Slopes count as further outputs. Claims that cannot be analysed count as satisfied, so
the answer "no output is possible" is always correct.
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
# The alternatives that a rule allows; None when nothing is known about it.
_Cases: TypeAlias = tuple[Case, ...] | None


def is_judged(rule: BoundRule) -> bool:
    """Whether the rule excludes outputs, instead of only making them less likely."""
    return rule.claim.required is not None or rule.claim.allowed is not None


def is_constant(rule: BoundRule) -> bool:
    """Whether the rule says the same about the outputs at every input of its region."""
    if rule.claim.required is None:
        return rule.claim.allowed is not None
    terms = Unknowns([rule]).terms(rule.claim.broken or ())
    atoms = (atom for term in terms for atom in term)
    mentioned = (column for atom in atoms for column in columns(atom.expr))
    return all(column.kind == "output" for column in mentioned)


class PointFeasibility:
    """Decides what is possible and caches it, since most inputs give the same cases."""

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
        self._constant_cases: dict[tuple[int, bool], _Cases] = {}
        self._feasible = FeasibilityChecker()
        self._answers: dict[tuple[object, ...], bool] = {}

    def at_fault(self, active: Sequence[int], x: Point) -> list[int]:
        """The smallest contradictory set of rules that is found; empty if none is."""
        cases = {index: self._cases(index, x) for index in active}
        question = tuple(cases.items())
        if question not in self._answers:
            self._answers[question] = self._possible(active, cases)
        if self._answers[question]:
            return []
        for size in (1, 2):
            for subset in itertools.combinations(active, size):
                if not self._possible(subset, cases):
                    return list(subset)
        needed = list(active)
        for index in active:
            rest = [i for i in needed if i != index]
            if not self._possible(rest, cases):
                needed = rest
        return needed

    def implies(self, others: Sequence[int], index: int, x: Point) -> bool:
        """Whether the rule allows every output at `x` that the others allow."""
        mask = self._masks[index]
        if mask is not None:
            masks = [m for i in others if (m := self._masks[i]) is not None]
            return not np.any(np.all([~mask, *masks], axis=0))
        claim = self._rules[index].claim
        if any(self._rules[i].claim == claim for i in others):
            return True
        cases = {i: self._cases(i, x) for i in others}
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
        """The alternatives that all rules allow at `x`, as affine constraints only."""
        indices = range(len(self._allowed))
        cases = self._joined([self._cases(index, x) for index in indices])
        return [
            tuple(part for part in case if isinstance(part, HalfSpace))
            for case in cases
        ]

    def _joined(self, cases: Sequence[_Cases], given: Case = ()) -> list[Case]:
        """The feasible combinations of the rules' cases; empty if there is none.

        When there are too many combinations, the remaining rules are ignored.
        """
        open_cases = [given] if self._feasible(given) else []
        for alternatives in cases:
            if alternatives is None:
                continue
            if len(open_cases) * len(alternatives) > MOST_CASES:
                return open_cases
            joined = (a + b for a in open_cases for b in alternatives)
            open_cases = [case for case in joined if self._feasible(case)]
        return open_cases

    def _cases(self, index: int, x: Point, *, broken: bool = False) -> _Cases:
        """Alternatives that the rule allows at `x`, or the ways to violate it there.

        None when nothing is known.
        """
        terms = self._broken[index] if broken else self._allowed[index]
        if terms is None:
            return None
        if not self._constant[index]:
            return self._open(terms, x)
        if (index, broken) not in self._constant_cases:
            self._constant_cases[index, broken] = self._open(terms, x)
        return self._constant_cases[index, broken]

    def _open(self, terms: Terms, x: Point) -> tuple[Case, ...]:
        cases = []
        for term in terms:
            exact = [atom for atom in term if not atom.uses_outputs]
            if all(atom.holds(x[None], None)[0] for atom in exact):
                atoms = (atom for atom in term if atom.uses_outputs)
                cases.append(tuple(_part(atom, x, self._unknowns) for atom in atoms))
        return tuple(cases)


def allowed_terms(rule: BoundRule, unknowns: Unknowns) -> Terms | None:
    """What a rule requires, slopes as unknowns; None where that is not known."""
    if rule.claim.required is None:
        return None
    try:
        return unknowns.terms(normal_form(rule.claim.required))
    except RuleError:
        return None  # Too many terms.


def half_space(atom: Atom, x: Point, unknowns: int) -> HalfSpace | None:
    """An atom at `x` as a half-space; None if it is not affine in the unknowns."""
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
