"""Expressions over named inputs and outputs, built by ordinary Python operators.

>>> x, y = Name("x"), Name("y")
>>> print(2 * (x + 1) - y ** 2)
2 * (x + 1) - y ** 2
>>> print(y.between(5 - x, 7))
5 - x <= y <= 7

Nodes are frozen, contain no arrays, and compare by structure.
"""

import dataclasses
import math
from numbers import Real
from typing import Literal

import numpy as np

from ocbnn.core.words import listing, shorten, suggest
from ocbnn.errors import RuleError
from ocbnn.language.conditions import And, Condition, Node, Not
from ocbnn.language.words import (
    FUNCTIONS,
    UNARY_FUNCTIONS,
    Label,
    as_label,
    spell_label,
    spell_name,
    spell_number,
)

Role = Literal["input", "output"]
_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4}
_UNARY, _POWER, _ATOM = 3, 4, 5
COMPARISONS = ("<", "<=", ">", ">=")


class Expression(Node):
    """A number that depends on inputs and outputs."""

    __array_ufunc__ = None  # Lets `np.float64(3) * x` reach `x.__rmul__`.

    @property
    def binds(self) -> int:
        """The precedence of this expression in text."""
        return _ATOM

    # Operands are `object`, so that our errors appear and not the type checker's.
    def __add__(self, other: object) -> "Expression":
        return Binary("+", self, as_expression(other, "+"))

    def __radd__(self, other: object) -> "Expression":
        return Binary("+", as_expression(other, "+"), self)

    def __sub__(self, other: object) -> "Expression":
        return Binary("-", self, as_expression(other, "-"))

    def __rsub__(self, other: object) -> "Expression":
        return Binary("-", as_expression(other, "-"), self)

    def __mul__(self, other: object) -> "Expression":
        return Binary("*", self, as_expression(other, "*"))

    def __rmul__(self, other: object) -> "Expression":
        return Binary("*", as_expression(other, "*"), self)

    def __truediv__(self, other: object) -> "Expression":
        return Binary("/", self, as_expression(other, "/"))

    def __rtruediv__(self, other: object) -> "Expression":
        return Binary("/", as_expression(other, "/"), self)

    def __pow__(self, other: object) -> "Expression":
        return Binary("**", self, as_expression(other, "**"))

    def __rpow__(self, other: object) -> "Expression":
        return Binary("**", as_expression(other, "**"), self)

    def __neg__(self) -> "Expression":
        return Negate(self)

    def __pos__(self) -> "Expression":
        return self

    def __abs__(self) -> "Expression":
        return Call("abs", (self,))

    def __lt__(self, other: object) -> Condition:
        return Comparison("<", self, as_expression(other, "<"))

    def __le__(self, other: object) -> Condition:
        return Comparison("<=", self, as_expression(other, "<="))

    def __gt__(self, other: object) -> Condition:
        return Comparison(">", self, as_expression(other, ">"))

    def __ge__(self, other: object) -> Condition:
        return Comparison(">=", self, as_expression(other, ">="))

    def between(self, low: object, high: object) -> Condition:
        """`low <= self <= high`.

        Parameters
        ----------
        low
            The lower bound: a number or an expression.
        high
            The upper bound, likewise.

        Raises
        ------
        RuleError
            When a bound is neither, or the lower one exceeds the upper one.
        """
        lower = as_expression(low, "between")
        upper = as_expression(high, "between")
        if _exceeds(lower, upper):
            raise RuleError(
                f"({self}).between({lower}, {upper}) holds nowhere: the lower bound "
                f"comes first. Write `.between({upper}, {lower})`."
            )
        return And((Comparison("<=", lower, self), Comparison("<=", self, upper)))


@dataclasses.dataclass(frozen=True)
class Number(Expression):
    """A finite constant."""

    value: float

    def __post_init__(self) -> None:
        value = float(self.value)
        if not math.isfinite(value):
            raise RuleError(
                f"a rule contains finite numbers only, got {value}. For a side without "
                "a bound, leave the comparison out: `y >= 2`."
            )
        object.__setattr__(self, "value", value)

    @property
    def binds(self) -> int:
        """A negative number is spelled with a minus, and binds like one."""
        return _ATOM if math.copysign(1.0, self.value) > 0 else _UNARY

    def __neg__(self) -> Expression:
        return Number(-self.value)

    def __str__(self) -> str:
        return spell_number(self.value)


