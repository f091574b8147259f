"""Trees in standard units: shifts and scales are folded into their numbers.

Compiled code computes in single precision, which cannot resolve the hours of a Julian
date or single units of a billion. So a claim is rewritten for columns of mean zero and
spread one before it is compiled. Affine expressions stay affine, and their constants
are summed in fractions, so `y - 1000000000.8` loses nothing to a mean of a billion.

>>> import numpy as np
>>> units = Units.of(np.array([[1.0], [3.0]]), np.array([[1e9], [1e9 + 4]]), 1)
>>> print(standard_expression(Column("output", 0, "y") - 1e9, units))
2 * y + 2
"""

import dataclasses
import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from ocbnn.core.slopes import slope_scale
from ocbnn.core.units import Units
from ocbnn.errors import RuleError
from ocbnn.language.conditions import And, Condition, Not, Or
from ocbnn.language.evaluate import evaluate
from ocbnn.language.normal_form import Atom, Terms
from ocbnn.language.tree import (
    Binary,
    Call,
    Column,
    Comparison,
    Expression,
    Negate,
    Number,
    Slope,
)

_NOWHERE = np.zeros((1, 1))
_ZERO, _ONE = Fraction(0), Fraction(1)


def standard_terms(terms: Terms, units: Units) -> Terms:
    """The same terms about columns in standard units."""
    fold = lambda atom: Atom(standard_expression(atom.expr, units), atom.strict)
    return tuple(tuple(map(fold, atoms)) for atoms in terms)


def standard_condition(condition: Condition, units: Units) -> Condition:
    """The same condition on columns in standard units.

    >>> units = Units.of(np.array([[2460000.0], [2460001.0]]), None, 1)
    >>> print(standard_condition(Column("input", 0, "day") < 2460000.25, units))
    0.5 * day + 0.25 < 0
    """
    match condition:
        case Comparison(op, left, right):
            gap = standard_expression(left - right, units)
            return Comparison(op, gap, Number(0.0))
        case Not(part):
            return Not(standard_condition(part, units))
        case And(parts) | Or(parts):
            folded = tuple(standard_condition(part, units) for part in parts)
            return type(condition)(folded)
    return condition


def standard_expression(expr: Expression, units: Units) -> Expression:
    """An expression of equal value, for columns in standard units."""
    return _Folder(units).fold(expr).written()


@dataclasses.dataclass(frozen=True)
class _Sum:
    """A constant plus numbers times parts that are not sums themselves.

    Parts with a factor of zero are kept: whether a form must be compiled again should
    not depend on its numbers.
    """

    parts: Mapping[Expression, Fraction]
    constant: Fraction

    def scaled(self, factor: Fraction) -> "_Sum":
        parts = {part: factor * number for part, number in self.parts.items()}
        return _Sum(parts, factor * self.constant)

    def plus(self, other: "_Sum") -> "_Sum":
        parts = dict(self.parts)
        for part, number in other.parts.items():
            parts[part] = parts.get(part, _ZERO) + number
        return _Sum(parts, self.constant + other.constant)

    def written(self) -> Expression:
        """The sum as an expression."""
        if not self.parts:
            return _number(self.constant)
        (first, number), *rest = self.parts.items()
        is_bare = isinstance(first, Binary | Call) and not rest
        if is_bare and number == 1 and self.constant == 0:
            # Nested functions must not become deeper than they were.
            return first
        total = _number(number) * first
        for part, count in rest:
            total = total + _number(count) * part
        return total + _number(self.constant)


@dataclasses.dataclass(frozen=True)
class _Folder:
    units: Units

    def fold(  # noqa: PLR0911 (one per kind of node)
        self, expr: Expression
    ) -> _Sum:
        match expr:
            case Number(value):
                return _Sum({}, Fraction(value))
            case Column("input", index):
                means = self.units.x_mean, self.units.x_rest
                return _column(expr, means, self.units.x_scale, index)
            case Column(_, index):
                means = self.units.y_mean, self.units.y_rest
                return _column(expr, means, self.units.y_scale, index)
            case Slope(Column(_, index)):
                scales = slope_scale(expr.along, self.units.y_scale, self.units.x_scale)
                return _Sum({expr: Fraction(float(scales[index]))}, _ZERO)
            case Negate(part):
                return self.fold(part).scaled(-_ONE)
            case Binary(op, left, right):
                return self._binary(op, self.fold(left), self.fold(right))
            case Call(function, args):
                return self._call(function, [self.fold(arg) for arg in args])
        return _opaque(expr)

    def _binary(  # noqa: PLR0911 (one per operator)
        self, op: str, left: _Sum, right: _Sum
    ) -> _Sum:
        if op == "+":
            return left.plus(right)
        if op == "-":
            return left.plus(right.scaled(-_ONE))
        if op == "*" and not right.parts:
            return left.scaled(right.constant)
        if op == "*" and not left.parts:
            return right.scaled(left.constant)
        if op == "/" and not right.parts and right.constant != 0:
            return left.scaled(1 / right.constant)
        if op == "**" and not right.parts and right.constant == 1:
            return left
        return _computed(Binary(op, left.written(), right.written()))

    def _call(self, function: str, args: list[_Sum]) -> _Sum:
        if function not in ("min", "max"):
            return _computed(Call(function, tuple(arg.written() for arg in args)))
        # A constant added to all arguments can be added to their minimum or maximum.
        shared = _Sum({}, args[0].constant)
        parts = tuple(arg.plus(shared.scaled(-_ONE)).written() for arg in args)
        return _computed(Call(function, parts)).plus(shared)


def _column(
    column: Expression,
    means: tuple[np.ndarray, np.ndarray],
    scales: np.ndarray,
    index: int,
) -> _Sum:
    mean = sum((Fraction(float(part[index])) for part in means), start=_ZERO)
    return _Sum({column: Fraction(float(scales[index]))}, mean)


def _computed(expr: Expression) -> _Sum:
    """A number if all arguments are numbers, else one part of a sum."""
    arguments = expr.args if isinstance(expr, Call) else ()
    if isinstance(expr, Binary):
        arguments = (expr.left, expr.right)
    if all(isinstance(part, Number) for part in arguments):
        value = float(evaluate(expr, _NOWHERE, None, np)[0])
        if math.isfinite(value):
            return _Sum({}, Fraction(value))
    return _opaque(expr)


def _number(value: Fraction) -> Number:
    try:
        return Number(float(value))
    except OverflowError:
        raise RuleError(
            "a number of this rule is too large to compute with once columns are "
            "scaled to a spread of one. Write the rule and the data in larger units."
        ) from None


def _opaque(expr: Expression) -> _Sum:
    return _Sum({expr: _ONE}, _ZERO)
