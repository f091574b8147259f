"""Which expressions are affine, `Σ a_i v_i + b`, found by their structure."""

import dataclasses
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from ocbnn.rules.evaluate import evaluate
from ocbnn.rules.tree import Binary, Call, Column, Expression, Negate, Number, Role

_NOWHERE = np.zeros((1, 1))


Value: TypeAlias = float | Fraction


@dataclasses.dataclass(frozen=True)
class Affine:
    """Slopes by column index, none of them zero, and a constant."""

    slopes: Mapping[int, Any]
    constant: Any

    def scaled(self, factor: Value) -> "Affine":
        """Multiply by a number."""
        slopes = {index: factor * slope for index, slope in self.slopes.items()}
        return Affine(_some(slopes), factor * self.constant)

    def plus(self, other: "Affine") -> "Affine":
        """Add."""
        slopes = dict(self.slopes)
        for index, slope in other.slopes.items():
            slopes[index] = slopes.get(index, 0) + slope
        return Affine(_some(slopes), self.constant + other.constant)


def _some(slopes: Mapping[int, Any]) -> dict[int, Any]:
    return {index: slope for index, slope in slopes.items() if slope != 0}


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
    found = _Reader(variable, given, exact=False).read(expr)
    if found is None or not math.isfinite(found.constant):
        return None
    return found if all(map(math.isfinite, found.slopes.values())) else None


def exact_affine(expr: Expression, variable: Role) -> Affine | None:
    """The same in fractions, without rounding; None where a function is needed.

    >>> x = Column("input", 0, "x")
    >>> exact_affine(x + 1e16 + 1 - 1e16, "input").constant
    Fraction(1, 1)
    """
    return _Reader(variable, None, exact=True).read(expr)


@dataclasses.dataclass(frozen=True)
class _Reader:
    variable: Role
    given: np.ndarray | None
    exact: bool

    def read(  # noqa: PLR0911 (one per kind of node)
        self, expr: Expression
    ) -> Affine | None:
        match expr:
            case Number(value):
                return self._number(value)
            case Column(kind, index) if kind == self.variable:
                return Affine({index: self._exactly(1.0)}, self._exactly(0.0))
            case Column(_, index):
                return None if self.given is None else self._number(self.given[index])
            case Negate(part):
                inner = self.read(part)
                return None if inner is None else inner.scaled(-1)
            case Binary(op, left, right):
                return self._binary(op, self.read(left), self.read(right))
            case Call(function, args) if not self.exact:
                inner = [self.read(arg) for arg in args]
                values = [part.constant for part in inner if part and not part.slopes]
                if len(values) < len(args):
                    return None
                return self._computed(Call(function, tuple(map(Number, values))))
        return None

    def _exactly(self, value: float) -> Value:
        return Fraction(value) if self.exact else float(value)

    def _number(self, value: float) -> Affine | None:
        return Affine({}, self._exactly(value)) if math.isfinite(value) else None

    def _binary(  # noqa: PLR0911 (one per operator)
        self, op: str, left: Affine | None, right: Affine | None
    ) -> Affine | None:
        if left is None or right is None:
            return None
        if not self.exact and not left.slopes and not right.slopes:
            parts = Number(left.constant), Number(right.constant)
            return self._computed(Binary(op, *parts))
        if op == "+":
            return left.plus(right)
        if op == "-":
            return left.plus(right.scaled(-1))
        if op == "*" and not (left.slopes and right.slopes):
            both = (left, right) if left.slopes else (right, left)
            return both[0].scaled(both[1].constant)
        if op == "/" and not right.slopes and right.constant != 0:
            return left.scaled(1 / right.constant)
        is_power = op == "**" and not right.slopes
        return left if is_power and right.constant == 1 else None

    def _computed(self, expr: Expression) -> Affine | None:
        return self._number(float(evaluate(expr, _NOWHERE, None, np)[0]))
