"""How strictly a rule is held: what its slider shows and writes into its text."""

import dataclasses
from typing import Any

from ocbnn.claims.settings import DEFAULT_STRENGTH, Strictness
from ocbnn.rules import BoundRule, parse_rule


def strictness_of(bound: BoundRule) -> dict[str, Any] | None:
    """The setting behind the slider, its value, its default and the words allowed.

    Limits have a strength; expectations a weight; classes a weight, and words.
    """
    dial = bound.claim.dial(bound.rule)
    if dial is None:
        return None
    words = [*dial.words]
    return {"by": dial.setting, "now": dial.now, "usual": dial.usual, "words": words}


def with_strength(text: str, strength: float | Strictness) -> str:
    """The rule with another strength."""
    rule = parse_rule(text)
    return str(dataclasses.replace(rule, strength=strength))


def with_weight(text: str, weight: float | None) -> str:
    """The rule with another weight; None for the default."""
    rule = parse_rule(text)
    return str(dataclasses.replace(rule, weight=weight, strength=DEFAULT_STRENGTH))
