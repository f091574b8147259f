"""A table that may be larger than memory: written to files once, as arrays of numbers.

The files are in the folder of the fit, which reads batches of rows from them. A page
that is written last says that they are complete.
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
    are_whole,
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

# What DuckDB may keep in memory of a table that is only passed on.
MEMORY = "500MB"
_BLOCK = 250_000
_PAGE = "rows.json"


@dataclasses.dataclass(frozen=True)
class Survey:
    """What a table holds, without its rows.

    Attributes
    ----------
    schema
        The names of inputs and outputs, and the classes.
    whole
        Rows that lack no value.
    """

    schema: Schema
    whole: int


def survey(study: Study, table: Table) -> Survey:
    """Check a table's columns and count its rows.

    Raises
    ------
    DataError
        When columns are missing or hold what they should not.
    """
    names, data = check_columns(study, table), study.sections.data
    inputs = data.inputs or [n for n in table.names if n not in data.output]
    numbers = [name for name in inputs if name not in data.categories]
    texts = [name for name in inputs if name in data.categories]
    classes = None
    (texts if study.is_classification else numbers).extend(data.output)
    whole = table.whole_rows(numbers, texts)
    if whole < table.rows:
        for name in numbers:
            table.refuse_stray(name)
    refuse_gaps(study, table, whole)
    if study.is_classification:
        levels = table.levels(data.output[0], MOST_LEVELS + 1)
        labels = np.unique(as_labels(np.array(levels, object))).tolist()
        classes = check_classes(study, labels, whole)
    choices = category_groups(table, names, data.categories)
    return Survey(Schema(names, tuple(data.output), classes, choices), whole)


def kept_parts(folder: Path) -> DataSplit | None:
    """The rows that `write_parts` wrote, if it came to its end."""
    try:
        said = json.loads((folder / _PAGE).read_text(encoding="utf-8"))
        classes = None if said["classes"] is None else tuple(said["classes"])
        names = tuple(said["inputs"]), tuple(said["outputs"])
        schema = Schema(*names, classes, as_choices(said["choices"], names[0]))
        return DataSplit(
            schema,
            (_mapped(folder, "fitted_X"), _mapped(folder, "fitted_y")),
            (_loaded(folder, "scored_X"), _loaded(folder, "scored_y")),
            int(said["held_out"]),
            int(said["dropped"]),
            _mapped(folder, "fitted_rows"),
        )
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, LookupError, OSError, EOFError) as error:
        raise DataError(
            f"{folder}: these rows cannot be read ({error}). Remove the folder, and "
            "they are written anew."
        ) from None


def write_parts(
    study: Study, table: Table, found: Survey, seed: int, folder: Path
) -> DataSplit:
    """Write the rows to fit to and the rows to score on, block by block.

    Parameters
    ----------
    study
        Says which columns.
    table
        The rows.
    found
        What they hold.
    seed
        Decides which rows are held out.
    folder
        Where the files go; what is there is replaced.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    marks = mark(found.whole, study.sections.fit.holdout, seed)
    counts = {"fitted": int(marks.fitted.sum()), "scored": int(marks.scored.sum())}
    place = 0
    with contextlib.ExitStack() as stack:
        files = {
            name: stack.enter_context(_opened(folder, name, count, found.schema))
            for name, count in counts.items()
        }
        numbers = stack.enter_context((folder / "fitted_rows.npy").open("wb"))
        _begin(numbers, (counts["fitted"],), np.dtype(np.int64))
        for rows, X, y in _blocks(study, table, found.schema):
            here = slice(place, place + len(X))
            files["fitted"](X[marks.fitted[here]], y[marks.fitted[here]])
            files["scored"](X[marks.scored[here]], y[marks.scored[here]])
            numbers.write(rows[marks.fitted[here]].astype(np.int64).data)
            place += len(X)
    page = {
        "inputs": list(found.schema.inputs),
        "choices": [list(group) for group in found.schema.choices],
        "outputs": list(found.schema.outputs),
        "classes": None if found.schema.classes is None else [*found.schema.classes],
        "held_out": found.whole - counts["fitted"],
        "dropped": table.rows - found.whole,
    }
    replace_file(folder / _PAGE, as_json(page).encode())
    parts = kept_parts(folder)
    assert parts is not None
    return parts


def _blocks(
    study: Study, table: Table, schema: Schema
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Whole rows, block by block: their numbers in the table, inputs and outputs."""
    labels = None if schema.classes is None else {str(c): c for c in schema.classes}
    for start in range(0, table.rows, _BLOCK):
        stop = min(start + _BLOCK, table.rows)
        X = read_inputs(table, schema.inputs, start, stop)
        y = read_outputs(study, table, start, stop)
        whole = are_whole(study, X, y)
        X, y = X[whole], y[whole]
        if labels is not None:
            y = np.array([labels[text] for text in y], _label_kind(schema))
        yield np.flatnonzero(whole) + start + FIRST_ROW, X, y


def _label_kind(schema: Schema) -> np.dtype:
    return np.array(schema.classes).dtype


@contextlib.contextmanager
def _opened(
    folder: Path, name: str, rows: int, schema: Schema
) -> Iterator[Callable[[np.ndarray, np.ndarray], None]]:
    """Two files of so many rows, and what adds rows to both."""
    is_number = schema.classes is None
    y_shape = (rows, len(schema.outputs)) if is_number else (rows,)
    y_kind = np.dtype(float) if is_number else _label_kind(schema)
    with (
        (folder / f"{name}_X.npy").open("wb") as X_file,
        (folder / f"{name}_y.npy").open("wb") as y_file,
    ):
        _begin(X_file, (rows, len(schema.inputs)), np.dtype(float))
        _begin(y_file, y_shape, y_kind)

        def add(X: np.ndarray, y: np.ndarray) -> None:
            X_file.write(np.ascontiguousarray(X, float).data)
            y_file.write(np.ascontiguousarray(y, y_kind).tobytes())

        yield add


def _begin(file: BinaryIO, shape: tuple[int, ...], kind: np.dtype) -> None:
    # NumPy's own writer wants the whole array, or a map that counts as memory.
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
