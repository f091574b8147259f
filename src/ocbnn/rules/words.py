"""How words, numbers and labels are spelled in rule text."""

import difflib
import re
from collections.abc import Iterable
from typing import TypeAlias

Label: TypeAlias = str | int | float | bool

KEYWORDS = ("if", "then", "and", "or", "not", "in", "either")
UNARY_FUNCTIONS = ("exp", "log", "sqrt", "abs", "sin", "cos", "tan", "tanh")
VARIADIC_FUNCTIONS = ("min", "max")
FUNCTIONS = UNARY_FUNCTIONS + VARIADIC_FUNCTIONS
RESERVED = frozenset(KEYWORDS + FUNCTIONS)
TRUTHS = {"true": True, "True": True, "false": False, "False": False}

_IDENTIFIER = re.compile(r"[^\W\d]\w*")


def spell_number(value: float) -> str:
    """Spell the shortest text that reads back as exactly this number.

    >>> spell_number(3.0), spell_number(0.1), spell_number(1e300)
    ('3', '0.1', '1e+300')
    """
    text = repr(value)
    return text.removesuffix(".0")


def spell_name(name: str) -> str:
    """Spell a column's name, in backticks when it could be read as something else.

    >>> spell_name("bp"), spell_name("mean bp"), spell_name("if")
    ('bp', '`mean bp`', '`if`')
    """
    if _IDENTIFIER.fullmatch(name) and name not in RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"


def spell_label(label: Label) -> str:
    """Spell a class label, in quotes when it could be read as something else.

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


def suggest(word: object, known: Iterable[object]) -> str:
    """Suggest the nearest known word, or nothing when none is near.

    >>> suggest("presure", ["pressure", "age"])
    ' Did you mean `pressure`?'
    """
    words = [str(item) for item in known]
    near = difflib.get_close_matches(str(word)[:80], words, n=1)
    if not near:
        lowered = {item.lower(): item for item in words}
        near = [lowered[str(word).lower()]] if str(word).lower() in lowered else []
    return f" Did you mean `{near[0]}`?" if near else ""


def listing(items: Iterable[object], most: int = 12) -> str:
    """List some items, for the end of an error message.

    >>> listing(["a", "b"])
    'a, b'
    """
    words = [str(item) for item in items]
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")


def shorten(text: str, most: int = 80) -> str:
    """Cut text to a length that fits in a message or a legend."""
    return text if len(text) <= most else text[: most - 1] + "…"
