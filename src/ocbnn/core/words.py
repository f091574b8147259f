"""Words for error messages: the nearest known one, lists, and text cut short."""

import difflib
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


def shorten(text: str, most: int = 80) -> str:
    """Cut text to a length that fits in a message or a legend."""
    return text if len(text) <= most else text[: most - 1] + "…"
