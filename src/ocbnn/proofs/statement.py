"""What it takes to break a rule, written so that bounds can answer it.

A rule is broken at an input of its region where the outputs are forbidden: a union of
intersections of `f <= 0`. Each `f` is a tree whose affine parts, in outputs and inputs
together, are taken out: those are bounded tightly, the rest by intervals.
"""

import dataclasses
from fractions import Fraction
from typing import TypeAlias

import jax.numpy as jnp
import numpy as np

from ocbnn.core.choices import Choices
from ocbnn.core.errors import CertificateError
from ocbnn.core.units import Units
from ocbnn.proofs.bounds import Functionals
from ocbnn.rules import (
    AllowedClasses,
    And,
    Atom,
    Binary,
    BoundRule,
    Call,
    Column,
    Comparison,
    Condition,
    Expectation,
    Expression,
    Forbidden,
    Negate,
    Number,
    Or,
    Slope,
)
from ocbnn.rules.affine import Affine, exact_affine
from ocbnn.rules.intervals import Arithmetic, Interval
from ocbnn.rules.normal_form import Terms, normal_form, replaced
from ocbnn.rules.tree import Slot

# Slopes of another size are rounded to nothing, or to infinity.
_LEAST, _MOST = 1e-290, 1e290
_SlotTerms: TypeAlias = tuple[tuple[Atom, ...], ...]


@dataclasses.dataclass(frozen=True)
class Statement:
    """How a rule is broken: in which region and by which outputs.

    Slots stand for the functionals first, and then for the slopes. Hashable by value,
    so that what is compiled for one rule serves another of the same form.

    Attributes:
        region: Where the rule speaks, a union of intersections of atoms; everywhere
            when it is a box.
        claim: What is forbidden there.
        slopes: An output and an input for each slope that is spoken of.
        functionals: How many slots are functionals.
        choices: Inputs of which exactly one is 1, and the others are 0.
    """

    region: _SlotTerms
    claim: _SlotTerms
    slopes: tuple[tuple[int, int], ...]
    functionals: int
    choices: Choices = ()


@dataclasses.dataclass(frozen=True)
class Table:
    """The functionals of a statement in a person's units, one row for each."""

    outputs: np.ndarray
    inputs: np.ndarray
    constant: np.ndarray

    def standard(self, units: Units) -> Functionals:
        """The same functionals of a network's own inputs and outputs."""
        shift = np.abs(self.outputs) @ np.abs(units.y_mean)
        shift = shift + np.abs(self.inputs) @ np.abs(units.x_mean)
        middle = self.outputs @ units.y_mean + self.inputs @ units.x_mean
        middle = middle + (self.outputs @ units.y_rest + self.inputs @ units.x_rest)
        return Functionals(
            jnp.asarray(self.outputs * units.y_scale),
            jnp.asarray(self.inputs * units.x_scale),
            jnp.asarray(self.constant + middle),
            jnp.asarray(np.abs(self.constant) + shift),
        )


# One is not at most zero.
_NEVER: Terms = ((Atom(Number(1.0), False),),)


def statement_of(
    bound: BoundRule, *, is_masked: bool = False
) -> tuple[Statement, Table]:
    """How a rule is broken, and the functionals that decide it.

    Where the classes that it forbids are masked, by nothing.
    """
    schema = bound.schema
    classes = schema.classes
    outputs = len(schema.outputs if classes is None else classes)
    reader = _Reader(outputs, len(schema.inputs))
    # Every box that is looked at lies in the region's bounds; more there is to say
    # only where the region is not all that lies between them.
    where = None if bound.region.is_box else bound.region.condition
    region = ((),) if where is None else reader.terms(normal_form(where))
    claim = reader.terms(_NEVER if is_masked else _forbidden(bound))
    slopes, count = tuple(reader.slopes), len(reader.rows)
    found = Statement(region, claim, slopes, count, schema.choices)
    return reader.settled(found), reader.table()


def _forbidden(bound: BoundRule) -> Terms:
    match bound.claim:
        case Forbidden(terms):
            return terms
        case Expectation():
            return normal_form(_close_to_a_mean(bound.claim), negated=True)
        case AllowedClasses(mask):
            logits = [Column("output", place, "") for place in range(len(mask))]
            good = [one for one, allowed in zip(logits, mask, strict=True) if allowed]
            bad = [
                one for one, allowed in zip(logits, mask, strict=True) if not allowed
            ]
            # Broken where a forbidden class comes before all that are allowed.
            return tuple(tuple(Atom(g - b, False) for g in good) for b in bad)
    raise CertificateError(
        f"rule {bound.name!r} is a function of your own, which cannot be bounded. "
        "Certificates are for rules that say what outputs must or must not be."
    )


