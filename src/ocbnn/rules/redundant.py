"""Rules that follow from other rules."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ocbnn.core.words import listing
from ocbnn.language.words import Label
from ocbnn.rules.bound import BoundRule
from ocbnn.rules.point_feasibility import PointFeasibility, is_constant, is_judged
from ocbnn.rules.probe_points import in_region, one_of_each_kind, where_regions_overlap
from ocbnn.rules.standalone import bind_standalone

# Inputs of a rule's region at which it is compared with others.
POINTS = 100

_RANKS = {"soft": 0, "firm": 1, "hard": 2}


@dataclasses.dataclass(frozen=True)
class Redundancy:
    """A rule that follows from others.

    Attributes
    ----------
    rule
        The rule.
    by
        The rules it follows from, each of them needed; empty if it forbids nothing.
    is_proved
        Whether this is proved; otherwise it holds at the `points` inputs tried.
    points
        The number of inputs of its region that were tried.
    """

    rule: BoundRule
    by: tuple[BoundRule, ...]
    is_proved: bool
    points: int

    def sentence(self) -> str:
        """One sentence: what follows from what, and whether that is proved."""
        sure = "proved" if self.is_proved else f"as far as {self.points} inputs show"
        name = repr(self.rule.name)
        if not self.by:
            return f"Rule {name} forbids nothing ({sure}): leave it out, or mend it."
        sources = listing(repr(rule.name) for rule in self.by)
        return f"Rule {name} follows from {sources} ({sure}): it can be left out."


def find_redundant(
    rules: Any,
    X: Any = None,
    *,
    inputs: Iterable[str] | str | None = None,
    outputs: Iterable[str] | str | None = None,
    classes: Iterable[Label] | None = None,
) -> list[Redundancy]:
    """Find rules that follow from the others, one at a time.

    A rule follows if, wherever it applies, it allows every output that the others
    allow. Only `require`, `forbid` and class rules are compared, and a rule only
    follows from rules that are held at least as strictly. Of two equivalent rules, both
    are named, and one has to stay.

    Where regions are made of thresholds on single inputs and claims do not depend on
    the inputs, the answer is proved.

    Parameters
    ----------
    rules
        Texts, rules or bound rules. Names in regions are inputs, and the one
        other name of a claim is an output; otherwise, pass `inputs` or `outputs`.
    X
        Rows of inputs: an array or a data frame. They say where to compare rules
        whose regions are unbounded.
    inputs
        Names of the inputs, in the order of the columns of an array.
    outputs
        Names of the outputs.
    classes
        All classes of the output, for rules about classes.

    Raises
    ------
    RuleError
        When it is unclear which names are inputs, or where to look.

    >>> texts = "wide: if 0 <= x <= 9 then y < 3", "near: if 1 <= x <= 2 then y < 5"
    >>> print(*[redundancy.sentence() for redundancy in find_redundant(texts)])
    Rule 'near' follows from 'wide' (proved): it can be left out.
    """
    bounds, rows = bind_standalone(rules, X, inputs, outputs, classes)
    judged = [rule for rule in bounds if is_judged(rule)]
    if not judged:
        return []
    feasibility, meeting = PointFeasibility(judged), where_regions_overlap(judged, rows)
    redundancies = []
    for index, rule in enumerate(judged):
        points = np.concatenate(
            [in_region(rule, rows, POINTS), meeting[rule.applies(meeting)]]
        )
        others = [
            i
            for i, other in enumerate(judged)
            if i != index and _is_as_strict(other, rule)
        ]
        redundancy = _redundancy(
            _Candidate(feasibility, judged, index), others, points, rows
        )
        if redundancy is not None:
            redundancies.append(redundancy)
    return redundancies


@dataclasses.dataclass(frozen=True)
class _Candidate:
    """One of the rules, to be tested for whether it follows from others."""

    feasibility: PointFeasibility
    rules: Sequence[BoundRule]
    index: int

    def follows(self, others: Sequence[int], points: np.ndarray) -> bool:
        if not len(points):
            return False
        active = np.zeros((len(points), 0), bool)
        if others:
            active = np.stack([self.rules[i].applies(points) for i in others], axis=1)
        return all(
            self.feasibility.implies(
                [i for i, applies in zip(others, row, strict=True) if applies],
                self.index,
                x,
            )
            for x, row in zip(points, active, strict=True)
        )


def _redundancy(
    candidate: _Candidate, others: list[int], points: np.ndarray, rows: np.ndarray
) -> Redundancy | None:
    rule = candidate.rules[candidate.index]
    if is_constant(rule):
        constant = [
            candidate.rules[i] for i in others if is_constant(candidate.rules[i])
        ]
        cells = one_of_each_kind([rule, *constant], rows)
        if cells is not None:
            points = np.concatenate([points, cells[rule.applies(cells)]])
    if not candidate.follows(others, points):
        return None
    needed = _needed(candidate, others, points)
    by = tuple(candidate.rules[i] for i in needed)
    proved = False
    if all(map(is_constant, (rule, *by))):
        cells = one_of_each_kind([rule, *by], rows)
        if cells is not None:
            proved = candidate.follows(needed, cells[rule.applies(cells)])
            if not proved:
                return None
    return Redundancy(rule, by, proved, len(points))


def _needed(candidate: _Candidate, others: list[int], points: np.ndarray) -> list[int]:
    """One rule if one is enough; else the rules that remain after dropping others."""
    if candidate.follows([], points):
        return []
    others = [i for i in others if candidate.rules[i].applies(points).any()]
    for index in others:
        if candidate.follows([index], points):
            return [index]
    needed = list(others)
    for index in others:
        rest = [i for i in needed if i != index]
        if candidate.follows(rest, points):
            needed = rest
    return needed


def _is_as_strict(rule: BoundRule, than: BoundRule) -> bool:
    """Whether `rule` is held at least as strictly as `than`."""
    ranks = _RANKS[rule.rule.strictness], _RANKS[than.rule.strictness]
    if ranks[0] != ranks[1]:
        return ranks[0] > ranks[1]
    ours, theirs = rule.claim.dial(rule.rule), than.claim.dial(than.rule)
    if ours is None or theirs is None or rule.rule.tolerance != than.rule.tolerance:
        return rule.rule == than.rule
    if isinstance(ours.now, str) or isinstance(theirs.now, str):
        return True
    return ours.setting == theirs.setting and ours.now >= theirs.now
