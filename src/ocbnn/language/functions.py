"""Elementary functions of expressions, for rules written in Python.

>>> from ocbnn.language import functions as F
>>> from ocbnn.language.naming import inputs
>>> x = inputs("x")
>>> print(F.exp(-x ** 2) + F.max(x, 0))
exp(-x ** 2) + max(x, 0)
"""

from ocbnn.language.tree import Call, Expression, as_expression


def _call(function: str, *args: object) -> Expression:
    return Call(function, tuple(as_expression(arg, function) for arg in args))


def exp(value: object) -> Expression:
    """Exponential."""
    return _call("exp", value)


def log(value: object) -> Expression:
    """Natural logarithm."""
    return _call("log", value)


def sqrt(value: object) -> Expression:
    """Square root."""
    return _call("sqrt", value)


def abs(value: object) -> Expression:
    """Absolute value."""
    return _call("abs", value)


def sin(value: object) -> Expression:
    """Sine, of radians."""
    return _call("sin", value)


def cos(value: object) -> Expression:
    """Cosine, of radians."""
    return _call("cos", value)


def tan(value: object) -> Expression:
    """Tangent, of radians."""
    return _call("tan", value)


def tanh(value: object) -> Expression:
    """Hyperbolic tangent."""
    return _call("tanh", value)


def min(*values: object) -> Expression:
    """Smallest of two or more."""
    return _call("min", *values)


def max(*values: object) -> Expression:
    """Largest of two or more."""
    return _call("max", *values)
