"""Settings as JSON, and back.

JSON has no tuples and no infinities, so those become objects with a single key that
begins with `$`. Other packages add kinds of their own.
"""

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ocbnn.core.sentences import Sentence
from ocbnn.errors import StorageError

# Encodes further kinds of values as tagged objects; returns None for other values.
Encoder = Callable[[object, str], dict[str, Any] | None]
# Decoders of further kinds of values, by tag.
Decoders = Mapping[str, Callable[[Any], object]]


class NotPlainError(StorageError):
    """A value that a file cannot hold, such as a function."""


def to_plain(value: object, place: str, encoder: Encoder | None = None) -> Any:
    """A value as text, numbers, lists and objects.

    >>> to_plain((1, "a"), "here")
    {'$tuple': [1, 'a']}

    Raises
    ------
    NotPlainError
        When it is something else; the error names `place`.
    """
    encoded = None if encoder is None else encoder(value, place)
    if encoded is not None:
        return encoded
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Sentence):
        value = str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    if value is None or type(value) in (bool, int, float, str):
        return value
    encode = lambda part, name: to_plain(part, f"{place}{name}", encoder)
    if type(value) in (list, tuple):
        parts = [encode(part, f"[{i}]") for i, part in enumerate(value)]  # pyright: ignore[reportArgumentType]
        return parts if isinstance(value, list) else {"$tuple": parts}
    if type(value) is dict:
        pairs = [[encode(k, " key"), encode(v, f"[{k!r}]")] for k, v in value.items()]
        return {"$dict": pairs}
    if isinstance(value, os.PathLike):
        return {"$path": os.fspath(value)}
    raise NotPlainError(
        f"{place} is {type(value).__name__}, which a file cannot hold: only numbers, "
        "text, lists, and the library's own plans, priors and rules can be written."
    )


def from_plain(value: Any, place: str, makers: Decoders | None = None) -> Any:
    """The value that `to_plain` encoded.

    >>> from_plain({"$tuple": [1, "a"]}, "here")
    (1, 'a')
    """
    decode = lambda part: from_plain(part, place, makers)
    if isinstance(value, list):
        return [decode(part) for part in value]
    if not isinstance(value, dict):
        return value
    decoders: dict[str, Callable[[Any], object]] = {
        "$tuple": lambda parts: tuple(decode(_list(parts, place))),
        "$dict": lambda pairs: dict(map(decode, _list(pairs, place))),
        "$float": float,
        "$path": lambda text: Path(str(text)),
        **(makers or {}),
    }
    tag = next(iter(value), "")
    if len(value) != 1 or tag not in decoders:
        raise StorageError(
            f"{place} has a kind that this ocbnn does not know: {tag[:40]!r}. It may "
            "have been saved by a newer version: update ocbnn."
        )
    return decoders[tag](value[tag])


def _list(parts: object, place: str) -> list[Any]:
    if not isinstance(parts, list):
        raise StorageError(f"{place} must be a list, got {type(parts).__name__}.")
    return parts
