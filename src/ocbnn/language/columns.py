"""Advice for rules that spell a column's name wrongly."""

import re

from ocbnn.language.schema import Schema
from ocbnn.language.words import spell_name

_QUOTED = re.compile(r"`(?:[^`]|``)*`|\"[^\"]*\"|'[^']*'")


def meant_column(text: str, schema: Schema) -> str:
    """Advice about a misspelled column in a text; empty if none is found.

    >>> meant_column("if mean bp < 65 then y > 0", Schema(("mean bp",), ("y",)))
    'the column mean bp stands in backticks, ...: write `mean bp`.'
    """
    plain = _QUOTED.sub(lambda match: " " * len(match.group()), text)
    for name in sorted(schema.inputs + schema.outputs, key=len, reverse=True):
        spelled = spell_name(name)
        if spelled == name:
            continue
        if not _category(name) and _occurs_in(name, plain):
            return (
                f"the column {name} stands in backticks, because its name is not one "
                f"word: write {spelled}."
            )
    for name in schema.inputs:
        column, label = _category(name) or ("", "")
        # Searched in the text with quotes, since the label may be quoted.
        comparison = rf"{re.escape(column)}\s*==?\s*[\"'`]?{re.escape(label)}\b"
        if column and re.search(rf"(?<![\w`]){comparison}", text):
            return category_advice(column, label)
    return ""


def category_advice(column: str, label: str) -> str:
    """How a rule refers to one category of a categorical column."""
    return (
        f"{column} is a column of names, and each of them is an input that is 1 or 0: "
        f"write {spell_name(f'{column}={label}')} >= 0.5 for {label}."
    )


def _category(name: str) -> tuple[str, str] | None:
    column, sign, label = name.partition("=")
    return (column, label) if sign and column and label else None


def _occurs_in(name: str, text: str) -> bool:
    pattern = r"\s+".join(map(re.escape, name.split()))
    return re.search(rf"(?<!\w){pattern}(?!\w)", text) is not None
