"""Values, keys and comments in the syntax of TOML.

Names of columns, categories and files may contain quotes, line ends and anything else.
They are escaped so that they cannot end their string or comment early.
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
# Strings and comments, closed or not; brackets and dots inside do not count.
_TEXTS = (
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:""")?',
    r"'''(?:[^']|'(?!''))*+(?:''')?",
    r'"(?:[^"\\\n]|\\.)*+"?',
    r"'[^'\n]*+'?",
    r"#[^\n]*+",
)
_PART = re.compile("|".join([*_TEXTS, r"[\[\]{}.,=\n]"]), re.DOTALL)


def toml_key(name: str) -> str:
    """A key, in quotes if it needs them.

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
        When TOML has no syntax for it.
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, dict):
        pairs = [f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    raise SettingError(
        f"a study file cannot hold {shorten(repr(value), 40)}. Write text, a number, "
        "true, false or a list, or leave it out."
    )


def too_deep(text: str) -> int | None:
    r"""The first line on which brackets or parts of a key are nested too deeply.

    >>> too_deep("a = " + "[" * 3), too_deep("\n" + "a." * 100)
    (None, 2)
    """
    depth = dots = 0
    for match in _PART.finditer(text):
        token = match[0]
        dots = dots + 1 if token == "." else dots if len(token) > 1 else 0
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        if max(depth, dots) > DEEPEST:
            return text.count("\n", 0, match.start()) + 1
    return None


def one_line(text: str) -> str:
    r"""Text for one line of a file, such as a comment, without characters that end it.

    >>> one_line("# red or\n[fit]")
    '# red or [fit]'
    """
    # Line ends are control characters (Cc), halves of characters surrogates (Cs).
    is_plain = lambda c: unicodedata.category(c) not in ("Cc", "Cs")
    return "".join(c if is_plain(c) else " " for c in text)


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SettingError(
            f"{shorten(ascii(text), 60)} has characters that a text file cannot hold. "
            "Use other characters."
        ) from None
    # JSON's strings are TOML's, except for one control character that JSON allows.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
