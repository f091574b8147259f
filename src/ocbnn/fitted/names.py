"""The names of a table's columns and rows, and lookup by these names."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ocbnn.core.choices import are_choices
from ocbnn.core.types import RowNames
from ocbnn.core.words import listing, suggest
from ocbnn.errors import DataError, SettingError
from ocbnn.language.schema import as_choices
from ocbnn.rules import Schema


def input_names(given: Any, columns: Any, count: int) -> tuple[str, ...]:
    """Names that were given, a data frame's columns, or `x` (`x0`, `x1`, …)."""
    if given is not None:
        return _checked(given, count, "inputs")
    if columns is not None:
        return tuple(str(name) for name in columns)
    return ("x",) if count == 1 else tuple(f"x{i}" for i in range(count))


def make_schema(
    X: np.ndarray,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    choices: Any,
    classes: tuple[Any, ...] | None = None,
) -> Schema:
    """The schema of columns and categories, after a check of the rows.

    Raises
    ------
    DataError
        When a row does not choose exactly one input of each group.
    """
    schema = Schema(inputs, outputs, classes, as_choices(choices, inputs))
    for group in schema.choices:
        mixed = np.flatnonzero(~are_choices(X, (group,)))
        if len(mixed):
            row = X[mixed[0], list(group)].tolist()
            raise DataError(
                f"of {listing(schema.inputs[i] for i in group)} exactly one must be 1 "
                "and the others 0, because `choices` names them as one choice, and "
                f"row {mixed[0]} (counted from 0) has {row}. Correct the rows, or "
                "leave the group out of choices."
            )
    return schema


def target_names(given: Any, y: Any, count: int) -> tuple[str, ...]:
    """Names that were given, columns, a series' name, or `y` (`y0`, `y1`, …)."""
    if given is not None:
        return _checked(given, count, "outputs")
    columns = getattr(y, "columns", None)
    if columns is not None:
        return tuple(str(column) for column in columns)
    name = getattr(y, "name", None)
    if isinstance(name, str) and name and count == 1:
        return (name,)
    return ("y",) if count == 1 else tuple(f"y{i}" for i in range(count))


def names_of_rows(given: Any, X: Any) -> RowNames | None:
    """Names that were given, or a data frame's; None if rows are counted from 0.

    Raises
    ------
    DataError
        When there are more or fewer names than rows.
    """
    if given is not None:
        if len(given) != len(X):
            raise DataError(
                f"row_names must name each of {len(X)} rows, got {len(given)} names."
            )
        return given if isinstance(given, np.ndarray) else list(given)
    labels = getattr(X, "index", None)
    if labels is None or callable(labels) or len(labels) != len(X):
        return None
    names = list(labels)
    return None if names == list(range(len(names))) else names


def say_row(names: RowNames | None, row: int) -> str:
    """The name of one row, for messages.

    >>> say_row(["ann", "bob"], 1), say_row(None, 1)
    ('bob', '1 (counted from 0)')
    """
    return f"{row} (counted from 0)" if names is None else str(names[row])


def in_order(X: Any, names: Sequence[str]) -> Any:
    """A data frame's columns of these names, as an array; anything else unchanged.

    Raises
    ------
    DataError
        When a column is missing, naming it.
    """
    columns = getattr(X, "columns", None)
    if columns is None:
        return X
    available = [str(name) for name in columns]
    missing = [name for name in names if name not in available]
    if missing:
        raise DataError(
            f"the table has no column {missing[0]!r}, which the model was fitted to."
            f"{suggest(missing[0], available)} It has {listing(available, 30)}."
        )
    return X[[columns[available.index(name)] for name in names]].to_numpy()


def _checked(names: Any, count: int, kind: str) -> tuple[str, ...]:
    given = (names,) if isinstance(names, str) else tuple(names)
    if len(given) != count or not all(isinstance(name, str) for name in given):
        raise SettingError(
            f"{kind} must name every column in order: the data have {count}, got "
            f"{given!r}. Write a list of {count} names, or leave it out."
        )
    return given


def refuse_other_columns(own: Schema, other: Schema) -> None:
    """Refuse the rules of another model with other columns.

    Raises
    ------
    SettingError
        When the columns differ; it names the columns of both.
    """
    if own != other:
        descriptions = [
            f"{listing(schema.inputs)} -> {listing(schema.outputs)}"
            for schema in (own, other)
        ]
        raise SettingError(
            "another model's rules can be checked only if both models have the same "
            f"columns and classes. This model has {descriptions[0]}, the other "
            f"{descriptions[1]}."
        )
