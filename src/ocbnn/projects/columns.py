"""The columns of a table as inputs and outputs of a model.

A column of names or codes becomes one input for each of its values, called
`column=value`. The input names of a fitted model are therefore enough to read another
table for it.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from ocbnn.core.choices import Choices
from ocbnn.core.words import listing, shorten
from ocbnn.errors import DataError
from ocbnn.projects.study import Study
from ocbnn.rules import Schema
from ocbnn.tables import Table

# A column with more values than this is hardly ever categorical.
MOST_LEVELS, MOST_LETTERS = 50, 1000
# People count the rows of a table from 1, below its header.
FIRST_ROW = 1


@dataclasses.dataclass(frozen=True)
class Rows:
    """A table's rows without missing values.

    Attributes
    ----------
    X
        Inputs.
    y
        Numbers, one column for each output, or labels.
    schema
        The names of both, and the classes.
    dropped
        Rows left out because a value was missing.
    numbers
        Which rows of the table these are, counted from 1.
    """

    X: Float[np.ndarray, "rows inputs"]
    y: np.ndarray
    schema: Schema
    dropped: int
    numbers: Int[np.ndarray, " rows"]


def read_rows(study: Study, table: Table) -> Rows:
    """The study's inputs and outputs, without missing values.

    Raises
    ------
    DataError
        When columns are missing or have the wrong kind of values.
    """
    names = check_columns(study, table)
    X, y = read_inputs(table, names), read_outputs(study, table)
    complete = are_complete(study, X, y)
    refuse_gaps(study, table, int(complete.sum()))
    X, y, classes = X[complete], y[complete], None
    if study.is_classification:
        y = as_labels(y)
        classes = check_classes(study, np.unique(y).tolist(), len(y))
    choices = category_groups(table, names, study.sections.data.categories)
    schema = Schema(names, tuple(study.sections.data.output), classes, choices)
    numbers = np.flatnonzero(complete) + FIRST_ROW
    return Rows(X, y, schema, int((~complete).sum()), numbers)


def check_columns(study: Study, table: Table) -> tuple[str, ...]:
    """Check every column of the study, and return the model's input names.

    Raises
    ------
    DataError
        When a column is missing or has the wrong kind of values.
    """
    data = study.sections.data
    _check_named(study, table)
    sources = _inputs(study, table)
    names = expand(table, sources, data.categories)
    _refuse_words(study, table, [n for n in sources if n not in data.categories])
    _check_outputs(study, table)
    return names


def expand(
    table: Table, inputs: Sequence[str], categories: Sequence[str]
) -> tuple[str, ...]:
    """The model's input names: a category has one for each of its values."""
    names: list[str] = []
    for name in inputs:
        names += _levels(table, name) if name in categories else [name]
    return tuple(names)


def category_groups(
    table: Table, names: Sequence[str], categories: Sequence[str]
) -> Choices:
    """Groups of inputs that are the values of one category with two or more values."""
    origins = [_origin(table, name) for name in names]
    groups = (
        tuple(
            place
            for place, (column, level) in enumerate(origins)
            if column == category and level is not None
        )
        for category in categories
    )
    return tuple(group for group in groups if len(group) > 1)


def read_inputs(
    table: Table, names: Sequence[str], start: int = 0, stop: int | None = None
) -> Float[np.ndarray, "rows inputs"]:
    """A model's inputs from a table, NaN where one is missing.

    Raises
    ------
    DataError
        When a column is missing, or a category has a value that the model
        does not know.
    """
    origins = {name: _origin(table, name) for name in names}
    sources = [column for column, _ in origins.values()]
    table.require(list(dict.fromkeys(sources)), "the model needs")
    numeric = [name for name, (_, level) in origins.items() if level is None]
    numbers = table.numbers(numeric, start, stop)
    columns = dict(zip(numeric, numbers.T, strict=True))
    for column in dict.fromkeys(
        c for c, level in origins.values() if level is not None
    ):
        columns |= _one_hot(table, column, names, start, stop)
    return np.stack([columns[name] for name in names], axis=1)


