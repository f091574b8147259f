"""Pydantic's validation errors as sentences that say what to write."""

import json
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ocbnn.core.sentences import Sentence, joined
from ocbnn.core.words import listing, shorten, suggest
from ocbnn.errors import SettingError
from ocbnn.projects.source import Key, Source

_RULES = {
    "string_type": "must be text in quotes",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list in brackets",
    "model_type": "must be a section of its own",
    "model_attributes_type": "must be a section of its own",
    "dict_type": "must be a section of its own",
    "too_short": "must not be empty",
    "too_long": "must have at most {max_length} entries",
    "string_too_short": "must not be empty",
    "finite_number": "must be finite",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "value_error": "{error}",
}

_MOST_SHOWN = 20
_KINDS = ("str", "int", "float", "bool", "none")


def checked(
    model: type[BaseModel], values: Any, source: Source, at: Key = ()
) -> BaseModel:
    """Validate values as a model; all mistakes in them are one error.

    Raises
    ------
    SettingError
        Naming file, line, key, value, and what to write.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        # A value that fits no member of a union is one mistake, not several.
        mistakes: dict[Key, Any] = {}
        for mistake in error.errors(include_url=False):
            # Text is most likely meant for the union's list of options.
            if _key(mistake) not in mistakes or _is_misspelled(mistake):
                mistakes[_key(mistake)] = mistake
        first = list(mistakes.values())[:_MOST_SHOWN]
        sentences = [_sentence(model, mistake, source, at) for mistake in first]
        if more := len(mistakes) - len(first):
            sentences.append(
                f"{source.path}: there are {more} more mistakes like these."
            )
        raise SettingError(joined("\n", sentences)) from None


def _is_misspelled(problem: Any) -> bool:
    return problem["type"] == "literal_error" and isinstance(problem["input"], str)


def _key(problem: Any) -> Key:
    # Members of a union are named after types, which are not keys of a file.
    return tuple(
        part
        for part in problem["loc"]
        if isinstance(part, int)
        or not (part in _KINDS or part.startswith(("list[", "literal[")))
    )


def _sentence(model: type[BaseModel], problem: Any, source: Source, at: Key) -> str:
    key = _key(problem)
    parent, field = _field(model, key)
    place = source.place((*at, *key))
    if problem["type"] == "extra_forbidden":
        known = list(parent.model_fields) if parent else []
        unknown = f": this key is not known.{suggest(key[-1], known)} Known here: "
        return Sentence(place, unknown, f"{listing(known, 30)}.")
    advice = _advice(key, field)
    if problem["type"] == "missing":
        return Sentence(place, f": this key is missing.{advice}")
    template = _RULES.get(problem["type"]) or str(problem["msg"])
    rule = template.format(**problem.get("ctx", {}))
    value = shorten(repr(problem["input"]), 60)
    options = (problem.get("ctx") or {}).get("expected", "").replace("'", "").split()
    near = suggest(problem["input"], options) if options else ""
    return Sentence(place, f": it {rule}, got {value}.{near}{advice}")


def _field(
    model: type[BaseModel], key: Key
) -> tuple[type[BaseModel] | None, FieldInfo | None]:
    """The model that a key belongs to, and the key's own description."""
    parent: type[BaseModel] | None = model
    field: FieldInfo | None = None
    for part in key:
        if isinstance(part, int):
            continue
        nested = _model_in(field.annotation) if field else model
        parent = nested or parent
        field = parent.model_fields.get(part) if parent else None
    return parent, field


def _model_in(annotation: Any) -> type[BaseModel] | None:
    for member in (annotation, *getattr(annotation, "__args__", ())):
        if isinstance(member, type) and issubclass(member, BaseModel):
            return member
    return None


def _advice(key: Key, field: FieldInfo | None) -> str:
    if field is None:
        return ""
    name = next(part for part in reversed(key) if isinstance(part, str))
    about = f" `{name}` is: {field.description}." if field.description else ""
    if not field.examples:
        return about
    if _model_in(field.annotation):
        return f"{about} Write `[{name}]` and its keys below."
    return f"{about} Write, for example, `{name} = {spell_value(field.examples[0])}`."


def spell_value(value: Any) -> str:
    """A value in the syntax of TOML.

    >>> spell_value("a"), spell_value([1, 2]), spell_value(True), spell_value(0.5)
    ('"a"', '[1, 2]', 'true', '0.5')
    """
    return json.dumps(value, ensure_ascii=False)
