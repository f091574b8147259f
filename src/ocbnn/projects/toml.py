"""Values, keys and comments as TOML spells them.

What people call columns, categories and files may hold quotes, line ends and anything
else. None of it may end where it is quoted and begin something of its own.
"""

import json
import math
import re
import unicodedata
from typing import Any

from ocbnn.core.words import shorten
from ocbnn.errors import SettingError

_BARE = re.compile(r"[A-Za-z0-9_-]+")
DEEPEST = 50
# Texts and comments, in which brackets and dots mean nothing, closed or not.
_TEXTS = (
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:""")?',
    r"'''(?:[^']|'(?!''))*+(?:''')?",
    r'"(?:[^"\\\n]|\\.)*+"?',
    r"'[^'\n]*+'?",
    r"#[^\n]*+",
)
_PART = re.compile("|".join([*_TEXTS, r"[\[\]{}.,=\n]"]), re.DOTALL)


def toml_key(name: str) -> str:
    """A key, in quotes where it needs them.

    >>> toml_key("seed"), toml_key("mean bp"), toml_key("a.b")
    ('seed', '"mean bp"', '"a.b"')
    """
    return name if _BARE.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    r"""A value on one line.

    >>> print(toml_value(['say "no"', 1.5, True, {"a b": 2}]))
    ["say \"no\"", 1.5, true, {"a b" = 2}]

    Raises
    ------
    SettingError
        When TOML has no word for it.
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, dict):
        pairs = [f"{toml_key(key)} = {toml_value(one)}" for key, one in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    raise SettingError(
        f"a study file cannot hold {shorten(repr(value), 40)}. Write text, a number, "
        "true, false or a list, or leave it out."
    )


def far_inside(text: str) -> int | None:
    r"""The line on which brackets or parts of a key stand too deep, one in another.

    >>> far_inside("a = " + "[" * 3), far_inside("\n" + "a." * 100)
    (None, 2)
    """
    depth = dots = 0
    for found in _PART.finditer(text):
        sign = found[0]
        dots = dots + 1 if sign == "." else dots if len(sign) > 1 else 0
        depth += (sign in ("[", "{")) - (sign in ("]", "}"))
        if max(depth, dots) > DEEPEST:
            return text.count("\n", 0, found.start()) + 1
    return None


def one_line(text: str) -> str:
    r"""Text for a line of a file, a comment say, without what could end it.

    >>> one_line("# red or\n[fit]")
    '# red or [fit]'
    """
    # Line ends and the like are controls (Cc), halves of letters are surrogates (Cs).
    is_plain = lambda c: unicodedata.category(c) not in ("Cc", "Cs")
    return "".join(c if is_plain(c) else " " for c in text)


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SettingError(
            f"{shorten(ascii(text), 60)} has characters that no text file can hold. "
            "Write it with others."
        ) from None
    # JSON's quotes are TOML's, but for one control character that JSON lets through.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
