"""Data classes of the library as sections of a study file.

Plans and rules are data classes, so their fields become keys of the file, including
those of plans that are added later.
"""

import dataclasses
import types
from collections.abc import Sequence
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

_PLAIN = (bool, int, float, str, type(None))


class Section(BaseModel):
    """A section of a file; unknown keys and values of another type are refused."""

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
    """A model with an optional key for every field that TOML can express.

    Parameters
    ----------
    source
        The data class.
    base
        A model to build on.
    leave_out
        Fields that are not keys.
    unknown
        Type and example for fields without a plain type; by default, such fields
        are left out.
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
    """The fields that cannot be set in a file."""
    hints = get_type_hints(source)
    fields = [field for field in dataclasses.fields(source) if field.init]
    return {field.name for field in fields if _in_file(hints[field.name]) is None}


def inherited(source: type) -> set[str]:
    """The fields that are derived from others."""
    return {field.name for field in dataclasses.fields(source) if not field.init}


def _in_file(hint: Any) -> Any:
    """The corresponding type in TOML; None if there is none."""
    if hint in _PLAIN:
        return hint
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        kinds = [_in_file(argument) for argument in arguments]
        return None if None in kinds else Union[tuple(kinds)]  # noqa: UP007
    if origin in (tuple, list):
        inner = _in_file(arguments[0])
        return None if inner is None else list[inner]
    return hint if str(origin) == "typing.Literal" else None


def _example(field: dataclasses.Field[Any], kind: Any) -> Any:
    if field.default not in (None, dataclasses.MISSING):
        return field.default
    # The first option, if there are options.
    literals = [
        argument
        for argument in get_args(kind)
        if str(get_origin(argument)) == "typing.Literal"
    ]
    return get_args(literals[0])[0] if literals else 1.0