def _origin(table: Table, name: str) -> tuple[str, str | None]:
    """The column an input comes from, and the value it stands for."""
    if name in table.names or "=" not in name:
        return name, None
    # The column's own name may contain an equals sign.
    equals_signs = [place for place, sign in enumerate(name) if sign == "="]
    candidates = [place for place in equals_signs if name[:place] in table.names]
    place = max(candidates, default=equals_signs[0])
    return name[:place], name[place + 1 :]


def _one_hot(
    table: Table, column: str, names: Sequence[str], start: int, stop: int | None
) -> dict[str, np.ndarray]:
    texts = table.texts(column, start, stop)
    origins = {name: _origin(table, name) for name in names}
    levels = {
        level: name for name, (origin, level) in origins.items() if origin == column
    }
    unknown = next((i for i, t in enumerate(texts) if t not in {*levels, None}), None)
    if unknown is not None:
        value = table.shown(shorten(repr(texts[unknown]), 40)) or "this value"
        raise DataError(
            f"{table.path}, row {start + unknown + FIRST_ROW}, column {column!r}: the "
            f"model was not fitted with {value}. It knows {listing(levels)}."
        )
    missing = np.array([text is None for text in texts])
    inputs = {}
    for level, name in levels.items():
        hot = np.array([text == level for text in texts], float)
        inputs[name] = np.where(missing, np.nan, hot)
    return inputs


def _levels(table: Table, name: str) -> list[str]:
    levels = table.levels(name, MOST_LEVELS + 1)
    if len(levels) > MOST_LEVELS:
        raise DataError(
            f"{table.path}, column {name!r}: a category has at most {MOST_LEVELS} "
            f"different values, and this has more"
            f"{table.shown(f' ({listing(levels, 3)})')}. Leave it out of the inputs, "
            "or merge some of its values."
        )
    if max(map(len, levels), default=0) > MOST_LETTERS:
        raise DataError(
            f"{table.path}, column {name!r}: a category's value has at most "
            f"{MOST_LETTERS:,} characters, and this has a longer one. Leave it out of "
            "the inputs, or shorten its values."
        )
    return [f"{name}={level}" for level in sorted(levels, key=_natural)]


def _natural(level: str) -> tuple[float, str]:
    try:
        return (float(level), level)
    except ValueError:
        return (np.inf, level)


def _check_named(study: Study, table: Table) -> None:
    data = study.sections.data
    for key, names in (
        ("output", data.output),
        ("inputs", data.inputs or []),
        ("categories", data.categories),
    ):
        place = study.source.place(("data", key))
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise study.source.mistake(
                ("data", key), f"{repeated[0]!r} is named twice. Keep one."
            )
        table.require(names, f"{place}, names")
    overlap = [name for name in data.inputs or [] if name in data.output]
    if overlap:
        raise study.source.mistake(
            ("data", "inputs"),
            f"{overlap[0]!r} is the output, and cannot be an input, too. Remove it.",
        )
    inputs = set(_inputs(study, table))
    unused = [name for name in data.categories if name not in inputs]
    if unused:
        raise study.source.mistake(
            ("data", "categories"),
            f"{unused[0]!r} is not among the inputs. Add it there, or remove it here.",
        )


def _inputs(study: Study, table: Table) -> list[str]:
    data = study.sections.data
    if data.inputs is not None and not data.inputs:
        raise study.source.mistake(("data", "inputs"), "name at least one column.")
    if data.inputs is not None:
        return data.inputs
    inputs = [name for name in table.names if name not in data.output]
    if not inputs:
        raise DataError(f"{table.path}: there is no column except the output.")
    return inputs


