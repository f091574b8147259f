"""Strict JSON: no repeated keys, no NaN, limited depth."""

import json
import math
from typing import Any

from ocbnn.core.words import shorten
from ocbnn.errors import StorageError

FORMAT, VERSION = "ocbnn bundle", 1
MOST_BYTES = 16 * 2**20
_DEEPEST = 64


def encode_document(content: dict[str, Any]) -> bytes:
    """A document as UTF-8 text, wrapped in its format and version.

    Raises
    ------
    StorageError
        When it holds something that JSON cannot express exactly.
    """
    envelope = {"format": FORMAT, "version": VERSION, "content": content}
    _check(envelope, "the document")
    try:
        text = json.dumps(envelope, indent=1, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise StorageError(f"the document cannot be written: {error}.") from error
    data = text.encode()
    if len(data) > MOST_BYTES:
        raise StorageError(
            f"the document has {len(data)} bytes, more than the {MOST_BYTES} that are "
            "read back. Put long lists of numbers among the arrays."
        )
    return data


def decode_document(data: bytes, place: str) -> dict[str, Any]:
    """The content of a document.

    Raises
    ------
    StorageError
        When it is not one that `encode_document` could have written.
    """
    try:
        envelope = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_without_repeats,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
        _check(envelope, place)
    except UnicodeDecodeError as error:
        raise StorageError(
            f"{place} is not UTF-8 text (byte {error.start}). {_MEND}"
        ) from None
    except RecursionError:
        raise StorageError(f"{place} is nested too deeply. {_MEND}") from None
    except StorageError as error:
        message = str(error)
        raise StorageError(
            message if message.startswith(place) else f"{place}: {message}"
        ) from None
    except ValueError as error:
        raise StorageError(f"{place} is not valid JSON: {error}. {_MEND}") from None
    return _content(envelope, place)


_MEND = "Take the file from a backup, or save again."


def _content(envelope: object, place: str) -> dict[str, Any]:
    keys = {"format", "version", "content"}
    if not isinstance(envelope, dict) or envelope.get("format") != FORMAT:
        raise StorageError(
            f'{place} is JSON, but not an ocbnn document: "format" must be "{FORMAT}".'
        )
    version = envelope.get("version")
    if type(version) is not int or version < 1:
        raise StorageError(
            f"{place}: the version must be a whole number above zero, got "
            f"{_short(version)}. {_MEND}"
        )
    if version > VERSION:
        raise StorageError(
            f"{place} has format version {version}, but this ocbnn reads versions up "
            f"to {VERSION}. Update ocbnn, or save it again with an older one."
        )
    if envelope.keys() != keys or not isinstance(envelope["content"], dict):
        raise StorageError(
            f"{place} must hold the keys {sorted(keys)}, the last an object, got "
            f"{_short(sorted(envelope))}. {_MEND}"
        )
    return envelope["content"]


def _check(value: object, place: str) -> None:
    """Refuse values that JSON would not restore exactly."""
    pending: list[tuple[object, int]] = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if depth > _DEEPEST:
            raise StorageError(f"{place} is nested deeper than {_DEEPEST} levels.")
        if isinstance(item, dict):
            for key, child in item.items():
                if type(key) is not str:
                    raise StorageError(
                        f"{place} has the key {_short(key)}: keys must be text."
                    )
                pending += [(key, depth + 1), (child, depth + 1)]
        elif isinstance(item, list):
            pending += [(child, depth + 1) for child in item]
        else:
            _check_leaf(item, place)


def _check_leaf(leaf: object, place: str) -> None:
    if isinstance(leaf, float) and not math.isfinite(leaf):
        raise StorageError(
            f"{place} holds {leaf}, which JSON cannot express. Write null, or put the "
            "number among the arrays."
        )
    if type(leaf) not in (str, int, float, bool, type(None)):
        raise StorageError(
            f"{place} holds {_short(leaf)} of type {type(leaf).__name__}: only text, "
            "numbers, true, false, null, lists and objects with text as keys are kept. "
            "Convert it, or put it among the arrays."
        )
    if isinstance(leaf, str) and not _is_unicode(leaf):
        raise StorageError(
            f"{place} holds text that is not valid Unicode: {_short(leaf)}."
        )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise StorageError(f"the key {_short(repeated)} is repeated. {_MEND}")
    return document


def _refuse_constant(word: str) -> float:
    raise StorageError(f"{word} is not a JSON number. {_MEND}")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise StorageError(f"the number {_short(text)} is too large. {_MEND}")
    return number


def _short(value: object) -> str:
    return shorten(repr(value), 60)
