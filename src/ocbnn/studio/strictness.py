"""How strictly a rule is held: what a slider shows of it, and writes into its text."""

import dataclasses
from typing import Any

from ocbnn.claims.settings import DEFAULT_STRENGTH, Held
from ocbnn.rules import BoundRule, parse_rule


def strictness_of(bound: BoundRule) -> dict[str, Any] | None:
    """The setting that says it, its value and its usual one, and words it may be.

    Limits have a strength; expectations a weight; classes a weight, and words.
    """
    dial = bound.claim.dial(bound.rule)
    if dial is None:
        return None
    words = [*dial.words]
    return {"by": dial.setting, "now": dial.now, "usual": dial.usual, "words": words}


def with_strength(text: str, strength: float | Held) -> str:
    """The same rule, held more or less strictly."""
    rule = parse_rule(text)
    return str(dataclasses.replace(rule, strength=strength))


def with_weight(text: str, weight: float | None) -> str:
    """The same rule, counted more or less often; None for as often as is usual."""
    rule = parse_rule(text)
    return str(dataclasses.replace(rule, weight=weight, strength=DEFAULT_STRENGTH))
