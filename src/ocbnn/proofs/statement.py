"""How a rule can be violated, in a form that bounds can decide.

A rule is violated at an input of its region where the outputs are forbidden: a union of
intersections of `f <= 0`. Affine parts of each tree `f`, in outputs and inputs
together, are extracted: they are bounded tightly, and the rest by intervals.
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

# Slopes outside of this range are rounded to zero or infinity.
_LEAST, _MOST = 1e-290, 1e290
_SlotTerms: TypeAlias = tuple[tuple[Atom, ...], ...]


@dataclasses.dataclass(frozen=True)
class Statement:
    """How a rule is violated: in which region and by which outputs.

    Slots number the functionals first, and then the slopes. Hashable by value, so that
    code compiled for one rule serves others of the same form.

    Attributes
    ----------
    region
        Where the rule applies, a union of intersections of atoms; everywhere
        when it is a box.
    claim
        What is forbidden there.
    slopes
        An output and an input for each slope that the rule mentions.
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


# False everywhere: one is not at most zero.
_NEVER: Terms = ((Atom(Number(1.0), False),),)


def statement_of(
    bound: BoundRule, *, is_masked: bool = False
) -> tuple[Statement, Table]:
    """How a rule is violated, and the functionals that decide it.

    If the classes that it forbids are masked, nothing can violate it.
    """
    schema = bound.schema
    classes = schema.classes
    outputs = len(schema.outputs if classes is None else classes)
    reader = _Reader(outputs, len(schema.inputs))
    # Every box lies within the region's bounds, so a condition is needed only if the
    # region does not fill them.
    where = None if bound.region.is_box else bound.region.condition
    region = ((),) if where is None else reader.terms(normal_form(where))
    claim = reader.terms(_NEVER if is_masked else _forbidden(bound))
    slopes, count = tuple(reader.slopes), len(reader.rows)
    statement = Statement(region, claim, slopes, count, schema.choices)
    return reader.settled(statement), reader.table()


def _forbidden(bound: BoundRule) -> Terms:
    terms = bound.claim.broken
    if terms is None:
        raise CertificateError(
            f"rule {bound.name!r} does not say with an expression which outputs "
            "violate it, so there is nothing to prove. Certificates are for rules that "
            "say what outputs must or must not be."
        )
    return terms


class _Reader:
    """Extracts affine parts and slopes from trees, each once."""

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
        form = _to_double(exact_affine(expr, output=0, input=self._outputs))
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
                f"({expr}) is a curvature, and certificates only support values and "
                "slopes. Check it at points with check_rules()."
            )
        pair = (output, expr.along[0])
        if pair not in self.slopes:
            self.slopes.append(pair)
        # Negative until the number of functionals is known; see `settled`.
        return Slot(-1 - self.slopes.index(pair))

    def settled(self, statement: Statement) -> Statement:
        """The statement with slots of slopes after those of the functionals."""
        count = len(self.rows)
        place = lambda terms: tuple(
            tuple(
                Atom(_with_final_slots(atom.expr, count), atom.strict) for atom in term
            )
            for term in terms
        )
        return dataclasses.replace(
            statement,
            region=place(statement.region),
            claim=place(statement.claim),
        )

    def table(self) -> Table:
        coefficients = np.zeros((len(self.rows), self._outputs + self._inputs))
        for row, form in zip(coefficients, self.rows, strict=True):
            for index, slope in form.slopes.items():
                row[index] = slope
        constant = np.array([form.constant for form in self.rows], float)
        return Table(
            coefficients[:, : self._outputs], coefficients[:, self._outputs :], constant
        )


def _to_double(form: Affine | None) -> Affine | None:
    """The form in double precision, or None if bounds do not cover the rounding.

    A constant by itself must be exact. A constant that is added to something may be
    rounded, and so may slopes, unless they would underflow or overflow.
    """
    if form is None:
        return None
    sizes = [abs(slope) for slope in form.slopes.values()]
    if any(not _LEAST < size < _MOST for size in sizes) or abs(form.constant) > _MOST:
        return None
    rounded = Affine(
        {index: float(slope) for index, slope in form.slopes.items()},
        float(form.constant),
    )
    is_exact = Fraction(rounded.constant) == form.constant
    return rounded if form.slopes or is_exact else None


def _with_final_slots(expr: Expression, count: int) -> Expression:
    def renumbered(part: Expression) -> Expression:
        if isinstance(part, Slot) and part.place < 0:
            return Slot(count - 1 - part.place)
        return part

    return replaced(expr, renumbered)


def ranges(terms: _SlotTerms, slots: list[Interval]) -> list[list[Interval]]:
    """Bounds on every atom of every term."""
    atoms = dict.fromkeys(atom.expr for term in terms for atom in term)
    range_at = {expr: Arithmetic(jnp).range_of(expr, slots) for expr in atoms}
    return [[range_at[atom.expr] for atom in term] for term in terms]
