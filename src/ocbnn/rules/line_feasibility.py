"""Whether any function can keep rules about slopes along a line.

Rules about slopes connect different inputs: a function that rises from a to b is not
lower at b than at a. Along one input, with the others fixed, the line is cut at every
threshold of a rule. The same rules apply on a whole segment, and their claims about
slopes are integrated: `d(y, x) >= 1` on a segment of length 2 raises y by at least 2.
All of this is linear in the function's values and slopes at the ends of the segments,
so a linear program decides whether such a function can exist (`linear_programs`).

A function may jump where no rule about its slope forbids it: regions that only touch
do not contradict each other, since a function may be arbitrarily steep between them.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ocbnn.language.affine import affine
from ocbnn.language.normal_form import Atom, columns
from ocbnn.rules.bound import BoundRule
from ocbnn.rules.linear_programs import Number, Row, is_possible
from ocbnn.rules.point_feasibility import allowed_terms
from ocbnn.rules.unknowns import Unknowns

# With more thresholds along one input, no conflict is looked for.
_MOST_KNOTS = 60
# Evenly spaced knots from the first to the last threshold, for claims that vary.
_EVEN = 5
# Linear programs that are solved for each input.
_MOST_PROGRAMS = 50
# How far the line extends beyond its outermost thresholds, as a share of its length.
_BEYOND = 0.01

Point = Float[np.ndarray, " inputs"]
Knots = Float[np.ndarray, " knots"]


class Line(NamedTuple):
    """Rules that no function can keep between two inputs that differ in one column."""

    rules: tuple[BoundRule, ...]
    start: Point
    end: Point


class _Claim(NamedTuple):
    """One atom of a claim, and its subject: "value", "slope", "both" or "bend"."""

    atom: Atom
    kind: str
    varies: bool  # along the line


class _Cut(NamedTuple):
    """A line in segments: its knots, and which rules apply at and between them."""

    knots: Knots
    lengths: Float[np.ndarray, " segments"]
    at: Bool[np.ndarray, "rules knots"]
    on: Bool[np.ndarray, "rules segments"]


class LineFeasibility:
    """Searches for contradictions along lines of one input."""

    def __init__(self, rules: Sequence[BoundRule], column: int) -> None:
        self._column = column
        self._rules = _tied(rules, column)
        unknowns = Unknowns(self._rules)
        self._kinds = [unknowns.slope(index) for index in range(unknowns.count)]
        self._claims = [self._linear_claims(rule, unknowns) for rule in self._rules]
        self._is_same = not any(
            column.kind == "input"
            for claims in self._claims
            for claim in claims
            for column in columns(claim.atom.expr)
        )
        self._edges = [rule.region.edges() for rule in self._rules]

    def find(
        self, bases: Float[np.ndarray, "lines inputs"], reach: tuple[float, float]
    ) -> Line | None:
        """A contradiction on one of the lines through `bases`, if one is found.

        The search covers everything between the rules' thresholds, and all of `reach`;
        beyond both, where regions are unbounded, it finds nothing.
        """
        knots = self._knots(reach)
        if not self._rules or not 3 <= len(knots) <= _MOST_KNOTS:
            return None
        at = self._applies(bases, knots)
        on_segments = self._applies(bases, knots[:-1] + 0.5 * np.diff(knots))
        # The outermost segments have no length, and only say which rules apply just
        # beyond the outermost thresholds.
        at[..., [0, -1]] = False
        lengths = np.diff(knots)
        lengths[[0, -1]] = 0.0
        # A line may leave and enter a region of another shape within a segment.
        on_segments[:, [edges is None for edges in self._edges]] = False
        tried = set()
        for line, base in enumerate(bases):
            key = at[line].tobytes() + on_segments[line].tobytes()
            key += b"" if self._is_same else base.tobytes()
            if key in tried or not self._is_tied(on_segments[line]):
                continue
            tried.add(key)
            rows = list(
                self._rows(base, _Cut(knots, lengths, at[line], on_segments[line]))
            )
            if not is_possible(rows, knots[1:-1]):
                return self._narrowed(rows, base, knots)
            if len(tried) >= _MOST_PROGRAMS:
                break
        return None

    def _linear_claims(self, rule: BoundRule, unknowns: Unknowns) -> list[_Claim]:
        terms = allowed_terms(rule, unknowns)
        if terms is None or len(terms) != 1:
            # With several alternatives, a function may choose differently everywhere.
            return []
        claims = []
        for atom in terms[0]:
            if not atom.uses_outputs:
                return []
            mentioned = list(columns(atom.expr))
            along = {self._kinds[c.index][1] for c in mentioned if c.kind == "output"}
            kind = {
                frozenset([()]): "value",
                frozenset([(self._column,)]): "slope",
                frozenset([(), (self._column,)]): "both",
                frozenset([(self._column, self._column)]): "bend",
            }.get(frozenset(along))
            varies = any(
                c.kind == "input" and c.index == self._column for c in mentioned
            )
            if kind is not None:
                claims.append(_Claim(atom, kind, varies))
        return claims

    def _knots(self, reach: tuple[float, float]) -> Knots:
        knots = set(reach)
        for rule, edges in zip(self._rules, self._edges, strict=True):
            knots |= {edge for column, edge in edges or () if column == self._column}
            if edges is None:
                knots |= {float(end[self._column]) for end in rule.region.box()}
        ends = np.sort([knot for knot in knots if np.isfinite(knot)])
        if not len(ends):
            return ends
        beyond = _BEYOND * (np.ptp(ends) or max(1.0, abs(ends[0])))
        even = np.linspace(ends[0], ends[-1], _EVEN)
        return np.unique([ends[0] - beyond, *ends, *even, ends[-1] + beyond])

    def _applies(
        self, bases: Float[np.ndarray, "lines inputs"], knots: Knots
    ) -> Bool[np.ndarray, "lines rules knots"]:
        points = np.repeat(bases, len(knots), axis=0)
        points[:, self._column] = np.tile(knots, len(bases))
        applies = [rule.applies(points) for rule in self._rules]
        table = np.stack(applies).reshape(len(applies), len(bases), len(knots))
        return np.moveaxis(table, 0, 1).copy()

    def _is_tied(self, on: Bool[np.ndarray, "rules segments"]) -> bool:
        """Whether a rule about slopes applies on any segment."""
        tying = [
            any(claim.kind in ("slope", "bend") for claim in claims)
            for claims in self._claims
        ]
        return bool(on[tying].any())

    def _rows(self, base: Point, cut: _Cut) -> Iterator[Row]:
        for index, claims in enumerate(self._claims):
            for claim in claims:
                if claim.kind == "value":
                    for knot in np.flatnonzero(cut.at[index]).tolist():
                        form = self._form(claim, base, cut.knots[knot])
                        if form is not None:
                            factors = {("at", knot, o): a for o, a in form[0].items()}
                            yield Row(index, factors, form[2])
                if not claim.varies:
                    form = self._form(claim, base, cut.knots[0])
                    if form is not None:
                        yield from _LinearClaim(index, *form).rows(claim.kind, cut)

    def _form(
        self, claim: _Claim, base: Point, knot: float
    ) -> tuple[dict[int, float], dict[int, float], float] | None:
        """Factors of values and of slopes (or curvatures) by output, and a constant."""
        x = base.copy()
        x[self._column] = knot
        form = affine(claim.atom.expr, "output", x)
        if form is None or not form.slopes:
            return None
        values: dict[int, float] = {}
        slopes: dict[int, float] = {}
        for unknown, factor in form.slopes.items():
            output, along = self._kinds[unknown]
            (slopes if along else values)[output] = factor
        return values, slopes, form.constant

    def _narrowed(self, rows: list[Row], base: Point, knots: Knots) -> Line:
        """Drop rules and shorten the line as far as the contradiction remains."""
        inner = knots[1:-1]
        for rule in sorted({row.rule for row in rows}):
            fewer = [row for row in rows if row.rule != rule]
            if not is_possible(fewer, inner):
                rows = fewer
        start_knot, end_knot = 0, len(knots) - 1
        while not is_possible(_within(rows, start_knot + 1, end_knot), inner):
            start_knot += 1
        while not is_possible(_within(rows, start_knot, end_knot - 1), inner):
            end_knot -= 1
        start, end = base.copy(), base.copy()
        start[self._column] = knots[max(start_knot, 1)]
        end[self._column] = knots[min(end_knot, len(knots) - 2)]
        needed = sorted({row.rule for row in rows})
        return Line(tuple(self._rules[rule] for rule in needed), start, end)


class _LinearClaim(NamedTuple):
    """A claim that is linear along the line: factors by output, and a constant."""

    rule: int
    values: dict[int, float]
    slopes: dict[int, float]
    constant: float

    def rows(self, kind: str, cut: _Cut) -> Iterator[Row]:
        at, on = cut.at[self.rule], cut.on[self.rule]
        for k in np.flatnonzero(on).tolist():
            yield from self._on_segment(kind, k, float(cut.lengths[k]))
        last = len(cut.knots) - 1
        for k in range(last + 1):
            left_applies, right_applies = (
                bool(k > 0 and on[k - 1]),
                bool(k < last and on[k]),
            )
            if kind == "slope":
                # A function with a slope at a knot has no jump on either side of it.
                has_slope = at[k] and (left_applies or right_applies)
                if k > 0 and (left_applies or has_slope):
                    yield self._jump(("end", k - 1), ("at", k))
                if k < last and (right_applies or has_slope):
                    yield self._jump(("at", k), ("begin", k))
            elif kind == "bend" and at[k]:
                yield from self._where_it_bends(
                    k, left=left_applies, right=right_applies
                )

    def _on_segment(self, kind: str, k: int, length: float) -> Iterator[Row]:
        if kind != "bend":
            for when in ("begin", "end"):
                yield self._row(1.0, {when: 1.0}, k, {f"slope {when}": 1.0})
        if kind == "slope":
            yield self._row(length, {}, k, {"end": 1.0, "begin": -1.0})
        elif kind == "bend":
            ends = {"slope end": 1.0, "slope begin": -1.0}
            yield self._row(length, {}, k, ends)
            # Taylor expansions, from the beginning and from the end.
            forward = {"end": 1.0, "begin": -1.0, "slope begin": -length}
            yield self._row(length**2 / 2, {}, k, forward)
            backward = {"begin": 1.0, "end": -1.0, "slope end": length}
            yield self._row(length**2 / 2, {}, k, backward)

    def _where_it_bends(self, k: int, *, left: bool, right: bool) -> Iterator[Row]:
        if left:
            yield from self._joined(("end", k - 1), ("at", k))
        if right:
            yield from self._joined(("at", k), ("begin", k))
        if left and right:
            yield self._jump(("slope end", k - 1), ("slope begin", k))

    def _row(
        self,
        size: float,
        values: dict[str, float],
        segment: int,
        slopes: dict[str, float],
    ) -> Row:
        """A claim about numbers of one segment, its constant times `size`."""
        factors: dict[Number, float] = {}
        for coefficients, parts in ((self.values, values), (self.slopes, slopes)):
            for output, factor in coefficients.items():
                for quantity, times in parts.items():
                    factors[quantity, segment, output] = factor * times
        return Row(self.rule, factors, size * self.constant)

    def _jump(self, left: tuple[str, int], right: tuple[str, int]) -> Row:
        """A jump is an infinite slope, so the claim's constant does not matter.

        Likewise, a kink is a jump of the slope: an infinite curvature.
        """
        factors = {(*right, output): a for output, a in self.slopes.items()}
        factors |= {(*left, output): -a for output, a in self.slopes.items()}
        return Row(self.rule, factors, 0.0)

    def _joined(self, left: tuple[str, int], right: tuple[str, int]) -> Iterator[Row]:
        """A function with a curvature does not jump."""
        for output in self.slopes:
            for sign in (1.0, -1.0):
                factors = {(*left, output): sign, (*right, output): -sign}
                yield Row(self.rule, factors, 0.0)


def _tied(rules: Sequence[BoundRule], column: int) -> list[BoundRule]:
    """Rules about outputs whose slopes along the column are restricted.

    Also rules about other outputs that a rule connects to these.
    """
    direct = [rule for rule in rules if {(column,), (column, column)} & {*rule.slopes}]
    outputs = {output for rule in direct for output in rule.mentions("output")}
    while True:
        tied = [rule for rule in rules if outputs & {*rule.mentions("output")}]
        mentioned = {output for rule in tied for output in rule.mentions("output")}
        if mentioned == outputs:
            return tied
        outputs = mentioned


def _within(rows: Sequence[Row], first: int, last: int) -> list[Row]:
    """The rows about knots from the first to the last, and segments between them."""
    return [
        row
        for row in rows
        if all(
            first <= index <= (last if kind == "at" else last - 1)
            for kind, index, _ in row.factors
        )
    ]
