"""A fitted model's predictions for the rows of a table, block by block."""

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

# Rows at a time: memory stays flat, and blocks are large enough to compute in earnest.
BLOCK = 20_000


@dataclasses.dataclass(frozen=True)
class Predictions:
    """What was predicted.

    Attributes
    ----------
    rows
        All rows.
    skipped
        Rows that lack an input, and so have no prediction.
    columns
        The columns that were added.
    unused
        Columns of the table that the model does not look at.
    """

    rows: int
    skipped: int
    columns: list[str]
    unused: list[str]


def load_model(path: Path) -> Model:
    """The model in a file, in a folder of its own, or in the folder of a fit.

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
    _refuse_others(path)
    folder = RunFolder(path)
    if folder.is_one and not folder.model.exists():
        raise SettingError(
            f"{path}: this fit has no model yet. `ocbnn resume {path}` goes on with it."
        )
    return load(folder.model if folder.is_one else path)


def _refuse_others(path: Path) -> None:
    """Files that people name in a model's place."""
    kinds = {".toml": "a study file", ".json": "a JSON file"}
    kinds |= dict.fromkeys(ENDINGS, "a table")
    for ending, kind in kinds.items():
        if path.is_file() and path.name.lower().endswith(ending):
            raise SettingError(
                f"{path}: this is {kind}, and no model. `ocbnn fit STUDY.toml --out "
                "DIR` makes one: name DIR, or a file that ends in .ocbnn."
            )


def caution(model: Model) -> str:
    """What a person should know before using a model's answers; empty if nothing."""
    if model.draws_.interrupted:
        return "this fit was stopped early: `ocbnn resume` goes on with it."
    if model.verdict_.status in ("poor", "unknown"):
        status = model.verdict_.status
        return f"the verdict on this fit is {status!r}; `ocbnn report` says why."
    return ""


def predict_table(model: Model, data: Path, out: Path, level: float) -> Predictions:
    """Write the table with predictions beside every row.

    Parameters
    ----------
    model
        A fitted model.
    data
        A CSV or Parquet file that has the model's input columns.
    out
        A file that ends in .csv or .parquet; replaced when all is done.
    level
        The share of probability inside an interval.

    Raises
    ------
    DataError
        When the table lacks a column, or holds what is not a number.
    """
    if out.suffix not in (".csv", ".parquet"):
        raise SettingError(f"--out {out}: the file name ends in .csv or .parquet.")
    if not 0 < level < 1:
        raise SettingError(
            f"--interval {level:g}: the share of probability inside an interval lies "
            "between 0 and 1. Write --interval 0.95."
        )
    if out.exists() and out.samefile(data):
        raise SettingError(f"--out {out}: this is the table itself. Name another file.")
    out.parent.mkdir(parents=True, exist_ok=True)
    # Beside the result, so that it can take its place at once and whole.
    partial = out.with_name(f".{out.stem}.{os.getpid()}.part{out.suffix}")
    try:
        with open_table(data, writing=partial) as table:
            found = _predict(model, table, level)
        os.replace(partial, out)
    finally:
        partial.unlink(missing_ok=True)
    return found


def _predict(model: Model, table: Table, level: float) -> Predictions:
    names = column_names(model)
    skipped = 0

    def blocks() -> Iterator[dict[str, np.ndarray]]:
        nonlocal skipped
        for start in range(0, table.rows, BLOCK):
            X = read_inputs(table, model.schema_.inputs, start, start + BLOCK)
            whole = np.asarray(np.isfinite(X).all(axis=1))
            skipped += int((~whole).sum())
            yield _block(model, X, whole, names, level)

    rows = table.write(blocks(), names)
    if skipped == rows:
        raise DataError(f"{table.path}: every row lacks an input of the model.")
    return Predictions(rows, skipped, names, _unused(model, table))


def column_names(model: Model) -> list[str]:
    """What the predictions are called: each output's name, and what of it."""
    schema = model.schema_
    if schema.classes is not None:
        (name,) = schema.outputs
        chances = [f"{name}_probability_{label}" for label in schema.classes]
        return [f"{name}_predicted", *chances]
    kinds = ("mean", "sd", "lower", "upper")
    return [f"{name}_{kind}" for name in schema.outputs for kind in kinds]


def _block(
    model: Model, X: np.ndarray, whole: np.ndarray, names: list[str], level: float
) -> dict[str, np.ndarray]:
    numbers = np.full((len(X), len(names)), np.nan)
    if isinstance(model, OCBNNRegressor):
        if whole.any():
            numbers[whole] = _summaries(model, X[whole], level)
        return dict(zip(names, numbers.T, strict=True))
    labels = np.full(len(X), None, object)
    if whole.any():
        chances = model.predict_proba(X[whole])
        numbers[whole, 1:] = chances
        chosen = model.fitted_.chosen(X[whole], chances)
        labels[whole] = [str(model.classes_[i]) for i in chosen]
    columns = dict(zip(names, numbers.T, strict=True))
    return columns | {names[0]: labels}


def _summaries(model: OCBNNRegressor, X: np.ndarray, level: float) -> np.ndarray:
    found = model.predict_summary(X, level)
    parts = [np.reshape(part, (len(X), -1)) for part in found]
    return np.stack(parts, axis=2).reshape(len(X), -1)


def _unused(model: Model, table: Table) -> list[str]:
    used = {name.partition("=")[0] for name in model.schema_.inputs}
    return [n for n in table.names if n not in used and n not in model.schema_.inputs]
