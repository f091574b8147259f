"""How strictly a rule is held: what a slider shows of it, and writes into its text."""

import dataclasses
from typing import Any

from ocbnn.rules import AllowedClasses, BoundRule, Expectation, Forbidden, parse_rule
from ocbnn.rules.rule import Held
from ocbnn.rules.settings import DEFAULT_STRENGTH

_CLASS_WEIGHT = 1.0


def strictness_of(bound: BoundRule) -> dict[str, Any] | None:
    """The setting that says it, its value and its usual one, and words it may be.

    Limits have a strength; expectations a weight; classes a weight, and words.
    """
    rule = bound.rule
    words = ["firm", "hard"]
    match bound.claim:
        case Forbidden():
            now, usual = rule.strength, DEFAULT_STRENGTH
            return {"by": "strength", "now": now, "usual": usual, "words": words}
        case AllowedClasses():
            now = rule.weight or _CLASS_WEIGHT
            now = now if rule.held == "soft" else rule.held
            usual = _CLASS_WEIGHT
            return {"by": "weight", "now": now, "usual": usual, "words": words}
        case Expectation():
            usual = float(rule.points)
            now = rule.weight or usual
            return {"by": "weight", "now": now, "usual": usual, "words": []}
    return None


def with_strength(text: str, strength: float | Held) -> str:
    """The same rule, held more or less strictly."""
    rule = parse_rule(text)
    if strength == "soft":
        strength = DEFAULT_STRENGTH
    return str(dataclasses.replace(rule, strength=strength))


def with_weight(text: str, weight: float | None) -> str:
    """The same rule, counted more or less often; None for as often as is usual."""
    rule = parse_rule(text)
    return str(dataclasses.replace(rule, weight=weight, strength=DEFAULT_STRENGTH))
