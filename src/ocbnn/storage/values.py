"""A person's settings as JSON, and back to what they were.

JSON has no tuples, no infinities and no arrays, so those become objects with a single
key that begins with `$`. Other rooms add kinds of their own.
"""

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ocbnn.core.sentences import Sentence
from ocbnn.errors import StorageError

# Knows further kinds of value: a tagged object, or None where it does not know.
Teller = Callable[[object, str], dict[str, Any] | None]
# Makes values of further kinds from what stands behind their tag.
Makers = Mapping[str, Callable[[Any], object]]


class NotPlainError(StorageError):
    """A value that no file can hold, such as a function."""


def to_plain(value: object, place: str, tell: Teller | None = None) -> Any:
    """A value as text, numbers, lists and objects.

    >>> to_plain((1, "a"), "here")
    {'$tuple': [1, 'a']}

    Raises
    ------
    NotPlainError
        When it is something else; `place` is named.
    """
    told = None if tell is None else tell(value, place)
    if told is not None:
        return told
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Sentence):
        value = str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    if value is None or type(value) in (bool, int, float, str):
        return value
    inner = lambda part, name: to_plain(part, f"{place}{name}", tell)
    if type(value) in (list, tuple):
        parts = [inner(part, f"[{i}]") for i, part in enumerate(value)]  # pyright: ignore[reportArgumentType]
        return parts if isinstance(value, list) else {"$tuple": parts}
    if type(value) is dict:
        pairs = [[inner(k, " key"), inner(v, f"[{k!r}]")] for k, v in value.items()]
        return {"$dict": pairs}
    if isinstance(value, os.PathLike):
        return {"$path": os.fspath(value)}
    raise NotPlainError(
        f"{place} is {type(value).__name__}, which a file cannot hold: only numbers, "
        "text, lists, and the library's own plans and rules can be written."
    )


def from_plain(value: Any, place: str, makers: Makers | None = None) -> Any:
    """What `to_plain` was given.

    >>> from_plain({"$tuple": [1, "a"]}, "here")
    (1, 'a')
    """
    inner = lambda part: from_plain(part, place, makers)
    if isinstance(value, list):
        return [inner(part) for part in value]
    if not isinstance(value, dict):
        return value
    known: dict[str, Callable[[Any], object]] = {
        "$tuple": lambda parts: tuple(inner(_list(parts, place))),
        "$dict": lambda pairs: dict(map(inner, _list(pairs, place))),
        "$float": float,
        "$path": lambda text: Path(str(text)),
        **(makers or {}),
    }
    tag = next(iter(value), "")
    if len(value) != 1 or tag not in known:
        raise StorageError(
            f"{place} is of a kind that this ocbnn does not know: {tag[:40]!r}. It may "
            "have been saved by a newer one: update ocbnn."
        )
    return known[tag](value[tag])


def _list(parts: object, place: str) -> list[Any]:
    if not isinstance(parts, list):
        raise StorageError(f"{place} must be a list, got {type(parts).__name__}.")
    return parts
