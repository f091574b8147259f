"""How words, numbers and labels are spelled in rule text."""

import math
import re
from typing import TypeAlias

import numpy as np

from ocbnn.core.words import shorten
from ocbnn.errors import RuleError

Label: TypeAlias = str | int | float | bool

KEYWORDS = ("if", "then", "and", "or", "not", "in", "either")
UNARY_FUNCTIONS = ("exp", "log", "sqrt", "abs", "sin", "cos", "tan", "tanh")
VARIADIC_FUNCTIONS = ("min", "max")
FUNCTIONS = UNARY_FUNCTIONS + VARIADIC_FUNCTIONS
# Not reserved: `d(` begins a slope, and `d` alone is a column like any other.
SLOPE = "d"
RESERVED = frozenset(KEYWORDS + FUNCTIONS)
TRUTHS = {"true": True, "True": True, "false": False, "False": False}

_IDENTIFIER = re.compile(r"[^\W\d]\w*")


def spell_number(value: float) -> str:
    """Spell the shortest text that parses back to exactly this number.

    >>> spell_number(3.0), spell_number(0.1), spell_number(1e300)
    ('3', '0.1', '1e+300')
    """
    text = repr(value)
    return text.removesuffix(".0")


def spell_name(name: str) -> str:
    """Spell a column's name, in backticks where it would be ambiguous.

    >>> spell_name("bp"), spell_name("mean bp"), spell_name("if")
    ('bp', '`mean bp`', '`if`')
    """
    if _IDENTIFIER.fullmatch(name) and name not in RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"


def spell_label(label: Label) -> str:
    """Spell a class label, in quotes where it would be ambiguous.

    >>> spell_label("treat"), spell_label("wait and see"), spell_label(True)
    ('treat', '"wait and see"', 'true')
    """
    if isinstance(label, bool):
        return "true" if label else "false"
    if not isinstance(label, str):
        return repr(label)
    plain = _IDENTIFIER.fullmatch(label) and label not in RESERVED
    if plain and label not in TRUTHS:
        return label
    return '"' + label.replace("\\", "\\\\").replace('"', '\\"') + '"'


def as_label(value: object) -> Label:
    """Turn a class label into a plain Python value."""
    label = value.item() if isinstance(value, np.generic) else value
    if isinstance(label, float) and not math.isfinite(label):
        raise RuleError(f"a class label is text or a finite number, got {label}.")
    if isinstance(label, str | int | float):
        return label
    raise RuleError(
        f"a class label is text or a number, got {type(value).__name__}: "
        f'{shorten(str(value))}. Write the labels one by one: `.is_in("a", "b")`.'
    )
