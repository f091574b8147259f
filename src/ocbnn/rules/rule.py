"""A rule: a region, a claim about the outputs there, and how strictly it is held."""

import dataclasses
import math
import re
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from ocbnn.core.errors import RuleError
from ocbnn.rules.conditions import Condition, as_condition
from ocbnn.rules.settings import (
    DEFAULT_STRENGTH,
    DEFAULT_TAU,
    check_setting,
    positive,
)
from ocbnn.rules.tree import Expression, as_expression
from ocbnn.rules.words import shorten, spell_number

# Strings print as text; anything else is the user's own and is compared by identity.
Sampler: TypeAlias = Any
Per: TypeAlias = Literal["point", "region"]
Held: TypeAlias = Literal["soft", "firm", "hard"]

RULE_NAME = re.compile(r"[\w \-]+")
_MOST_NAME = 200


@dataclasses.dataclass(frozen=True)
class Expect:
    """The claim that an expression is normal around a mean, or one of several."""

    target: Expression
    means: tuple[Expression, ...]
    sds: tuple[float, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        counts = len(self.means), len(self.sds), len(self.weights)
        if not self.means or len(set(counts)) > 1:
            raise RuleError(
                "each component of an expectation has one mean, one sd and one weight, "
                f"got {counts[0]}, {counts[1]} and {counts[2]}. Write "
                "`expect(y, [m1, m2], sd=[s1, s2], weights=[0.5, 0.5])`."
            )
        sds = tuple(positive(sd, "sd") for sd in self.sds)
        weights = tuple(positive(weight, "weights") for weight in self.weights)
        total = math.fsum(weights)
        # Weights that already sum to one stay as written, so text round-trips exactly.
        if abs(total - 1.0) > 1e-9:
            weights = tuple(weight / total for weight in weights)
        object.__setattr__(self, "sds", sds)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "target", as_expression(self.target, "expect"))
        means = tuple(as_expression(mean, "expect") for mean in self.means)
        object.__setattr__(self, "means", means)

    def __str__(self) -> str:
        normals = [
            f"Normal({mean}, {spell_number(sd)})"
            for mean, sd in zip(self.means, self.sds, strict=True)
        ]
        if len(normals) > 1:
            weights = map(spell_number, self.weights)
            normals = [f"{w}*{n}" for w, n in zip(weights, normals, strict=True)]
        return f"{self.target} ~ {' + '.join(normals)}"


@dataclasses.dataclass(frozen=True, eq=False)
class Custom:
    """The user's own `log_g(xs, ys)`; equal only when it is the same function."""

    log_g: Callable[..., Any]

    def __post_init__(self) -> None:
        if not callable(self.log_g):
            raise RuleError(
                f"`custom` needs a function `log_g(xs, ys)` of all points of the "
                f"region at once, got {type(self.log_g).__name__}: "
                f"{shorten(str(self.log_g))}."
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Custom) and other.log_g is self.log_g

    def __hash__(self) -> int:
        return hash((Custom, id(self.log_g)))

    def __str__(self) -> str:
        return f"custom({getattr(self.log_g, '__name__', type(self.log_g).__name__)})"


Claim: TypeAlias = Condition | Expect | Custom


@dataclasses.dataclass(frozen=True, eq=False)
class Rule:
    """What an expert says: `require`, `forbid`, `expect`, `custom` or text makes one.

    `str(rule)` is text that `parse_rule` reads back as an equal rule, except for custom
    claims and a user's own sampler, which are no text.
    """

    claim: Claim
    where: Condition | None = None
    name: str | None = None
    strength: float | Held = DEFAULT_STRENGTH
    points: int = 50
    weight: float | None = None
    allowed: float = 10.0
    forbidden: float = 0.01
    per: Per = "point"
    tau: tuple[float, float] = DEFAULT_TAU
    literal: bool = False
    sampler: Sampler = None

    def __repr__(self) -> str:
        return f"rule({str(self)!r})"

    def __post_init__(self) -> None:
        if not isinstance(self.claim, Expect | Custom):
            as_condition(self.claim, "a claim")
        if self.where is not None:
            as_condition(self.where, "where")
        _check_name(self.name)
        for field in dataclasses.fields(self)[3:]:
            value = check_setting(field.name, getattr(self, field.name))
            object.__setattr__(self, field.name, value)

    @property
    def held(self) -> Held:
        """How strictly the rule is held: at a price, firmly, or without exception."""
        return self.strength if isinstance(self.strength, str) else "soft"

    @property
    def gamma(self) -> float:
        """What a violation costs; where that is found by itself, what it starts at."""
        return DEFAULT_STRENGTH if isinstance(self.strength, str) else self.strength

    def _key(self) -> tuple[object, ...]:
        own = self.sampler is not None and not isinstance(self.sampler, str)
        fields = (getattr(self, field.name) for field in dataclasses.fields(self)[:-1])
        return (*fields, id(self.sampler) if own else self.sampler)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rule) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        name = f"{self.name}: " if self.name else ""
        where = "" if self.where is None else f"if {self.where} then "
        options = ", ".join(self._options())
        return f"{name}{where}{self.claim}" + (f" [{options}]" if options else "")

    def _options(self) -> list[str]:
        spelled = {
            "strength": self.strength
            if isinstance(self.strength, str)
            else spell_number(self.strength),
            "points": str(self.points),
            "weight": "" if self.weight is None else spell_number(self.weight),
            "allowed": spell_number(self.allowed),
            "forbidden": spell_number(self.forbidden),
            "per": self.per,
            "literal": "yes" if self.literal else "no",
            "sampler": self.sampler if isinstance(self.sampler, str) else "",
        }
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        options = [
            f"{key}={text}"
            for key, text in spelled.items()
            if text and getattr(self, key) != defaults[key]
        ]
        if self.tau != defaults["tau"]:
            options += [f"tau{i}={spell_number(tau)}" for i, tau in enumerate(self.tau)]
        return options


def _check_name(name: object) -> None:
    if name is None:
        return
    words = name.split() if isinstance(name, str) and RULE_NAME.fullmatch(name) else []
    is_long = len(str(name)) > _MOST_NAME
    if not words or str(name).strip() != name or words[0] == "if" or is_long:
        raise RuleError(
            "a rule's name is made of letters, digits, spaces, - and _, does not begin "
            f"with `if`, and has at most {_MOST_NAME} characters, got "
            f'{shorten(repr(name))}. Write `name="low pressure"`.'
        )
