"""What compiled code sees of a tree: its form, with the numbers told apart.

Trees that differ in their numbers and in columns' names alone have equal forms, so that
what is compiled for `y <= 3` serves `z <= 4`.
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
    again = lambda part: slotted(part, numbers)
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