@dataclasses.dataclass(frozen=True)
class Slot(Expression):
    """A number that is stored outside of the tree, at this position of a list."""

    place: int

    def __str__(self) -> str:
        return f"#{self.place}"


@dataclasses.dataclass(frozen=True)
class Name(Expression):
    """An input or output by name; in rules from text, binding decides which it is.

    Attributes
    ----------
    name
        The column's name.
    role
        "input" or "output"; None until binding decides.
    """

    name: str
    role: Role | None = dataclasses.field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise RuleError(
                f"a column's name is text of one or more characters, got {self.name!r}."
                ' Write `inputs("x")`.'
            )

    def is_in(self, *classes: object) -> Condition:
        """Say that the class output takes one of these labels.

        Parameters
        ----------
        *classes
            The labels, text or numbers.

        Raises
        ------
        RuleError
            When a label is neither.

        Examples
        --------
        >>> print(Name("action").is_in("treat", "wait and see"))
        action in {treat, "wait and see"}
        """
        return Membership(self, tuple(as_label(label) for label in classes))

    def not_in(self, *classes: object) -> Condition:
        """Say that the class output takes none of these labels.

        Parameters
        ----------
        *classes
            The labels, text or numbers.

        Raises
        ------
        RuleError
            When a label is neither.
        """
        return Not(self.is_in(*classes))

    def rises_with(self, column: object) -> Condition:
        """Say that this output never falls when that input alone grows.

        Parameters
        ----------
        column
            The input.

        Examples
        --------
        >>> print(Name("strength").rises_with(Name("age")))
        d(strength, age) >= 0
        """
        return Slope(self, (as_expression(column, "rises_with"),)) >= 0

    def falls_with(self, column: object) -> Condition:
        """Say that this output never rises when that input alone grows.

        Parameters
        ----------
        column
            The input.
        """
        return Slope(self, (as_expression(column, "falls_with"),)) <= 0

    def __str__(self) -> str:
        return spell_name(self.name)


@dataclasses.dataclass(frozen=True)
class Column(Expression):
    """A bound name: the input or output at this position of a schema."""

    kind: Role
    index: int
    name: str

    def __str__(self) -> str:
        return spell_name(self.name)


@dataclasses.dataclass(frozen=True)
class Negate(Expression):
    """Minus an expression."""

    part: Expression

    def __post_init__(self) -> None:
        self._grow([self.part])

    @property
    def binds(self) -> int:
        """Tighter than a product, looser than a power."""
        return _UNARY

    def __str__(self) -> str:
        # `-3` would parse back to a number, so a negated 3 is spelled `-(3)`.
        if self.part.binds < _UNARY or isinstance(self.part, Number):
            return f"-({self.part})"
        return f"-{self.part}"


@dataclasses.dataclass(frozen=True)
class Binary(Expression):
    """Two expressions joined by `+`, `-`, `*`, `/` or `**`."""

    op: str
    left: Expression
    right: Expression

    def __post_init__(self) -> None:
        if self.op not in _BINDS:
            raise RuleError(f"no operator {self.op!r}; known: {listing(_BINDS)}.")
        self._grow([self.left, self.right])

    @property
    def binds(self) -> int:
        """The precedence of the operator, as in Python."""
        return _BINDS[self.op]

    def __str__(self) -> str:
        power = self.op == "**"
        left = _enclose(self.left, _ATOM if power else self.binds)
        right = _enclose(self.right, _UNARY if power else self.binds + 1)
        return f"{left} {self.op} {right}"


