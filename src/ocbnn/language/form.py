"""The static form of a tree for compiled code, with its numbers taken out.

Trees that differ only in their numbers and columns' names have equal forms, so code
that was compiled for `y <= 3` is reused for `z <= 4`.
"""

from ocbnn.language.normal_form import Atom, Terms
from ocbnn.language.tree import (
    Binary,
    Call,
    Column,
    Expression,
    Negate,
    Number,
    Slope,
    Slot,
)


def slotted_terms(terms: Terms, numbers: list[float]) -> Terms:
    """The same terms with slots for their numbers, which are added to the list."""
    return tuple(
        tuple(Atom(slotted(atom.expr, numbers), atom.strict) for atom in term)
        for term in terms
    )


def slotted(  # noqa: PLR0911 (one per kind of node)
    expr: Expression, numbers: list[float]
) -> Expression:
    """The same expression with slots for its numbers, which are added to the list.

    >>> numbers = []
    >>> str(slotted(Column("output", 0, "y") - 3, numbers)), numbers
    ('_ - #0', [3.0])
    """
    slot_part = lambda part: slotted(part, numbers)
    match expr:
        case Number(value):
            numbers.append(value)
            return Slot(len(numbers) - 1)
        case Column(kind, index):
            return Column(kind, index, "_")
        case Slope(output, inputs):
            return Slope(slot_part(output), tuple(map(slot_part, inputs)))
        case Negate(part):
            return Negate(slot_part(part))
        case Binary("**", left, right):
            # An integer exponent compiles to a product, so exponents stay static.
            return Binary("**", slot_part(left), right)
        case Binary(op, left, right):
            return Binary(op, slot_part(left), slot_part(right))
        case Call(function, args):
            return Call(function, tuple(map(slot_part, args)))
    return expr
