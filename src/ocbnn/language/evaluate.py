"""Values of bound expressions and truth of bound conditions, in NumPy or JAX.

>>> import numpy as np
>>> x = Column("input", 0, "x")
>>> evaluate(1 / x + 2, np.array([[0.5], [0.0]]), None, np)
array([ 4., inf])
"""

import functools
import operator
from typing import Any, NamedTuple

import numpy as np

from ocbnn.core.types import NO_SLOPES, Slopes
from ocbnn.errors import RuleError
from ocbnn.language.conditions import And, Condition, Not, Or
from ocbnn.language.tree import (
    Binary,
    Call,
    Column,
    Comparison,
    Expression,
    Negate,
    Number,
    Slope,
    Slot,
)

_OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_JOINED = {"min": "minimum", "max": "maximum"}


def evaluate(
    expr: Expression,
    x: Any,
    y: Any,
    xp: Any,
    slopes: Slopes = NO_SLOPES,
    numbers: Any = (),
) -> Any:
    """Value of a bound expression at inputs `x` (..., inputs) and outputs `y`.

    `y` has shape (..., outputs), or is None if the expression mentions no output; each
    of the `slopes` that it mentions has the same shape. `xp` is `numpy` or `jax.numpy`.
    Constants stay Python floats, so the arrays decide the dtype; a constant expression
    has the shape of one column of `x`. Slots, which only forms have, index `numbers`.
    """
    # NumPy would warn of 1/0 and log(-1); comparisons with inf and nan are correct.
    with np.errstate(all="ignore"):
        value = _value(expr, _Arguments(x, y, xp, slopes, numbers))
    return xp.full_like(x[..., 0], value) if isinstance(value, float) else value


def truth(
    condition: Condition, x: Any, y: Any, xp: Any, slopes: Slopes = NO_SLOPES
) -> Any:
    """Whether a bound condition holds, exactly as written: `<` is not `<=`."""
    with np.errstate(all="ignore"):
        value = _truth(condition, _Arguments(x, y, xp, slopes))
    return xp.full_like(x[..., 0], value, dtype=bool) if np.ndim(value) == 0 else value


class _Arguments(NamedTuple):
    """The values that an expression is evaluated at, and the library to use."""

    x: Any
    y: Any
    xp: Any
    slopes: Slopes
    numbers: Any = ()


def _value(expr: Expression, at: _Arguments) -> Any:  # noqa: PLR0911 (one per kind of node)
    match expr:
        case Number(value):
            return value
        case Slot(slot):
            return at.numbers[slot]
        case Column("input", index):
            return at.x[..., index]
        case Column(_, index):
            return at.y[..., index]
        case Slope(Column(_, index)) if expr.along in at.slopes:
            return at.slopes[expr.along][..., index]
        case Negate(part):
            return -_value(part, at)
        case Binary(op, left, right):
            return apply_operator(op, _value(left, at), _value(right, at))
        case Call(function, args):
            return apply_function(function, [_value(arg, at) for arg in args], at.xp)
    raise RuleError(
        f"({expr}) is not bound to columns yet. Write `bind(rule, schema)` first."
    )


def apply_operator(op: str, left: Any, right: Any) -> Any:
    """An operator of expressions, of floats or arrays."""
    if isinstance(left, float) and isinstance(right, float):
        # Python raises on 1/0 and makes (-1) ** 0.5 complex; NumPy does neither.
        left = np.float64(left)
        return float(left**right if op == "**" else _OPERATORS[op](left, right))
    if op != "**":
        return _OPERATORS[op](left, right)
    if isinstance(right, float) and right.is_integer() and abs(right) <= 64:
        # An integer exponent is a product: exact, and smooth at and below zero.
        return left ** int(right)
    return left**right


def apply_function(function: str, values: list[Any], xp: Any) -> Any:
    """A function of expressions, of floats or arrays; of floats only, a float."""
    constant = all(isinstance(value, float) for value in values)
    module = np if constant else xp
    if function in _JOINED:
        value = functools.reduce(getattr(module, _JOINED[function]), values)
    else:
        value = getattr(module, function)(values[0])
    return float(value) if constant else value


def _truth(condition: Condition, at: _Arguments) -> Any:
    match condition:
        case Comparison(op, left, right):
            return _COMPARE[op](_value(left, at), _value(right, at))
        case Not(part):
            return at.xp.logical_not(_truth(part, at))
        case And(parts):
            values = [_truth(part, at) for part in parts]
            return functools.reduce(at.xp.logical_and, values)
        case Or(parts):
            values = [_truth(part, at) for part in parts]
            return functools.reduce(at.xp.logical_or, values)
    raise RuleError(f"({condition}) has no truth at numbers: it is about classes.")
