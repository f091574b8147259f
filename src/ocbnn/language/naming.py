"""Columns by name, and their slopes, for rules written in Python."""

from typing import overload

from ocbnn.errors import RuleError
from ocbnn.language.tree import Expression, Name, Role, Slope, as_expression


@overload
def inputs(name: str, /) -> Name: ...
@overload
def inputs(first: str, second: str, /, *more: str) -> tuple[Name, ...]: ...
def inputs(*names: str) -> Name | tuple[Name, ...]:
    """Name inputs: one name gives one expression, several give a tuple.

    Parameters
    ----------
    *names
        Names of columns; they may contain spaces.

    Raises
    ------
    RuleError
        When there is no name, or it is not text.

    Examples
    --------
    >>> age, bp = inputs("age", "mean bp")
    >>> print(bp < 65 + age / 10)
    `mean bp` < 65 + age / 10
    """
    return _names(names, "input")


@overload
def outputs(name: str, /) -> Name: ...
@overload
def outputs(first: str, second: str, /, *more: str) -> tuple[Name, ...]: ...
def outputs(*names: str) -> Name | tuple[Name, ...]:
    """Name outputs: one name gives one expression, several give a tuple.

    Parameters
    ----------
    *names
        Names of columns; they may contain spaces.

    Raises
    ------
    RuleError
        When there is no name, or it is not text.
    """
    return _names(names, "output")


def derivative(output: object, *inputs: object) -> Expression:
    """The slope of an output along an input, in units of output per unit of input.

    Its name in text is `d`, which is also an alias in Python.

    Parameters
    ----------
    output
        A single output.
    *inputs
        The input along which it changes. Two give the second derivative:
        `d(y, x, x) >= 0` says that y is convex.

    Raises
    ------
    RuleError
        When these are not an output and one or two inputs.

    Examples
    --------
    >>> strength, age = outputs("strength"), inputs("age")
    >>> print(derivative(strength, age) >= 0.1)
    d(strength, age) >= 0.1
    """
    along = tuple(as_expression(column, "d") for column in inputs)
    return Slope(as_expression(output, "d"), along)


d = derivative


def _names(names: tuple[str, ...], role: Role) -> Name | tuple[Name, ...]:
    if not names:
        raise RuleError(f'no name given. Write `{role}s("a")` or `{role}s("a", "b")`.')
    columns = tuple(Name(name, role) for name in names)
    return columns[0] if len(columns) == 1 else columns
