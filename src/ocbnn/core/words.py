"""Words for people: the nearest known one, lists, numbers, and text cut short."""

import difflib
import math
from collections.abc import Iterable


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


def spell(value: float, width: float = 0.0, digits: int = 4) -> str:
    """A number with as many digits as tell it from others in a range so wide.

    >>> spell(3.14159), spell(2460000.25), spell(2460000.25, width=1.0)
    ('3.142', '2.46e+06', '2460000.25')
    """
    if 0 < width < abs(value) < math.inf:
        digits += math.floor(math.log10(abs(value) / width))
    return f"{value:.{min(digits, 17)}g}"


def shorten(text: str, most: int = 80) -> str:
    """Cut text to a length that fits in a message or a legend."""
    return text if len(text) <= most else text[: most - 1] + "…"
