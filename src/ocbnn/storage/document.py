"""JSON that says one thing: no key twice, no NaN, not deeper than it need be."""

import json
import math
from typing import Any

from ocbnn.core.words import shorten
from ocbnn.errors import StorageError

FORMAT, VERSION = "ocbnn bundle", 1
MOST_BYTES = 16 * 2**20
_DEEPEST = 64


def encode_document(content: dict[str, Any]) -> bytes:
    """The document as UTF-8 text, with its format and version around it.

    Raises
    ------
    StorageError
        When it holds something that JSON cannot say exactly.
    """
    whole = {"format": FORMAT, "version": VERSION, "content": content}
    _check(whole, "the document")
    try:
        text = json.dumps(whole, indent=1, allow_nan=False, ensure_ascii=False)
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
        whole = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_without_repeats,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
        _check(whole, place)
    except UnicodeDecodeError as error:
        raise StorageError(
            f"{place} is not UTF-8 text (byte {error.start}). {_MEND}"
        ) from None
    except RecursionError:
        raise StorageError(f"{place} is nested too deeply. {_MEND}") from None
    except StorageError as error:
        said = str(error)
        raise StorageError(
            said if said.startswith(place) else f"{place}: {said}"
        ) from None
    except ValueError as error:
        raise StorageError(f"{place} is not valid JSON: {error}. {_MEND}") from None
    return _content(whole, place)


_MEND = "Take the file from a backup, or save again."


def _content(whole: object, place: str) -> dict[str, Any]:
    keys = {"format", "version", "content"}
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise StorageError(
            f'{place} is JSON, but no document of ocbnn: "format" must be "{FORMAT}".'
        )
    version = whole.get("version")
    if type(version) is not int or version < 1:
        raise StorageError(
            f"{place}: the version must be a whole number above zero, got "
            f"{_short(version)}. {_MEND}"
        )
    if version > VERSION:
        raise StorageError(
            f"{place} has format version {version}, and this ocbnn reads versions up "
            f"to {VERSION}. Update ocbnn, or save it again from the older one."
        )
    if whole.keys() != keys or not isinstance(whole["content"], dict):
        raise StorageError(
            f"{place} must hold the keys {sorted(keys)}, the last an object, got "
            f"{_short(sorted(whole))}. {_MEND}"
        )
    return whole["content"]


def _check(value: object, place: str) -> None:
    """Refuse what would not come back as it was."""
    waiting: list[tuple[object, int]] = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > _DEEPEST:
            raise StorageError(f"{place} is nested deeper than {_DEEPEST} levels.")
        if isinstance(one, dict):
            for key, inner in one.items():
                if type(key) is not str:
                    raise StorageError(
                        f"{place} has the key {_short(key)}: keys must be text."
                    )
                waiting += [(key, depth + 1), (inner, depth + 1)]
        elif isinstance(one, list):
            waiting += [(inner, depth + 1) for inner in one]
        else:
            _check_leaf(one, place)


def _check_leaf(one: object, place: str) -> None:
    if isinstance(one, float) and not math.isfinite(one):
        raise StorageError(
            f"{place} holds {one}, which JSON has no word for. Write null, or put the "
            "number among the arrays."
        )
    if type(one) not in (str, int, float, bool, type(None)):
        raise StorageError(
            f"{place} holds {_short(one)} of type {type(one).__name__}: only text, "
            "numbers, true, false, null, lists and objects with text as keys are kept. "
            "Convert it, or put it among the arrays."
        )
    if isinstance(one, str) and not _is_unicode(one):
        raise StorageError(f"{place} holds text that is not Unicode: {_short(one)}.")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise StorageError(f"the key {_short(twice)} is there twice. {_MEND}")
    return found


def _refuse_constant(word: str) -> float:
    raise StorageError(f"{word} is not a number that JSON knows. {_MEND}")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise StorageError(f"the number {_short(text)} is too large. {_MEND}")
    return number


def _short(value: object) -> str:
    return shorten(repr(value), 60)