def _refuse_words(study: Study, table: Table, names: list[str]) -> None:
    for name in names:
        kind = table.kind(name)
        _refuse_parts(table, name)
        if kind == "text":
            _refuse_commas(table, name)
            levels = listing(map(repr, table.profile(name).levels), 4)
            raise study.source.mistake(
                ("data", "inputs"),
                f"column {name!r} of {table.path} contains words"
                f"{table.shown(f' ({levels})')}, but a network needs numbers. Write "
                f'`categories = ["{name}"]` under [data] to make each value an input '
                "of its own, or leave it out of the inputs.",
            )
        if kind == "empty":
            raise study.source.mistake(
                ("data", "inputs"),
                f"column {name!r} of {table.path} has no values. Leave it out.",
            )


def _refuse_parts(table: Table, name: str) -> None:
    if table.has_parts(name):
        raise DataError(
            f"{table.path}, column {name!r}: its cells are lists or records. Give each "
            "value a column of its own, or leave the column out."
        )


def _refuse_commas(table: Table, name: str) -> None:
    value = table.profile(name).comma
    if value is not None:
        raise DataError(
            f"{table.path}, column {name!r}: numbers have decimal commas"
            f"{table.shown(f', as in {value!r}')}. Write the file with decimal points."
        )


def _check_outputs(study: Study, table: Table) -> None:
    if study.is_classification:
        return
    for name in study.sections.data.output:
        _refuse_parts(table, name)
        if table.kind(name) == "text":
            _refuse_commas(table, name)
            raise study.source.mistake(
                ("data", "task"),
                f"column {name!r} of {table.path} contains words. Write "
                '`task = "classification"`.',
            )


def read_outputs(
    study: Study, table: Table, start: int = 0, stop: int | None = None
) -> np.ndarray:
    """Columns of numbers, or labels as text; NaN or empty if missing."""
    names = study.sections.data.output
    if not study.is_classification:
        return table.numbers(names, start, stop)
    texts = table.texts(names[0], start, stop)
    return np.array([text if text is not None else "" for text in texts], object)


def are_complete(
    study: Study, X: np.ndarray, y: np.ndarray
) -> Bool[np.ndarray, " rows"]:
    """Which rows have no missing value."""
    missing = (y == "") if study.is_classification else np.isnan(y).any(axis=1)
    return np.asarray(~(np.isnan(X).any(axis=1) | missing))


def refuse_gaps(study: Study, table: Table, complete: int) -> None:
    """Refuse rows with missing values, unless the study drops them.

    Raises
    ------
    DataError
        When no row is complete.
    SettingError
        When some are not, and the study does not drop them.
    """
    if complete == table.rows:
        return
    if not complete:
        raise DataError(f"{table.path}: every row lacks a value in some column.")
    if study.sections.data.missing == "drop":
        return
    columns = [*_inputs(study, table), *study.sections.data.output]
    missing = {name: table.missing(name) for name in columns}
    counts = [f"{name} ({count})" for name, count in missing.items() if count]
    raise study.source.mistake(
        ("data", "missing"),
        f"{table.rows - complete} of {table.rows} rows of {table.path} lack a value: "
        f'{listing(counts)}. Write `missing = "drop"` to leave these rows out, or fill '
        "them in.",
    )


def as_labels(texts: np.ndarray) -> np.ndarray:
    """Integers if all labels are, so that rules can say `in {1}`."""
    try:
        return np.array([int(text) for text in texts])
    except ValueError:
        return texts.astype(str)


def check_classes(
    study: Study, labels: Sequence[str | int], rows: int
) -> tuple[str | int, ...]:
    """The classes among labels.

    Raises
    ------
    SettingError
        When they are too few or too many.
    """
    if len(labels) < 2:
        raise study.source.mistake(
            ("data", "output"),
            "the column has a single class. A classification needs two or more.",
        )
    # Almost as many values as rows are measurements, not classes.
    if len(labels) > min(MOST_LEVELS, max(2, rows // 3)):
        raise study.source.mistake(
            ("data", "task"),
            f"the output has {len(labels)} different values, too many for classes. "
            'Write `task = "regression"`.',
        )
    return tuple(labels)
