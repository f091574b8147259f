"""Which expressions are affine, `Σ a_i v_i + b`, found by their structure."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Float

from ocbnn.language.evaluate import apply_function, apply_operator
from ocbnn.language.tree import (
    Binary,
    Call,
    Column,
    Expression,
    Negate,
    Number,
    Role,
    Slope,
)


@dataclasses.dataclass(frozen=True)
class Affine:
    """Slopes by variable, none of them zero, and a constant.

    Each is a float, a fraction, or an array of one number for each row.
    """

    slopes: Mapping[Any, Any]
    constant: Any

    def scaled(self, factor: Any) -> "Affine":
        """Multiply by a number."""
        slopes = {index: factor * slope for index, slope in self.slopes.items()}
        return Affine(_nonzero(slopes), factor * self.constant)

    def divided(self, divisor: Any) -> "Affine":
        """Divide by a number."""
        slopes = {index: slope / divisor for index, slope in self.slopes.items()}
        return Affine(_nonzero(slopes), self.constant / divisor)

    def plus(self, other: "Affine") -> "Affine":
        """Add."""
        slopes = dict(self.slopes)
        for index, slope in other.slopes.items():
            slopes[index] = slopes.get(index, 0) + slope
        return Affine(_nonzero(slopes), self.constant + other.constant)

    def edge(self) -> tuple[Any, Any, bool] | None:
        """Its only variable, its root, and whether it is negative above the root.

        None if it has no variable, or several.
        """
        if len(self.slopes) != 1:
            return None
        ((index, slope),) = self.slopes.items()
        return index, -self.constant / slope, slope < 0


def _nonzero(slopes: Mapping[Any, Any]) -> dict[Any, Any]:
    return {index: slope for index, slope in slopes.items() if np.any(slope != 0)}


def affine(
    expr: Expression, variable: Role, x: np.ndarray | None = None
) -> Affine | None:
    """Write an expression as affine in its inputs or outputs, or None if it is not.

    `x` holds the values of the columns that are not variables, at one point.

    >>> x = Column("input", 0, "x")
    >>> affine(2 * (x - 3), "input")
    Affine(slopes={0: 2.0}, constant=-6.0)
    >>> affine(x * x, "input") is None
    True
    """
    value = None if x is None else lambda index: x[index]
    form = _Reader({variable: 0}, value).form(expr)
    if form is None or not math.isfinite(form.constant):
        return None
    return form if all(map(math.isfinite, form.slopes.values())) else None


def affine_rows(expr: Expression, X: Float[np.ndarray, "rows inputs"]) -> Affine | None:
    """An expression as affine in its outputs at every row of inputs.

    Coefficients that depend on the row are arrays, not finite where undefined.

    >>> x, y = Column("input", 0, "x"), Column("output", 0, "y")
    >>> affine_rows(x * y - 3, np.array([[1.0], [2.0]]))
    Affine(slopes={0: array([1., 2.])}, constant=array([-3., -3.]))
    """
    return _Reader({"output": 0}, lambda index: X[:, index]).form(expr)


def exact_affine(expr: Expression, **first: int) -> Affine | None:
    """An affine form in fractions, without rounding; None if it calls a function.

    `first` numbers the first column of each role that varies.

    >>> x, y = Column("input", 0, "x"), Column("output", 0, "y")
    >>> exact_affine(x + 1e16 + 1 - 1e16, input=0).constant
    Fraction(1, 1)
    >>> exact_affine(x - y, output=0, input=1).slopes
    {1: Fraction(1, 1), 0: Fraction(-1, 1)}
    """
    return _Reader(first, is_exact=True).form(expr)


def is_straight(expr: Expression) -> bool:
    """Whether an expression is affine in outputs and slopes, whatever the inputs are.

    >>> x, y = Column("input", 0, "x"), Column("output", 0, "y")
    >>> is_straight(x * Slope(y, (x,)) - y), is_straight(y * Slope(y, (x,)))
    (True, False)
    """
    # NaN stands for any number: it is neither zero nor one.
    unknown = np.array([np.nan])
    reader = _Reader({"output": 0}, lambda _: unknown, with_slopes=True)
    return reader.form(expr) is not None


@dataclasses.dataclass(frozen=True)
class _Reader:
    """Converts a tree into an affine form.

    Attributes
    ----------
    first
        The number of the first column of each role that varies.
    value
        The value of any other column, one number or one per row; None if unknown.
    is_exact
        Whether numbers are fractions.
    with_slopes
        Whether slopes are variables too.
    """

    first: Mapping[str, int]
    value: Callable[[int], Any] | None = None
    is_exact: bool = False
    with_slopes: bool = False

    def form(self, expr: Expression) -> Affine | None:
        with np.errstate(all="ignore"):
            return self._affine(expr)

    def _affine(  # noqa: PLR0911 (one per kind of node)
        self, expr: Expression
    ) -> Affine | None:
        match expr:
            case Number(value):
                return self._number(value)
            case Column(kind, index) if kind in self.first:
                return self._variable(self.first[kind] + index)
            case Column(_, index):
                return None if self.value is None else self._number(self.value(index))
            case Slope() if self.with_slopes:
                return self._variable(expr)
            case Negate(part):
                inner = self._affine(part)
                return None if inner is None else inner.scaled(-1)
            case Binary(op, left, right):
                return self._binary(op, self._affine(left), self._affine(right))
            case Call(function, args) if not self.is_exact:
                inner = [self._affine(arg) for arg in args]
                values = [part.constant for part in inner if part and not part.slopes]
                if len(values) < len(args):
                    return None
                return self._number(apply_function(function, values, np))
        return None

    def _variable(self, index: Any) -> Affine:
        return Affine({index: self._exactly(1.0)}, self._exactly(0.0))

    def _number(self, value: Any) -> Affine | None:
        if np.ndim(value):
            return Affine({}, value)
        return Affine({}, self._exactly(value)) if math.isfinite(value) else None

    def _exactly(self, value: float) -> float | Fraction:
        return Fraction(value) if self.is_exact else float(value)

    def _binary(  # noqa: PLR0911 (one per operator)
        self, op: str, left: Affine | None, right: Affine | None
    ) -> Affine | None:
        if left is None or right is None:
            return None
        if not self.is_exact and not left.slopes and not right.slopes:
            return self._number(apply_operator(op, left.constant, right.constant))
        if op == "+":
            return left.plus(right)
        if op == "-":
            return left.plus(right.scaled(-1))
        if op == "*" and not (left.slopes and right.slopes):
            form, factor = (left, right) if left.slopes else (right, left)
            return form.scaled(factor.constant)
        if op == "/" and not right.slopes and np.any(right.constant != 0):
            return left.divided(right.constant)
        is_power = op == "**" and not right.slopes
        return left if is_power and np.all(right.constant == 1) else None
