"""Disjunctive normal form: a union of intersections of `f(x, y) <= 0`."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from ocbnn.core.types import NO_SLOPES, Slopes
from ocbnn.errors import RuleError
from ocbnn.language.conditions import And, Condition, Node, Not, Or
from ocbnn.language.evaluate import evaluate
from ocbnn.language.tree import (
    Binary,
    Call,
    Column,
    Comparison,
    Expression,
    Name,
    Negate,
    Number,
    Slope,
)

MOST_TERMS = 256


@dataclasses.dataclass(frozen=True)
class Atom:
    """The statement `expr <= 0`, or `expr < 0` when strict."""

    expr: Expression
    strict: bool

    @property
    def uses_outputs(self) -> bool:
        """Whether it mentions an output; if not, the atom is exact, never soft."""
        return any(column.kind == "output" for column in columns(self.expr))

    def holds(self, x: Any, y: Any, slopes: Slopes = NO_SLOPES) -> np.ndarray:
        """Whether the statement is true, in NumPy."""
        value = evaluate(self.expr, x, y, np, slopes)
        return value < 0 if self.strict else value <= 0

    def __str__(self) -> str:
        return f"{self.expr} {'<' if self.strict else '<='} 0"


Terms: TypeAlias = tuple[tuple[Atom, ...], ...]


def normal_form(condition: Condition, *, negated: bool = False) -> Terms:
    """Turn a bound condition, or its negation, into a union of intersections.

    >>> y = Column("output", 0, "y")
    >>> [[str(atom) for atom in term] for term in normal_form(y.between(2, 3))]
    [['2 - y <= 0', 'y - 3 <= 0']]
    >>> [str(atom) for (atom,) in normal_form(y.between(2, 3), negated=True)]
    ['y - 2 < 0', '3 - y < 0']
    """
    terms = _absorb(_terms(condition, negated))
    return tuple(tuple(term) for term in terms)


def columns(node: Node) -> Iterator[Column]:
    """Columns of a bound tree, left to right, as often as they are mentioned."""
    return (leaf for leaf in leaves(node) if isinstance(leaf, Column))


def leaves(node: Node) -> Iterator[Node]:
    """Names, columns, numbers and memberships of a tree, left to right."""
    return (part for part in _walk(node) if not isinstance(part, _INNER))


def slopes_in(node: Node) -> Iterator[Slope]:
    """Slopes of a tree, left to right, as often as they are mentioned."""
    return (part for part in _walk(node) if isinstance(part, Slope))


def replaced(
    expr: Expression, change: Callable[[Expression], Expression]
) -> Expression:
    """Apply a function to an expression's leaves, which here include slopes."""
    replace_part = lambda part: replaced(part, change)
    match expr:
        case Negate(part):
            return Negate(replace_part(part))
        case Binary(op, left, right):
            return Binary(op, replace_part(left), replace_part(right))
        case Call(function, args):
            return Call(function, tuple(map(replace_part, args)))
    return change(expr)


_INNER = (Negate, Not, Binary, Comparison, Call, And, Or, Slope)


def _walk(node: Node) -> Iterator[Node]:
    stack: list[Node] = [node]
    while stack:
        current = stack.pop()
        yield current
        match current:
            case Negate(part) | Not(part):
                stack.append(part)
            case Binary(_, left, right) | Comparison(_, left, right):
                stack += [right, left]
            case Call(_, parts) | And(parts) | Or(parts):
                stack += reversed(parts)
            case Slope(output, inputs):
                stack += [*reversed(inputs), output]


def names(node: Node) -> tuple[Name, ...]:
    """Names of a tree that is not bound yet, each once."""
    unbound = [leaf for leaf in leaves(node) if isinstance(leaf, Name)]
    return tuple(dict.fromkeys(unbound))


# A term is a dict used as an ordered set: atoms keep the order they were written in.
_Term: TypeAlias = dict[Atom, None]


def _terms(condition: Condition, negated: bool) -> list[_Term]:
    match condition:
        case Comparison():
            return [{_atom(condition, negated): None}]
        case Not(part):
            return _terms(part, not negated)
        case And(parts) | Or(parts):
            pieces = [_terms(part, negated) for part in parts]
            union = isinstance(condition, Or) != negated
            return _unite(pieces) if union else _intersect(pieces)
    raise RuleError(f"({condition}) has no normal form: it is about classes.")


def _atom(comparison: Comparison, negated: bool) -> Atom:
    left, right = comparison.left, comparison.right
    strict = comparison.op in ("<", ">")
    swap = comparison.op in (">", ">=")
    if swap != negated:
        left, right = right, left
    zero = isinstance(right, Number) and right.value == 0
    return Atom(left if zero else left - right, strict != negated)


def _unite(pieces: Sequence[list[_Term]]) -> list[_Term]:
    return _absorb([term for piece in pieces for term in piece])


def _intersect(pieces: Sequence[list[_Term]]) -> list[_Term]:
    result: list[_Term] = [{}]
    for piece in pieces:
        _check_size(len(result) * len(piece), 4 * MOST_TERMS)
        result = _absorb([a | b for a in result for b in piece])
    return result


def _absorb(terms: list[_Term]) -> list[_Term]:
    """Drop every term that is contained in another one."""
    _check_size(len(terms), 4 * MOST_TERMS)
    maximal: list[_Term] = []
    for term in sorted(terms, key=len):
        if not any(larger.keys() <= term.keys() for larger in maximal):
            maximal.append(term)
    _check_size(len(maximal), MOST_TERMS)
    order = {id(term): index for index, term in enumerate(terms)}
    return sorted(maximal, key=lambda term: order[id(term)])


def _check_size(count: int, limit: int) -> None:
    if count > limit:
        raise RuleError(
            f"the rule breaks into more than {MOST_TERMS} pieces when its `and` and "
            "`or` are multiplied out. Split it into several rules, each with its own "
            "`if`, or write it as `custom(log_g)`."
        )