def _close_to_a_mean(claim: Expectation) -> Condition:
    """What `BoundRule.holds` asks of an expectation: within 2 sd of some mean."""
    near = [
        And(
            (
                Comparison("<=", mean - 2 * sd, claim.target),
                Comparison("<=", claim.target, mean + 2 * sd),
            )
        )
        for mean, sd in zip(claim.means, claim.sds, strict=True)
    ]
    return near[0] if len(near) == 1 else Or(tuple(near))


class _Reader:
    """Takes affine parts and slopes out of trees, each once."""

    def __init__(self, outputs: int, inputs: int) -> None:
        self._outputs, self._inputs = outputs, inputs
        self.rows: list[Affine] = []
        self.slopes: list[tuple[int, int]] = []

    def terms(self, terms: Terms) -> _SlotTerms:
        return tuple(
            tuple(Atom(self._read(atom.expr), atom.strict) for atom in term)
            for term in terms
        )

    def _read(  # noqa: PLR0911 (one per kind of node)
        self, expr: Expression
    ) -> Expression:
        form = _rounded(exact_affine(self._joined(expr), "output"))
        if form is not None and not form.slopes:
            return Number(form.constant)
        if form is not None:
            if form not in self.rows:
                self.rows.append(form)
            return Slot(self.rows.index(form))
        match expr:
            case Slope(Column(_, output), inputs):
                return self._slope(output, expr, len(inputs))
            case Negate(part):
                return Negate(self._read(part))
            case Binary(op, left, right):
                return Binary(op, self._read(left), self._read(right))
            case Call(function, args):
                return Call(function, tuple(map(self._read, args)))
        return expr

    def _slope(self, output: int, expr: Slope, order: int) -> Expression:
        if order > 1:
            raise CertificateError(
                f"({expr}) is a curvature, and certificates know values and slopes "
                "only. Check it at points with check_rules()."
            )
        pair = (output, expr.along[0])
        if pair not in self.slopes:
            self.slopes.append(pair)
        # Counted from the end until it is known how many functionals there are.
        return Slot(-1 - self.slopes.index(pair))

    def _joined(self, expr: Expression) -> Expression:
        """The same with inputs as more outputs, so that one form holds both."""
        match expr:
            case Column("input", index, name):
                return Column("output", self._outputs + index, name)
            case Negate(part):
                return Negate(self._joined(part))
            case Binary(op, left, right):
                return Binary(op, self._joined(left), self._joined(right))
            case Call(function, args):
                return Call(function, tuple(map(self._joined, args)))
        return expr

    def settled(self, found: Statement) -> Statement:
        """With the slopes' slots after those of the functionals."""
        count = len(self.rows)
        place = lambda terms: tuple(
            tuple(Atom(_placed(atom.expr, count), atom.strict) for atom in term)
            for term in terms
        )
        return dataclasses.replace(
            found, region=place(found.region), claim=place(found.claim)
        )

    def table(self) -> Table:
        whole = np.zeros((len(self.rows), self._outputs + self._inputs))
        for row, form in zip(whole, self.rows, strict=True):
            for index, slope in form.slopes.items():
                row[index] = slope
        constant = np.array([form.constant for form in self.rows], float)
        return Table(whole[:, : self._outputs], whole[:, self._outputs :], constant)


def _rounded(form: Affine | None) -> Affine | None:
    """In double precision, where no more is lost than bounds allow for.

    A constant by itself must be right to the last digit. One that is added to something
    may be rounded, and so may slopes, unless nothing would be left of them.
    """
    if form is None:
        return None
    sizes = [abs(slope) for slope in form.slopes.values()]
    if any(not _LEAST < size < _MOST for size in sizes) or abs(form.constant) > _MOST:
        return None
    found = Affine(
        {index: float(slope) for index, slope in form.slopes.items()},
        float(form.constant),
    )
    is_exact = Fraction(found.constant) == form.constant
    return found if form.slopes or is_exact else None


def _placed(expr: Expression, count: int) -> Expression:
    def moved(part: Expression) -> Expression:
        if isinstance(part, Slot) and part.place < 0:
            return Slot(count - 1 - part.place)
        return part

    return replaced(expr, moved)


def ranges(terms: _SlotTerms, slots: list[Interval]) -> list[list[Interval]]:
    """Bounds on every atom of every term."""
    atoms = dict.fromkeys(atom.expr for term in terms for atom in term)
    range_at = {expr: Arithmetic(jnp).range_of(expr, slots) for expr in atoms}
    return [[range_at[atom.expr] for atom in term] for term in terms]
