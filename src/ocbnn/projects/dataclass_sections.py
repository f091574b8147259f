"""Data classes of the library, seen as sections of a file.

Plans and rules are data classes that say for themselves which settings they have, so a
study file may name any of them, and those of plans that are added later.
"""

import dataclasses
import types
from collections.abc import Sequence
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

_PLAIN = (bool, int, float, str, type(None))


class Section(BaseModel):
    """A part of a file. Unknown keys are refused, and values are taken literally."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False
    )


def plain_model(
    source: type,
    *,
    base: type[BaseModel] | None = None,
    leave_out: Sequence[str] = (),
    unknown: tuple[type, object] | None = None,
) -> type[BaseModel]:
    """A model with one optional key for every field that a file can hold.

    Parameters
    ----------
    source
        The data class.
    base
        A model to build on.
    leave_out
        Fields that are no keys.
    unknown
        Type and example of a field that says no plain type; such fields are
        left out without it.
    """
    hints = get_type_hints(source)
    keys: dict[str, Any] = {}
    for field in dataclasses.fields(source):
        kind = _in_file(hints[field.name])
        example = _example(field, kind)
        if kind is None and unknown is not None:
            kind, example = unknown
        if field.name in leave_out or kind is None or not field.init:
            continue
        keys[field.name] = (kind | None, Field(None, examples=[example]))
    return create_model(source.__name__, __base__=base or Section, **keys)


def python_only(source: type) -> set[str]:
    """The fields that no plain value can set."""
    hints = get_type_hints(source)
    fields = [field for field in dataclasses.fields(source) if field.init]
    return {field.name for field in fields if _in_file(hints[field.name]) is None}


def inherited(source: type) -> set[str]:
    """The fields that follow from others."""
    return {field.name for field in dataclasses.fields(source) if not field.init}


def _in_file(hint: Any) -> Any:
    """The same type as TOML has it, or None where it has none."""
    if hint in _PLAIN:
        return hint
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        kinds = [_in_file(one) for one in arguments]
        return None if None in kinds else Union[tuple(kinds)]  # noqa: UP007
    if origin in (tuple, list):
        inner = _in_file(arguments[0])
        return None if inner is None else list[inner]
    return hint if str(origin) == "typing.Literal" else None


def _example(field: dataclasses.Field[Any], kind: Any) -> Any:
    if field.default not in (None, dataclasses.MISSING):
        return field.default
    # The first word, where there are words to choose from.
    words = [one for one in get_args(kind) if str(get_origin(one)) == "typing.Literal"]
    return get_args(words[0])[0] if words else 1.0