@dataclasses.dataclass(frozen=True)
class Call(Expression):
    """An elementary function of one argument, or `min`/`max` of two or more."""

    function: str
    args: tuple[Expression, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", tuple(self.args))
        if self.function not in FUNCTIONS:
            raise RuleError(
                f"unknown function `{shorten(self.function)}`."
                f"{suggest(self.function, FUNCTIONS)} Known: {listing(FUNCTIONS)}."
            )
        count = len(self.args)
        if self.function in UNARY_FUNCTIONS and count != 1:
            raise RuleError(f"`{self.function}` takes one argument, got {count}.")
        if self.function not in UNARY_FUNCTIONS and count < 2:
            raise RuleError(
                f"`{self.function}` takes two or more arguments, got {count}. "
                f"Write `{self.function}(a, b)`."
            )
        self._grow(self.args)

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.args))})"


@dataclasses.dataclass(frozen=True)
class Slope(Expression):
    """The derivative of an output along one input, or the second along two inputs."""

    output: Expression
    inputs: tuple[Expression, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", tuple(self.inputs))
        for part in (self.output, *self.inputs):
            if not isinstance(part, Name | Column):
                raise RuleError(
                    f"`d` takes columns, an output and then an input, got "
                    f"({shorten(str(part))}). "
                    "Write `d(y, x)`, and do arithmetic with it: `2 * d(y, x) - 1`."
                )
        if not 1 <= len(self.inputs) <= 2:
            raise RuleError(
                "`d` takes an output and one input, or two for curvature, got "
                f"{len(self.inputs)} inputs. Write `d(y, x)` or `d(y, x, x)`."
            )

    @property
    def along(self) -> tuple[int, ...]:
        """Positions of the inputs, once they are bound."""
        return tuple(part.index for part in self.inputs if isinstance(part, Column))

    def __str__(self) -> str:
        return f"d({', '.join(map(str, (self.output, *self.inputs)))})"


@dataclasses.dataclass(frozen=True)
class Comparison(Condition):
    """`left < right`, or the same with `<=`, `>` or `>=`."""

    op: str
    left: Expression
    right: Expression

    def __post_init__(self) -> None:
        if self.op not in COMPARISONS:
            raise RuleError(f"no comparison {self.op!r}; known: {listing(COMPARISONS)}")
        self._grow([self.left, self.right])

    def link(self, previous: Condition) -> str | None:
        """`<= b`, if the previous comparison ends where this one begins."""
        chained = (
            isinstance(previous, Comparison)
            and previous.right == self.left
            and previous.op[0] == self.op[0]
        )
        return f"{self.op} {self.right}" if chained else None

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"


@dataclasses.dataclass(frozen=True)
class Membership(Condition):
    """A class output takes one of some labels."""

    output: Name
    classes: tuple[Label, ...]

    def __post_init__(self) -> None:
        classes = tuple(dict.fromkeys(as_label(label) for label in self.classes))
        if not classes:
            raise RuleError(
                f"`{self.output} in {{}}` names no class. "
                f'Write `{self.output} in {{treat}}` or `.is_in("treat")`.'
            )
        object.__setattr__(self, "classes", classes)

    def _spell(self, word: str) -> str:
        return f"{self.output} {word} {{{', '.join(map(spell_label, self.classes))}}}"

    @property
    def negated_text(self) -> str:
        """`a not in {b}` reads better than `not a in {b}`."""
        return self._spell("not in")

    def __str__(self) -> str:
        return self._spell("in")


def _exceeds(lower: Expression, upper: Expression) -> bool:
    if isinstance(lower, Number) and isinstance(upper, Number):
        return lower.value > upper.value
    return False


def _enclose(part: Expression, at_least: int) -> str:
    return str(part) if part.binds >= at_least else f"({part})"


def as_expression(value: object, used_by: str) -> Expression:
    """Convert numbers to constants; raise an error for other non-expressions."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        return Number(float(value))
    if getattr(value, "shape", None) == () and getattr(value, "dtype", "") != "bool":
        return Number(float(value))  # pyright: ignore[reportArgumentType]
    if isinstance(value, Condition):
        advice = "Join conditions with `&`, `|` and `~`."
    elif isinstance(value, str):
        advice = 'Name columns with `inputs("x")`; for classes write `.is_in("a")`.'
    else:
        advice = 'Write a number, or a column from `inputs("x")` or `outputs("y")`.'
    raise RuleError(
        f"`{used_by}` needs an expression or a number, got {type(value).__name__}: "
        f"{shorten(str(value))}. {advice}"
    )
