"""Values of bound expressions and truth of bound conditions, in NumPy or JAX.

>>> import numpy as np
>>> x = Column("input", 0, "x")
>>> evaluate(1 / x + 2, np.array([[0.5], [0.0]]), None, np)
array([ 4., inf])
"""

import functools
import operator
from typing import Any

import numpy as np

from ocbnn.core.errors import RuleError
from ocbnn.rules.conditions import And, Condition, Not, Or
from ocbnn.rules.tree import (
    Binary,
    Call,
    Column,
    Comparison,
    Expression,
    Negate,
    Number,
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


def evaluate(expr: Expression, x: Any, y: Any, xp: Any) -> Any:
    """Value of a bound expression at inputs `x` (..., inputs) and outputs `y`.

    `y` has shape (..., outputs), or is None where no output is mentioned. `xp` is
    `numpy` or `jax.numpy`. Constants stay Python floats, so the arrays' dtype rules; a
    constant expression has the shape of one column of `x`.
    """
    # NumPy would warn of 1/0 and log(-1); inf and nan answer comparisons well enough.
    with np.errstate(all="ignore"):
        value = _value(expr, x, y, xp)
    return xp.full_like(x[..., 0], value) if isinstance(value, float) else value


def truth(condition: Condition, x: Any, y: Any, xp: Any) -> Any:
    """Whether a bound condition holds, exactly as written: `<` is not `<=`."""
    with np.errstate(all="ignore"):
        value = _truth(condition, x, y, xp)
    return xp.full_like(x[..., 0], value, dtype=bool) if np.ndim(value) == 0 else value


def _value(expr: Expression, x: Any, y: Any, xp: Any) -> Any:
    match expr:
        case Number(value):
            return value
        case Column("input", index):
            return x[..., index]
        case Column(_, index):
            return y[..., index]
        case Negate(part):
            return -_value(part, x, y, xp)
        case Binary(op, left, right):
            return _binary(op, _value(left, x, y, xp), _value(right, x, y, xp))
        case Call(function, args):
            return _call(function, [_value(arg, x, y, xp) for arg in args], xp)
    raise RuleError(
        f"({expr}) is not bound to columns yet. Write `bind(rule, schema)` first."
    )


def _binary(op: str, left: Any, right: Any) -> Any:
    if isinstance(left, float) and isinstance(right, float):
        # Python raises on 1/0 and makes (-1) ** 0.5 complex; NumPy does neither.
        left = np.float64(left)
        return float(left**right if op == "**" else _OPERATORS[op](left, right))
    if op != "**":
        return _OPERATORS[op](left, right)
    if isinstance(right, float) and right.is_integer() and abs(right) <= 64:
        # A whole exponent is a product: exact, and smooth at and below zero.
        return left ** int(right)
    return left**right


def _call(function: str, values: list[Any], xp: Any) -> Any:
    constant = all(isinstance(value, float) for value in values)
    module = np if constant else xp
    if function in _JOINED:
        value = functools.reduce(getattr(module, _JOINED[function]), values)
    else:
        value = getattr(module, function)(values[0])
    return float(value) if constant else value


def _truth(condition: Condition, x: Any, y: Any, xp: Any) -> Any:
    match condition:
        case Comparison(op, left, right):
            return _COMPARE[op](_value(left, x, y, xp), _value(right, x, y, xp))
        case Not(part):
            return xp.logical_not(_truth(part, x, y, xp))
        case And(parts):
            values = [_truth(part, x, y, xp) for part in parts]
            return functools.reduce(xp.logical_and, values)
        case Or(parts):
            values = [_truth(part, x, y, xp) for part in parts]
            return functools.reduce(xp.logical_or, values)
    raise RuleError(f"({condition}) has no truth at numbers: it speaks of classes.")
