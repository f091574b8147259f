"""Tables larger than memory: written to files once, as arrays of numbers.

The files are in the folder of the fit, which reads batches of rows from them. An index
file, written last, shows that they are complete.
"""

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ocbnn.errors import DataError
from ocbnn.language.schema import as_choices
from ocbnn.projects.columns import (
    FIRST_ROW,
    MOST_LEVELS,
    are_complete,
    as_labels,
    category_groups,
    check_classes,
    check_columns,
    read_inputs,
    read_outputs,
    refuse_gaps,
)
from ocbnn.projects.data_split import DataSplit, mark
from ocbnn.projects.folder import as_json
from ocbnn.projects.study import Study
from ocbnn.rules import Schema
from ocbnn.storage import replace_file
from ocbnn.tables import Table

# Memory that DuckDB may use for a table that is only passed on.
MEMORY = "500MB"
_BLOCK = 250_000
_INDEX = "rows.json"


@dataclasses.dataclass(frozen=True)
class Survey:
    """The schema and size of a table.

    Attributes
    ----------
    schema
        The names of inputs and outputs, and the classes.
    complete
        Number of rows without missing values.
    """

    schema: Schema
    complete: int


def survey(study: Study, table: Table) -> Survey:
    """Check a table's columns and count its rows.

    Raises
    ------
    DataError
        When columns are missing or have the wrong kind of values.
    """
    names, data = check_columns(study, table), study.sections.data
    inputs = data.inputs or [n for n in table.names if n not in data.output]
    numbers = [name for name in inputs if name not in data.categories]
    texts = [name for name in inputs if name in data.categories]
    classes = None
    (texts if study.is_classification else numbers).extend(data.output)
    complete = table.count_complete_rows(numbers, texts)
    if complete < table.rows:
        for name in numbers:
            table.refuse_stray(name)
    refuse_gaps(study, table, complete)
    if study.is_classification:
        levels = table.levels(data.output[0], MOST_LEVELS + 1)
        labels = np.unique(as_labels(np.array(levels, object))).tolist()
        classes = check_classes(study, labels, complete)
    choices = category_groups(table, names, data.categories)
    return Survey(Schema(names, tuple(data.output), classes, choices), complete)


def kept_parts(folder: Path) -> DataSplit | None:
    """The rows that `write_parts` wrote, if it completed."""
    try:
        index = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
        classes = None if index["classes"] is None else tuple(index["classes"])
        names = tuple(index["inputs"]), tuple(index["outputs"])
        schema = Schema(*names, classes, as_choices(index["choices"], names[0]))
        return DataSplit(
            schema,
            (_mapped(folder, "fitted_X"), _mapped(folder, "fitted_y")),
            (_loaded(folder, "scored_X"), _loaded(folder, "scored_y")),
            int(index["held_out"]),
            int(index["dropped"]),
            _mapped(folder, "fitted_rows"),
        )
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, LookupError, OSError, EOFError) as error:
        raise DataError(
            f"{folder}: these rows cannot be read ({error}). Remove the folder and fit "
            "again."
        ) from None


def write_parts(
    study: Study, table: Table, surveyed: Survey, seed: int, folder: Path
) -> DataSplit:
    """Write the rows to fit and the rows to score, block by block.

    Parameters
    ----------
    study
        Chooses the columns.
    table
        The table.
    surveyed
        Its schema and size.
    seed
        Decides which rows are held out.
    folder
        Folder for the files; its content is replaced.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    marks = mark(surveyed.complete, study.sections.fit.holdout, seed)
    counts = {"fitted": int(marks.fitted.sum()), "scored": int(marks.scored.sum())}
    place = 0
    with contextlib.ExitStack() as stack:
        files = {
            name: stack.enter_context(_opened(folder, name, count, surveyed.schema))
            for name, count in counts.items()
        }
        numbers = stack.enter_context((folder / "fitted_rows.npy").open("wb"))
        _write_header(numbers, (counts["fitted"],), np.dtype(np.int64))
        for rows, X, y in _blocks(study, table, surveyed.schema):
            block = slice(place, place + len(X))
            files["fitted"](X[marks.fitted[block]], y[marks.fitted[block]])
            files["scored"](X[marks.scored[block]], y[marks.scored[block]])
            numbers.write(rows[marks.fitted[block]].astype(np.int64).data)
            place += len(X)
    index = {
        "inputs": list(surveyed.schema.inputs),
        "choices": [list(group) for group in surveyed.schema.choices],
        "outputs": list(surveyed.schema.outputs),
        "classes": None
        if surveyed.schema.classes is None
        else [*surveyed.schema.classes],
        "held_out": surveyed.complete - counts["fitted"],
        "dropped": table.rows - surveyed.complete,
    }
    replace_file(folder / _INDEX, as_json(index).encode())
    parts = kept_parts(folder)
    assert parts is not None
    return parts


def _blocks(
    study: Study, table: Table, schema: Schema
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Complete rows in blocks: their numbers in the table, inputs and outputs."""
    labels = None if schema.classes is None else {str(c): c for c in schema.classes}
    for start in range(0, table.rows, _BLOCK):
        stop = min(start + _BLOCK, table.rows)
        X = read_inputs(table, schema.inputs, start, stop)
        y = read_outputs(study, table, start, stop)
        complete = are_complete(study, X, y)
        X, y = X[complete], y[complete]
        if labels is not None:
            y = np.array([labels[text] for text in y], _label_kind(schema))
        yield np.flatnonzero(complete) + start + FIRST_ROW, X, y


def _label_kind(schema: Schema) -> np.dtype:
    return np.array(schema.classes).dtype


@contextlib.contextmanager
def _opened(
    folder: Path, name: str, rows: int, schema: Schema
) -> Iterator[Callable[[np.ndarray, np.ndarray], None]]:
    """Open two files for `rows` rows, and return a function that adds rows to both."""
    is_number = schema.classes is None
    y_shape = (rows, len(schema.outputs)) if is_number else (rows,)
    y_kind = np.dtype(float) if is_number else _label_kind(schema)
    with (
        (folder / f"{name}_X.npy").open("wb") as X_file,
        (folder / f"{name}_y.npy").open("wb") as y_file,
    ):
        _write_header(X_file, (rows, len(schema.inputs)), np.dtype(float))
        _write_header(y_file, y_shape, y_kind)

        def add(X: np.ndarray, y: np.ndarray) -> None:
            X_file.write(np.ascontiguousarray(X, float).data)
            y_file.write(np.ascontiguousarray(y, y_kind).tobytes())

        yield add


def _write_header(file: BinaryIO, shape: tuple[int, ...], kind: np.dtype) -> None:
    # NumPy's own writer needs the whole array, or a memory map that counts as memory.
    head: dict[str, Any] = {
        "descr": np.lib.format.dtype_to_descr(kind),
        "fortran_order": False,
        "shape": shape,
    }
    np.lib.format.write_array_header_1_0(file, head)


def _mapped(folder: Path, name: str) -> np.ndarray:
    return np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)


def _loaded(folder: Path, name: str) -> np.ndarray:
    return np.load(folder / f"{name}.npy", allow_pickle=False)
