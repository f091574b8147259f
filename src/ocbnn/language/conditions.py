"""Conditions joined by and, or and not; comparisons are in `tree`.

>>> from ocbnn.language.naming import inputs
>>> a, b = inputs("a", "b")
>>> print((a < 1) & ~(b > 2) | (a.between(5, 6)))
a < 1 and not b > 2 or 5 <= a <= 6
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import ClassVar, NoReturn

from ocbnn.core.words import shorten
from ocbnn.errors import RuleError

# Every walk over a tree recurses; Python's own limit is 1000 calls.
MOST_LEVELS = 200


class Node:
    """A node of a rule's tree; it stores its depth, so no recursion can overflow."""

    levels: int = 1

    def _grow(self, children: Iterable["Node"]) -> None:
        levels = 1 + max((child.levels for child in children), default=0)
        if levels > MOST_LEVELS:
            raise RuleError(
                f"an expression is nested more than {MOST_LEVELS} levels deep. Split "
                "the rule, add long sums pairwise, or write it as `custom(log_g)`."
            )
        object.__setattr__(self, "levels", levels)


class Condition(Node):
    """Something that is true or false of an input and an output.

    Joined by `&` (and), `|` (or), `^` (exactly one of two), `~` (not) and `implies`.
    """

    OR, AND, NOT, ATOM = 1, 2, 3, 4  # Precedence in text.

    @property
    def binds(self) -> int:
        """The precedence of this condition in text."""
        return self.ATOM

    def link(self, previous: "Condition") -> str | None:
        """Text that continues a chain: `<= b` after `a <= x`. None if no chain.

        Parameters
        ----------
        previous
            The condition before this one.
        """
        return None

    def __and__(self, other: object) -> "Condition":
        return And((self, as_condition(other, "&")))

    def __or__(self, other: object) -> "Condition":
        return Or((self, as_condition(other, "|")))

    def __xor__(self, other: object) -> "Condition":
        other = as_condition(other, "^")
        return Or((And((self, ~other)), And((~self, other))))

    # A plain number or bool on the left deserves the same advice.
    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> "Condition":
        return Not(self)

    def implies(self, then: object) -> "Condition":
        """Say that `then` holds wherever this one does.

        Parameters
        ----------
        then
            A condition.

        Raises
        ------
        RuleError
            When it is not a condition.

        Examples
        --------
        >>> from ocbnn.language.naming import outputs
        >>> a, b = outputs("a", "b")
        >>> print((a > 0).implies(b > 0))
        (if a > 0 then b > 0)
        """
        return Or((~self, as_condition(then, "implies")))

    def __bool__(self) -> NoReturn:
        raise RuleError(
            f"the condition ({shorten(str(self))}) is neither true nor false until "
            "inputs and outputs are known, and Python asked for its truth: chained "
            "comparisons (`a <= y <= b`), `and`, `or`, `not`, `if`, `min` and `max` do "
            "that. Write `y.between(a, b)`, `&`, `|`, `~`, `.implies(...)`, and "
            "`ocbnn.functions.min`."
        )


@dataclasses.dataclass(frozen=True)
class _Joined(Condition):
    parts: tuple[Condition, ...]

    word: ClassVar[str] = ""

    def __post_init__(self) -> None:
        flat: list[Condition] = []
        for part in self.parts:
            condition = as_condition(part, self.word)
            # Equal meanings compare equal: `(a and b) and c` is `a and b and c`.
            is_nested = isinstance(condition, type(self))
            flat.extend(condition.parts if is_nested else (condition,))
        if len(flat) < 2:
            raise RuleError(
                f"`{self.word}` joins two or more conditions, got {len(flat)}. "
                "Write the condition alone."
            )
        object.__setattr__(self, "parts", tuple(flat))
        self._grow(flat)


@dataclasses.dataclass(frozen=True)
class And(_Joined):
    """All of the parts."""

    word: ClassVar[str] = "and"

    @property
    def binds(self) -> int:
        """Looser than `not`, tighter than `or`."""
        return self.AND

    def __str__(self) -> str:
        texts: list[str] = []
        for previous, part in zip((None, *self.parts[:-1]), self.parts, strict=True):
            chained = part.link(previous) if previous is not None else None
            if chained is None:
                texts.append(enclose(part, self.NOT))
            else:
                texts[-1] += f" {chained}"
        return " and ".join(texts)


@dataclasses.dataclass(frozen=True)
class Or(_Joined):
    """At least one of the parts."""

    word: ClassVar[str] = "or"

    @property
    def binds(self) -> int:
        """Loosest, except for an if-then, which has its own parentheses."""
        return self.ATOM if self._implication() else self.OR

    def _implication(self) -> tuple[Condition, Condition] | None:
        first, *rest = self.parts
        if len(rest) == 1 and isinstance(first, Not) and first.spelled_out:
            condition, then = first.part, rest[0]
            return (condition, then) if condition.implies(then) == self else None
        return None

    def _alternatives(self) -> Sequence[Condition] | None:
        if len(self.parts) != 2:
            return None
        left, right = self.parts
        if not (isinstance(left, And) and isinstance(right, And)):
            return None
        if len(left.parts) != 2 or len(right.parts) != 2:
            return None
        first, second = left.parts[0], right.parts[1]
        return (first, second) if (first ^ second) == self else None

    def __str__(self) -> str:
        if implication := self._implication():
            return f"(if {implication[0]} then {implication[1]})"
        if pair := self._alternatives():
            return "either " + " or ".join(enclose(part, self.AND) for part in pair)
        return " or ".join(enclose(part, self.AND) for part in self.parts)


@dataclasses.dataclass(frozen=True)
class Not(Condition):
    """The part does not hold."""

    part: Condition

    def __post_init__(self) -> None:
        self._grow([as_condition(self.part, "not")])

    @property
    def binds(self) -> int:
        """Tighter than `and`, looser than a comparison."""
        return self.NOT if self.spelled_out else self.ATOM

    @property
    def spelled_out(self) -> bool:
        """Whether the text begins with `not`, unlike `a not in {b}`."""
        return negated_text(self.part) is None

    def __invert__(self) -> Condition:
        return self.part

    def __str__(self) -> str:
        return negated_text(self.part) or "not " + enclose(self.part, self.NOT)


def negated_text(part: Condition) -> str | None:
    """The special spelling of a part's negation, if it has one."""
    return getattr(part, "negated_text", None)


def enclose(part: Condition, at_least: int) -> str:
    """Text of a part, in parentheses where its precedence requires them."""
    return str(part) if part.binds >= at_least else f"({part})"


def as_condition(value: object, used_by: str) -> Condition:
    """Return the value if it is a condition; otherwise raise an error with advice."""
    if isinstance(value, Condition):
        return value
    if isinstance(value, bool):
        raise RuleError(
            f"`{used_by}` needs a condition, got {value}: `==` and `!=` compare how "
            "two expressions are written, not their values. Equality on a real output "
            "has probability zero: write `y.between(2.9, 3.1)` or "
            "`expect(y, 3, sd=0.1)`; "
            'for a class output write `action.is_in("treat")`.'
        )
    advice = {
        str: 'A whole rule as text is `ocbnn.rule("if x < 0 then y > 1")`.',
        tuple: "Join conditions with `&` (and) or `|` (or).",
        list: "Join conditions with `&` (and) or `|` (or).",
    }.get(type(value), "")
    raise RuleError(
        f"`{used_by}` needs a condition, got {type(value).__name__}: "
        f"{shorten(str(value))}. Write a comparison such as `y <= 3`, "
        f'`y.between(2, 3)` or `action.is_in("treat")`. {advice}'.rstrip()
    )
