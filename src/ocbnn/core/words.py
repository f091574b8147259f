"""Formatting for messages: suggestions, lists, numbers, shares and shortened text."""

import difflib
import math
from collections.abc import Iterable


def suggest(word: object, known: Iterable[object]) -> str:
    """Suggest the nearest known word, or nothing when none is near.

    >>> suggest("presure", ["pressure", "age"])
    ' Did you mean `pressure`?'
    """
    words = [str(item) for item in known]
    matches = difflib.get_close_matches(str(word)[:80], words, n=1)
    if not matches:
        lowered = {item.lower(): item for item in words}
        matches = [lowered[str(word).lower()]] if str(word).lower() in lowered else []
    return f" Did you mean `{matches[0]}`?" if matches else ""


def listing(items: Iterable[object], most: int = 12) -> str:
    """List some items, for the end of an error message.

    >>> listing(["a", "b"])
    'a, b'
    """
    texts = [str(item) for item in items]
    omitted = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {omitted} more" if omitted > 0 else "")


def share(number: float, digits: str = ".3g") -> str:
    """A share as a percentage that never rounds a positive share to zero.

    >>> share(0.0), share(0.00001), share(0.1234)
    ('0 %', '< 0.01 %', '12.3 %')
    """
    if number == 0:
        return "0 %"
    return "< 0.01 %" if number < 1e-4 else f"{100 * number:{digits}} %"


def at_least(number: float) -> str:
    """A share as a percentage, rounded down.

    >>> at_least(0.99996), at_least(1.0)
    ('99.9 %', '100 %')
    """
    return f"{math.floor(1000 * number + 1e-9) / 10:g} %"


def spell(value: float, width: float = 0.0, digits: int = 4) -> str:
    """A number with enough digits to distinguish it within a range of that width.

    >>> spell(3.14159), spell(2460000.25), spell(2460000.25, width=1.0)
    ('3.142', '2.46e+06', '2460000.25')
    """
    if 0 < width < abs(value) < math.inf:
        digits += math.floor(math.log10(abs(value) / width))
    return f"{value:.{min(digits, 17)}g}"


def shorten(text: str, most: int = 80) -> str:
    """Cut text to a length that fits in a message or a legend."""
    return text if len(text) <= most else text[: most - 1] + "…"
