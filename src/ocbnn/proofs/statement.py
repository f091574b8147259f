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
from ocbnn.core.units import Units
from ocbnn.errors import CertificateError
from ocbnn.language.affine import Affine, exact_affine
from ocbnn.language.intervals import Arithmetic, Interval
from ocbnn.language.normal_form import Terms, normal_form, replaced
from ocbnn.language.tree import Slot
from ocbnn.proofs.bounds import Functionals
from ocbnn.rules import (
    Atom,
    Binary,
    BoundRule,
    Call,
    Column,
    Expression,
    Negate,
    Number,
    Slope,
)

# Slopes of another size are rounded to nothing, or to infinity.
_LEAST, _MOST = 1e-290, 1e290
_SlotTerms: TypeAlias = tuple[tuple[Atom, ...], ...]


@dataclasses.dataclass(frozen=True)
class Statement:
    """How a rule is broken: in which region and by which outputs.

    Slots stand for the functionals first, and then for the slopes. Hashable by value,
    so that what is compiled for one rule serves another of the same form.

    Attributes
    ----------
    region
        Where the rule speaks, a union of intersections of atoms; everywhere
        when it is a box.
    claim
        What is forbidden there.
    slopes
        An output and an input for each slope that is spoken of.
    functionals
        How many slots are functionals.
    choices
        Inputs of which exactly one is 1, and the others are 0.
    """

    region: _SlotTerms
    claim: _SlotTerms
    slopes: tuple[tuple[int, int], ...]
    functionals: int
    choices: Choices = ()


@dataclasses.dataclass(frozen=True)
class Table:
    """The functionals of a statement in the user's units, one row for each."""

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
    terms = bound.claim.broken
    if terms is None:
        raise CertificateError(
            f"rule {bound.name!r} is a function of your own, which cannot be bounded. "
            "Certificates are for rules that say what outputs must or must not be."
        )
    return terms


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
        form = _rounded(exact_affine(expr, output=0, input=self._outputs))
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
