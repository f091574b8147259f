"""A rule: a region, a claim about the outputs there, and how strictly it is held."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from ocbnn.claims.base import AnyClaim, WrittenClaim
from ocbnn.claims.settings import (
    DEFAULT_GAMMA,
    DEFAULT_STRENGTH,
    DEFAULT_TAU,
    Form,
    Per,
    Strictness,
    check_form,
    check_setting,
)
from ocbnn.core.words import shorten
from ocbnn.errors import RuleError
from ocbnn.language.conditions import Condition, as_condition
from ocbnn.language.words import spell_number

# Strings are printed; anything else is the user's own and is compared by identity.
Sampler: TypeAlias = Any

RULE_NAME = re.compile(r"[\w \-]+")
_MOST_NAME = 200


@dataclasses.dataclass(frozen=True, eq=False)
class Rule:
    """What an expert says: made by `require`, `forbid`, `expect`, `custom` or text.

    `parse_rule(str(rule))` is an equal rule, except for custom claims and a user's own
    sampler, which have no text.

    Parameters
    ----------
    claim
        What the rule says of the outputs: a condition, an expectation or a custom
        claim.
    where
        The region, a condition on inputs; None for all inputs.
    name
        What reports call the rule; by default, its text.
    strength
        How strictly the rule is enforced. "soft": by a finite penalty; "firm": refined
        until draws keep it; "hard": without exception. A number is the price γ of a
        violation, for the paper's indicator.
    points
        The number of inputs at which the density evaluates the rule.
    weight
        How often the rule counts in total. By default as often as it has points, and
        once for a class rule.
    tolerance
        Roughly how far outputs may be beyond the edge, in the units that are compared
        (logits for classes): the standard deviation of the penalty. By default 3 % of
        the spread of what is compared.
    form
        "distance", a penalty that grows with the distance from the edge, or
        "indicator", the paper's density for forbidden outputs. By default "distance",
        unless another setting is for the indicator.
    allowed
        Dirichlet α of the allowed classes.
    forbidden
        Dirichlet α of all other classes. By default 0.01, or 1 where the prior on
        weights does not outweigh the unlimited reward of less: if scales are learned
        or tails heavy.
    per
        With several means: whether a function chooses one at each "point", or once for
        the whole "region".
    tau
        How steep the indicator is: (τ0, τ1).
    literal
        Whether the indicator is the one that the paper prints, without its ¼.
    sampler
        Where the points lie. "box": evenly spread in a bounded region; "like-data":
        rows of the data, moved into the region; an array: these points, one per row; a
        function `(key, count)`: those that it returns. By default, "box".

    Raises
    ------
    RuleError
        When the claim or the region is not a condition, or the name cannot be read
        back.
    SettingError
        When a setting lies outside its range.
    """

    claim: AnyClaim
    where: Condition | None = None
    name: str | None = None
    strength: float | Strictness = DEFAULT_STRENGTH
    points: int = 50
    weight: float | None = None
    tolerance: float | None = None
    form: Form | None = None
    allowed: float = 10.0
    forbidden: float | None = None
    per: Per = "point"
    tau: tuple[float, float] = DEFAULT_TAU
    literal: bool = False
    sampler: Sampler = None

    def __repr__(self) -> str:
        return f"rule({str(self)!r})"

    def __post_init__(self) -> None:
        if not isinstance(self.claim, WrittenClaim):
            as_condition(self.claim, "a claim")
        if self.where is not None:
            as_condition(self.where, "where")
        _check_name(self.name)
        for field in dataclasses.fields(self)[3:]:
            value = check_setting(field.name, getattr(self, field.name))
            object.__setattr__(self, field.name, value)
        check_form(self.form, self.strength, self.tau, self.literal)

    @property
    def strictness(self) -> Strictness:
        """How strictly the rule is held: at a price, firmly, or without exception."""
        return self.strength if isinstance(self.strength, str) else "soft"

    @property
    def gamma(self) -> float:
        """The price of the paper's indicator, or its initial value for firm rules."""
        return DEFAULT_GAMMA if isinstance(self.strength, str) else self.strength

    @property
    def is_indicator(self) -> bool:
        """Whether the penalty is the paper's indicator, by name or by a setting."""
        if self.form is not None:
            return self.form == "indicator"
        priced = not isinstance(self.strength, str)
        return priced or self.literal or self.tau != DEFAULT_TAU

    def _key(self) -> tuple[object, ...]:
        is_object = self.sampler is not None and not isinstance(self.sampler, str)
        fields = (getattr(self, field.name) for field in dataclasses.fields(self)[:-1])
        return (*fields, id(self.sampler) if is_object else self.sampler)

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
            "tolerance": "" if self.tolerance is None else spell_number(self.tolerance),
            "form": self.form or "",
            "allowed": spell_number(self.allowed),
            "forbidden": "" if self.forbidden is None else spell_number(self.forbidden),
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


# Rules as users give them.
GivenRules: TypeAlias = str | Rule | Sequence[str | Rule]


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
