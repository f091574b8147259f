"""Rules about slopes tie places together: what no function can do along a line.

A function that rises from here to there is not lower there than here. Along one input,
with the others held, the line is cut at every threshold of a rule. On each stretch the
same rules apply, and what they say of slopes is integrated: `d(y, x) >= 1` on a stretch
of length 2 lifts y by 2 at least. All of it is straight in a function's values and
slopes at the ends of the stretches, so that a linear program tells whether there can be
one (`programs`).

A function may jump where no rule about its slope speaks against that: rules that only
touch are no contradiction for a function that is steep enough between them.
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

# With more thresholds along one input nothing is said.
_MOST_PLACES = 60
# Places between the outermost ones, for claims that vary.
_EVEN = 5
# Lines that are computed for each input, of those that differ.
_MOST_PROGRAMS = 50
# How far the line goes on behind its outermost thresholds, as a share of it.
_BEYOND = 0.01

Point = Float[np.ndarray, " inputs"]
Places = Float[np.ndarray, " places"]


class Line(NamedTuple):
    """Rules that no function keeps between two inputs, which differ in one column."""

    rules: tuple[BoundRule, ...]
    start: Point
    end: Point


class _Claim(NamedTuple):
    """What one atom of a claim speaks of: "value", "slope", "both" or "bend"."""

    atom: Atom
    kind: str
    varies: bool  # along the line


class _Cut(NamedTuple):
    """A line in pieces: where it is cut, and which rules apply there and in between."""

    places: Places
    lengths: Float[np.ndarray, " stretches"]
    at: Bool[np.ndarray, "rules places"]
    on: Bool[np.ndarray, "rules stretches"]


class LineFeasibility:
    """Looks along lines of one input."""

    def __init__(self, rules: Sequence[BoundRule], column: int) -> None:
        self._column = column
        self._rules = _tied(rules, column)
        unknowns = Unknowns(self._rules)
        self._kinds = [unknowns.slope(index) for index in range(unknowns.count)]
        self._claims = [self._read(rule, unknowns) for rule in self._rules]
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
        """A contradiction on one of the lines through `bases`.

        Looked at is what lies between thresholds of rules, and all of `reach`; of what
        is beyond both, where rules have no end, nothing is said.
        """
        places = self._places(reach)
        if not self._rules or not 3 <= len(places) <= _MOST_PLACES:
            return None
        at = self._applies(bases, places)
        on = self._applies(bases, places[:-1] + 0.5 * np.diff(places))
        # The outermost stretches are of no length, and only tell which rules apply
        # just beyond the outermost thresholds.
        at[..., [0, -1]] = False
        lengths = np.diff(places)
        lengths[[0, -1]] = 0.0
        # A region of another shape may be left and entered again on a stretch.
        on[:, [edges is None for edges in self._edges]] = False
        tried = set()
        for line, base in enumerate(bases):
            key = at[line].tobytes() + on[line].tobytes()
            key += b"" if self._is_same else base.tobytes()
            if key in tried or not self._is_tied(on[line]):
                continue
            tried.add(key)
            rows = list(self._rows(base, _Cut(places, lengths, at[line], on[line])))
            if not is_possible(rows, places[1:-1]):
                return self._narrowed(rows, base, places)
            if len(tried) >= _MOST_PROGRAMS:
                break
        return None

    def _read(self, rule: BoundRule, unknowns: Unknowns) -> list[_Claim]:
        terms = allowed_terms(rule, unknowns)
        if terms is None or len(terms) != 1:
            # Of several alternatives it is not known which is taken where.
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

    def _places(self, reach: tuple[float, float]) -> Places:
        places = set(reach)
        for rule, edges in zip(self._rules, self._edges, strict=True):
            places |= {edge for column, edge in edges or () if column == self._column}
            if edges is None:
                places |= {float(end[self._column]) for end in rule.region.box()}
        ends = np.sort([place for place in places if np.isfinite(place)])
        if not len(ends):
            return ends
        beyond = _BEYOND * (np.ptp(ends) or max(1.0, abs(ends[0])))
        even = np.linspace(ends[0], ends[-1], _EVEN)
        return np.unique([ends[0] - beyond, *ends, *even, ends[-1] + beyond])

    def _applies(
        self, bases: Float[np.ndarray, "lines inputs"], places: Places
    ) -> Bool[np.ndarray, "lines rules places"]:
        points = np.repeat(bases, len(places), axis=0)
        points[:, self._column] = np.tile(places, len(bases))
        applies = [rule.applies(points) for rule in self._rules]
        table = np.stack(applies).reshape(len(applies), len(bases), len(places))
        return np.moveaxis(table, 0, 1).copy()

    def _is_tied(self, on: Bool[np.ndarray, "rules stretches"]) -> bool:
        """Whether a rule about slopes speaks of any stretch."""
        tying = [
            any(claim.kind in ("slope", "bend") for claim in claims)
            for claims in self._claims
        ]
        return bool(on[tying].any())

    def _rows(self, base: Point, cut: _Cut) -> Iterator[Row]:
        for index, claims in enumerate(self._claims):
            for claim in claims:
                if claim.kind == "value":
                    for place in np.flatnonzero(cut.at[index]).tolist():
                        form = self._form(claim, base, cut.places[place])
                        if form is not None:
                            factors = {("at", place, o): a for o, a in form[0].items()}
                            yield Row(index, factors, form[2])
                if not claim.varies:
                    form = self._form(claim, base, cut.places[0])
                    if form is not None:
                        yield from _LinearClaim(index, *form).rows(claim.kind, cut)

    def _form(
        self, claim: _Claim, base: Point, place: float
    ) -> tuple[dict[int, float], dict[int, float], float] | None:
        """Factors of values and of slopes (or bends) by output, and a constant."""
        x = base.copy()
        x[self._column] = place
        form = affine(claim.atom.expr, "output", x)
        if form is None or not form.slopes:
            return None
        values: dict[int, float] = {}
        slopes: dict[int, float] = {}
        for unknown, factor in form.slopes.items():
            output, along = self._kinds[unknown]
            (slopes if along else values)[output] = factor
        return values, slopes, form.constant

    def _narrowed(self, rows: list[Row], base: Point, places: Places) -> Line:
        """No more rules, and no longer a line, than the contradiction needs."""
        inner = places[1:-1]
        for rule in sorted({row.rule for row in rows}):
            fewer = [row for row in rows if row.rule != rule]
            if not is_possible(fewer, inner):
                rows = fewer
        first, last = 0, len(places) - 1
        while not is_possible(_within(rows, first + 1, last), inner):
            first += 1
        while not is_possible(_within(rows, first, last - 1), inner):
            last -= 1
        start, end = base.copy(), base.copy()
        start[self._column] = places[max(first, 1)]
        end[self._column] = places[min(last, len(places) - 2)]
        needed = sorted({row.rule for row in rows})
        return Line(tuple(self._rules[rule] for rule in needed), start, end)


class _LinearClaim(NamedTuple):
    """What one claim says wherever it applies: factors by output, and a constant."""

    rule: int
    values: dict[int, float]
    slopes: dict[int, float]
    constant: float

    def rows(self, kind: str, cut: _Cut) -> Iterator[Row]:
        at, on = cut.at[self.rule], cut.on[self.rule]
        for k in np.flatnonzero(on).tolist():
            yield from self._on_stretch(kind, k, float(cut.lengths[k]))
        last = len(cut.places) - 1
        for k in range(last + 1):
            left, right = bool(k > 0 and on[k - 1]), bool(k < last and on[k])
            if kind == "slope":
                # What has a slope at the place has no jump on either side of it.
                here = at[k] and (left or right)
                if k > 0 and (left or here):
                    yield self._jump(("end", k - 1), ("at", k))
                if k < last and (right or here):
                    yield self._jump(("at", k), ("begin", k))
            elif kind == "bend" and at[k]:
                yield from self._where_it_bends(k, left=left, right=right)

    def _on_stretch(self, kind: str, k: int, length: float) -> Iterator[Row]:
        if kind != "bend":
            for when in ("begin", "end"):
                yield self._row(1.0, {when: 1.0}, k, {f"slope {when}": 1.0})
        if kind == "slope":
            yield self._row(length, {}, k, {"end": 1.0, "begin": -1.0})
        elif kind == "bend":
            ends = {"slope end": 1.0, "slope begin": -1.0}
            yield self._row(length, {}, k, ends)
            # Taylor, from the beginning and from the end.
            away = {"end": 1.0, "begin": -1.0, "slope begin": -length}
            yield self._row(length**2 / 2, {}, k, away)
            back = {"begin": 1.0, "end": -1.0, "slope end": length}
            yield self._row(length**2 / 2, {}, k, back)

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
        stretch: int,
        slopes: dict[str, float],
    ) -> Row:
        """A claim about numbers of one stretch, its constant times `size`."""
        factors: dict[Number, float] = {}
        for own, parts in ((self.values, values), (self.slopes, slopes)):
            for output, factor in own.items():
                for what, times in parts.items():
                    factors[what, stretch, output] = factor * times
        return Row(self.rule, factors, size * self.constant)

    def _jump(self, before: tuple[str, int], after: tuple[str, int]) -> Row:
        """A jump is a slope without end: the constant is nothing to it.

        So is a kink, of which slopes are the values, a bend without end.
        """
        factors = {(*after, output): a for output, a in self.slopes.items()}
        factors |= {(*before, output): -a for output, a in self.slopes.items()}
        return Row(self.rule, factors, 0.0)

    def _joined(self, before: tuple[str, int], after: tuple[str, int]) -> Iterator[Row]:
        """What bends does not jump."""
        for output in self.slopes:
            for sign in (1.0, -1.0):
                both = {(*before, output): sign, (*after, output): -sign}
                yield Row(self.rule, both, 0.0)


def _tied(rules: Sequence[BoundRule], column: int) -> list[BoundRule]:
    """Rules about outputs whose slopes along the column are spoken of.

    And about others, which a rule ties to them.
    """
    mine = [rule for rule in rules if {(column,), (column, column)} & {*rule.slopes}]
    outputs = {output for rule in mine for output in rule.mentions("output")}
    while True:
        tied = [rule for rule in rules if outputs & {*rule.mentions("output")}]
        more = {output for rule in tied for output in rule.mentions("output")}
        if more == outputs:
            return tied
        outputs = more


def _within(rows: Sequence[Row], first: int, last: int) -> list[Row]:
    """Those that speak of places from the first to the last, and stretches between."""
    return [
        row
        for row in rows
        if all(
            first <= index <= (last if what == "at" else last - 1)
            for what, index, _ in row.factors
        )
    ]
