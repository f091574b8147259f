"""What compiled code sees of a claim: its form, with the numbers told apart.

Claims that differ in their numbers and in columns' names alone have equal forms, so
that what is compiled for `y <= 3` serves `z <= 4`.
"""

import dataclasses

from ocbnn.rules.bound import BoundClaim, Expectation, Forbidden
from ocbnn.rules.normal_form import Atom
from ocbnn.rules.tree import (
    Binary,
    Call,
    Column,
    Expression,
    Negate,
    Number,
    Slope,
    Slot,
)


def take_out(claim: BoundClaim) -> tuple[BoundClaim, tuple[float, ...]]:
    """The form of a claim, and the numbers that were in it, in the order of its slots.

    >>> y = Column("output", 0, "y")
    >>> form, numbers = take_out(Expectation(y / 2, (y - 3,), (0.1,), (1.0,)))
    >>> str(form.means[0]), numbers
    ('_ - #1', (2.0, 3.0))
    """
    numbers: list[float] = []
    return _form(claim, numbers), tuple(numbers)


def _form(claim: BoundClaim, numbers: list[float]) -> BoundClaim:
    match claim:
        case Forbidden(terms):
            slotted = tuple(
                tuple(Atom(_slotted(atom.expr, numbers), atom.strict) for atom in term)
                for term in terms
            )
            return dataclasses.replace(claim, terms=slotted)
        case Expectation(target, means):
            target = _slotted(target, numbers)
            slotted = tuple(_slotted(mean, numbers) for mean in means)
            return Expectation(target, slotted, (), ())
    return claim


def _slotted(  # noqa: PLR0911 (one per kind of node)
    expr: Expression, numbers: list[float]
) -> Expression:
    again = lambda part: _slotted(part, numbers)
    match expr:
        case Number(value):
            numbers.append(value)
            return Slot(len(numbers) - 1)
        case Column(kind, index):
            return Column(kind, index, "_")
        case Slope(output, inputs):
            return Slope(again(output), tuple(map(again, inputs)))
        case Negate(part):
            return Negate(again(part))
        case Binary("**", left, right):
            # A whole exponent is a product, which is decided when code is compiled.
            return Binary("**", again(left), right)
        case Binary(op, left, right):
            return Binary(op, again(left), again(right))
        case Call(function, args):
            return Call(function, tuple(map(again, args)))
    return expr
