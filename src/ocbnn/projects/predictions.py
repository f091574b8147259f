"""Predictions of a fitted model for the rows of a table, in blocks."""

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ocbnn.errors import DataError, SettingError
from ocbnn.estimators import OCBNNRegressor, load
from ocbnn.projects.build import Model
from ocbnn.projects.columns import read_inputs
from ocbnn.projects.folder import RunFolder
from ocbnn.tables import Table, open_table
from ocbnn.tables.source import ENDINGS

# Rows per block: bounds memory, and is large enough for efficient computation.
BLOCK = 20_000


@dataclasses.dataclass(frozen=True)
class Predictions:
    """A summary of written predictions.

    Attributes
    ----------
    rows
        Number of rows.
    skipped
        Number of rows without a prediction, because they lack an input.
    columns
        The added columns.
    unused
        Columns of the table that the model does not use.
    """

    rows: int
    skipped: int
    columns: list[str]
    unused: list[str]


def load_model(path: Path) -> Model:
    """Load a model from a file, from its own folder or from the folder of a fit.

    Raises
    ------
    OcbnnError
        When there is none.
    """
    if not path.exists():
        raise SettingError(
            f"{path}: there is no such model. `ocbnn fit STUDY.toml --out DIR` makes "
            "one: name DIR here."
        )
    _refuse_other_files(path)
    folder = RunFolder(path)
    if folder.is_one and not folder.model.exists():
        raise SettingError(
            f"{path}: this fit has no model yet. `ocbnn resume {path}` continues it."
        )
    return load(folder.model if folder.is_one else path)


def _refuse_other_files(path: Path) -> None:
    """Refuse other files that users may name instead of a model."""
    kinds = {".toml": "a study file", ".json": "a JSON file"}
    kinds |= dict.fromkeys(ENDINGS, "a table")
    for ending, kind in kinds.items():
        if path.is_file() and path.name.lower().endswith(ending):
            raise SettingError(
                f"{path}: this is {kind}, not a model. `ocbnn fit STUDY.toml --out "
                "DIR` makes one: name DIR, or a file that ends in .ocbnn."
            )


def caution(model: Model) -> str:
    """A warning about a model whose predictions need care; empty if they do not."""
    if model.draws_.interrupted:
        return "this fit was stopped early: `ocbnn resume` continues it."
    if model.verdict_.status in ("poor", "unknown"):
        status = model.verdict_.status
        return f"the verdict on this fit is {status!r}; `ocbnn report` says why."
    return ""


def predict_table(model: Model, data: Path, out: Path, level: float) -> Predictions:
    """Write the table with predictions added to every row.

    Parameters
    ----------
    model
        A fitted model.
    data
        A CSV or Parquet file that has the model's input columns.
    out
        A file that ends in .csv or .parquet; it is replaced once all rows are done.
    level
        The probability inside an interval.

    Raises
    ------
    DataError
        When the table lacks a column, or a value is not a number.
    """
    if out.suffix not in (".csv", ".parquet"):
        raise SettingError(f"--out {out}: the file name ends in .csv or .parquet.")
    if not 0 < level < 1:
        raise SettingError(
            f"--interval {level:g}: the probability inside an interval lies between 0 "
            "and 1. Write --interval 0.95."
        )
    if out.exists() and out.samefile(data):
        raise SettingError(f"--out {out}: this is the table itself. Name another file.")
    out.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, so that the file can be replaced atomically.
    partial = out.with_name(f".{out.stem}.{os.getpid()}.part{out.suffix}")
    try:
        with open_table(data, writing=partial) as table:
            predictions = _predict(model, table, level)
        os.replace(partial, out)
    finally:
        partial.unlink(missing_ok=True)
    return predictions


def _predict(model: Model, table: Table, level: float) -> Predictions:
    names = column_names(model)
    skipped = 0

    def blocks() -> Iterator[dict[str, np.ndarray]]:
        nonlocal skipped
        for start in range(0, table.rows, BLOCK):
            X = read_inputs(table, model.schema_.inputs, start, start + BLOCK)
            complete = np.asarray(np.isfinite(X).all(axis=1))
            skipped += int((~complete).sum())
            yield _block(model, X, complete, names, level)

    rows = table.write(blocks(), names)
    if skipped == rows:
        raise DataError(f"{table.path}: every row lacks an input of the model.")
    return Predictions(rows, skipped, names, _unused(model, table))


def column_names(model: Model) -> list[str]:
    """The names of the predictions' columns: the output and the kind of summary."""
    schema = model.schema_
    if schema.classes is not None:
        (name,) = schema.outputs
        probabilities = [f"{name}_probability_{label}" for label in schema.classes]
        return [f"{name}_predicted", *probabilities]
    kinds = ("mean", "sd", "lower", "upper")
    return [f"{name}_{kind}" for name in schema.outputs for kind in kinds]


def _block(
    model: Model, X: np.ndarray, complete: np.ndarray, names: list[str], level: float
) -> dict[str, np.ndarray]:
    numbers = np.full((len(X), len(names)), np.nan)
    if isinstance(model, OCBNNRegressor):
        if complete.any():
            numbers[complete] = _summaries(model, X[complete], level)
        return dict(zip(names, numbers.T, strict=True))
    labels = np.full(len(X), None, object)
    if complete.any():
        probabilities = model.predict_proba(X[complete])
        numbers[complete, 1:] = probabilities
        predicted = model.fitted_.chosen(X[complete], probabilities)
        labels[complete] = [str(model.classes_[i]) for i in predicted]
    columns = dict(zip(names, numbers.T, strict=True))
    return columns | {names[0]: labels}


def _summaries(model: OCBNNRegressor, X: np.ndarray, level: float) -> np.ndarray:
    summary = model.predict_summary(X, level)
    parts = [np.reshape(part, (len(X), -1)) for part in summary]
    return np.stack(parts, axis=2).reshape(len(X), -1)


def _unused(model: Model, table: Table) -> list[str]:
    used = {name.partition("=")[0] for name in model.schema_.inputs}
    return [n for n in table.names if n not in used and n not in model.schema_.inputs]
