"""Which expressions are affine, `Σ a_i v_i + b`, found by their structure."""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from ocbnn.rules.evaluate import evaluate
from ocbnn.rules.tree import Binary, Call, Column, Expression, Negate, Number, Role

_NOWHERE = np.zeros((1, 1))


@dataclasses.dataclass(frozen=True)
class Affine:
    """Slopes by column index, and a constant."""

    slopes: Mapping[int, float]
    constant: float

    def scaled(self, factor: float) -> "Affine":
        """Multiply by a number."""
        slopes = {index: factor * slope for index, slope in self.slopes.items()}
        return Affine(slopes, factor * self.constant)

    def plus(self, other: "Affine") -> "Affine":
        """Add."""
        slopes = dict(self.slopes)
        for index, slope in other.slopes.items():
            slopes[index] = slopes.get(index, 0.0) + slope
        slopes = {index: slope for index, slope in slopes.items() if slope != 0.0}
        return Affine(slopes, self.constant + other.constant)


def affine(
    expr: Expression, variable: Role, given: np.ndarray | None = None
) -> Affine | None:
    """Write an expression as affine in its inputs or outputs, or None if it is not.

    `given` holds the values of the columns that are not variables, at one point.

    >>> x = Column("input", 0, "x")
    >>> affine(2 * (x - 3), "input")
    Affine(slopes={0: 2.0}, constant=-6.0)
    >>> affine(x * x, "input") is None
    True
    """
    found = _affine(expr, variable, given)
    if found is None or not math.isfinite(found.constant):
        return None
    return found if all(map(math.isfinite, found.slopes.values())) else None


def _affine(  # noqa: PLR0911 (one per kind of node)
    expr: Expression, variable: Role, given: np.ndarray | None
) -> Affine | None:
    match expr:
        case Number(value):
            return Affine({}, value)
        case Column(kind, index) if kind == variable:
            return Affine({index: 1.0}, 0.0)
        case Column(_, index):
            return None if given is None else _finite(float(given[index]))
        case Negate(part):
            inner = _affine(part, variable, given)
            return None if inner is None else inner.scaled(-1.0)
        case Binary(op, left, right):
            parts = _affine(left, variable, given), _affine(right, variable, given)
            return _binary(op, *parts)
        case Call(function, args):
            inner = [_affine(arg, variable, given) for arg in args]
            values = [part.constant for part in inner if part and not part.slopes]
            if len(values) < len(args):
                return None
            return _constant(Call(function, tuple(map(Number, values))))
    return None


def _binary(  # noqa: PLR0911 (one per operator)
    op: str, left: Affine | None, right: Affine | None
) -> Affine | None:
    if left is None or right is None:
        return None
    if not left.slopes and not right.slopes:
        return _constant(Binary(op, Number(left.constant), Number(right.constant)))
    if op == "+":
        return left.plus(right)
    if op == "-":
        return left.plus(right.scaled(-1.0))
    if op == "*" and not (left.slopes and right.slopes):
        return (
            left.scaled(right.constant) if left.slopes else right.scaled(left.constant)
        )
    if op == "/" and not right.slopes and right.constant != 0.0:
        return left.scaled(1.0 / right.constant)
    return left if op == "**" and not right.slopes and right.constant == 1.0 else None


def _constant(expr: Expression) -> Affine | None:
    return _finite(float(evaluate(expr, _NOWHERE, None, np)[0]))


def _finite(value: float) -> Affine | None:
    return Affine({}, value) if math.isfinite(value) else None
