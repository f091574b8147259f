"""Data in files: scanned once, then read in batches while a model is fitted."""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ocbnn.core.moments import ColumnMoments
from ocbnn.core.stored import (
    FileRows,
    Stored,
    StoredClasses,
    StoredNumbers,
    is_mapped,
)
from ocbnn.core.types import RowNames
from ocbnn.core.units import Units
from ocbnn.core.words import listing
from ocbnn.errors import DataError, SettingError
from ocbnn.fitted.names import input_names, say_row, target_names
from ocbnn.inference import AUTO, PLANS, Plan

# How many rows are sampled for everything but the likelihood.
LOOKED_AT = 10_000
# The largest file, in bytes, that is read into memory for other algorithms.
_MAX_BYTES = 2**30
_NUMERIC = "fiub"
# More labels than this are probably not classes, and could fill the memory.
_MAX_CLASSES = 10_000


@dataclasses.dataclass(frozen=True)
class Stream:
    """Rows in files, and their statistics from one scan.

    Attributes
    ----------
    X
        Rows of the inputs.
    Y
        Rows of the outputs, or labels.
    x
        Means and spreads of the inputs.
    y
        Means and spreads of the outputs; None for labels.
    classes
        All labels, in order; None for numbers.
    seen
        A random sample of rows of both, as they were given.
    numbers
        The numbers of the sampled rows, counted from 0.
    """

    X: FileRows
    Y: FileRows
    x: ColumnMoments
    y: ColumnMoments | None
    classes: np.ndarray | None
    seen: tuple[np.ndarray, np.ndarray]
    numbers: np.ndarray

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.X.shape[0]

    def blocks(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """All rows in order: the first one's number, inputs, and outputs or classes."""
        for start, X in self.X.blocks():
            Y = self.Y.take(np.arange(start, start + len(X)))
            classes = self.classes
            yield start, X, Y if classes is None else np.searchsorted(classes, Y)

    def names_of_seen(self, names: RowNames | None) -> list[Any] | None:
        """Names of the sampled rows; None if all rows are in the sample and numbered.

        Parameters
        ----------
        names
            Names of all rows; None if rows are numbered.
        """
        if names is not None:
            return FileRows(np.asanyarray(names)).take(self.numbers).tolist()
        return None if len(self.numbers) == self.rows else self.numbers.tolist()

    def stored(self, units: Units) -> tuple[Stored, Stored]:
        """Inputs and targets in the form that a target needs."""
        X = StoredNumbers(self.X, units.x_mean, units.x_rest, units.x_scale)
        if self.classes is not None:
            return X, StoredClasses(self.Y, self.classes)
        return X, StoredNumbers(self.Y, units.y_mean, units.y_rest, units.y_scale)


def open_stream(
    X: Any,
    y: Any,
    *,
    classes: bool,
    inference: object,
    inputs: Any = None,
    outputs: Any = None,
) -> Stream | None:
    """Scan data in files; None when the data are to be read into memory.

    Parameters
    ----------
    X
        Inputs.
    y
        Outputs, or labels.
    classes
        Whether outputs are labels.
    inference
        As an estimator takes it, like the next two.
    inputs
        Names of the inputs.
    outputs
        Names of the outputs.

    Raises
    ------
    DataError
        When a number is missing or not finite; it names row and column.
    SettingError
        When the algorithm needs all rows at once, and there are too many.
    """
    if not is_mapped(X) or X.ndim != 2 or not X.size or X.dtype.kind not in _NUMERIC:
        return None
    y = np.asanyarray(y)
    is_shape_valid = y.ndim == 1 or (y.ndim == 2 and not classes)
    is_numeric = y.dtype.kind in _NUMERIC
    if len(y) != len(X) or not is_shape_valid or not (is_numeric or classes):
        return None  # scikit-learn's checks then raise the error.
    if not _takes_batches(inference, X):
        return None
    names = input_names(inputs, None, X.shape[1])
    inputs_file = FileRows(X)
    x = ColumnMoments.over(_finite(inputs_file, names))
    outputs_file = FileRows(y if classes or y.ndim == 2 else y[:, None])
    sample = _sample_rows(len(X))
    seen = inputs_file.take(sample), FileRows(y).take(sample)
    if classes:
        name = target_names(outputs, y, 1)
        return Stream(
            inputs_file,
            outputs_file,
            x,
            None,
            _classes(outputs_file, name),
            seen,
            sample,
        )
    names = target_names(outputs, y, outputs_file.shape[1])
    moments = ColumnMoments.over(_finite(outputs_file, names))
    refuse_constant(moments, names)
    return Stream(inputs_file, outputs_file, x, moments, None, seen, sample)


def _takes_batches(inference: object, X: np.ndarray) -> bool:
    """Whether the plan reads batches; other plans read small files into memory."""
    is_large = 8 * X.size > _MAX_BYTES
    if isinstance(inference, str) and inference.lower() == AUTO:
        return is_large
    plan = inference if isinstance(inference, Plan) else None
    if isinstance(inference, str):
        plan = PLANS.get(inference.lower())
    if plan is None or plan.is_batched:
        return plan is not None
    if is_large:
        label = plan.label if isinstance(plan, Plan) else plan.__name__
        raise SettingError(
            f"X is a file of {len(X):,} rows, and {label} needs all of them at every "
            f"step, which would take {8 * X.size / 2**30:.1f} GiB of memory. Choose an "
            f"algorithm that reads batches: {listing(map(repr, batched_plans()))}. Or "
            "fit to a part of the rows, np.array(X[:100_000])."
        )
    return False


def batched_plans() -> list[str]:
    """Names of the algorithms that take batches of rows."""
    return [name for name, plan in PLANS.items() if plan.is_batched]


def _finite(rows: FileRows, names: tuple[str, ...]) -> Iterator[np.ndarray]:
    """All blocks, after a check that their numbers are finite."""
    for start, block in rows.blocks():
        is_bad = ~np.isfinite(block)
        if is_bad.any():
            row, column = np.argwhere(is_bad)[0]
            raise DataError(
                f"row {start + row} of the file has {block[row, column]} as "
                f"{names[column]!r} (rows are counted from 0), and every number must "
                "be finite. Leave such rows out, or fill them in."
            )
        yield block


def _classes(rows: FileRows, name: tuple[str, ...]) -> np.ndarray:
    classes: np.ndarray | None = None
    for start, block in rows.blocks():
        if block.dtype.kind == "f" and not np.isfinite(block).all():
            row = start + int(np.flatnonzero(~np.isfinite(block))[0])
            raise DataError(
                f"row {row} of the file has no class {name[0]!r} (rows are counted "
                "from 0). Leave such rows out, or fill them in."
            )
        block_classes = np.unique(block)
        classes = (
            block_classes if classes is None else np.union1d(classes, block_classes)
        )
        if len(classes) > _MAX_CLASSES:
            raise DataError(
                f"{name[0]!r} has more than {_MAX_CLASSES:,} different values, too "
                "many for classes. Use OCBNNRegressor for numbers."
            )
    assert classes is not None
    return classes


def _sample_rows(rows: int) -> np.ndarray:
    """Numbers of randomly sampled rows, the same every time; all rows of a few."""
    if rows <= LOOKED_AT:
        return np.arange(rows)
    chosen = np.random.default_rng(0).choice(rows, LOOKED_AT, replace=False)
    return np.sort(chosen)


def refuse_constant(moments: ColumnMoments, names: tuple[str, ...]) -> None:
    """Refuse constant outputs."""
    constant = np.flatnonzero(moments.low == moments.high)
    if len(constant) and moments.rows > 1:
        first = constant[0]
        raise DataError(
            f"output {names[first]!r} is {moments.low[first]:g} in every one of "
            f"{moments.rows} rows, so there is nothing to learn. Check the column, or "
            "leave it out."
        )


def refuse_outside(
    blocks: Iterable[tuple[int, np.ndarray]],
    limits: tuple[np.ndarray, np.ndarray],
    names: tuple[str, ...],
    rows_called: RowNames | None = None,
) -> None:
    """Refuse observations beyond the limits that rules set for them."""
    low, high = limits
    count = rows = 0
    first: tuple[int, int, float] | None = None
    for start, Y in blocks:
        outside = (low > Y) | (high < Y)
        if first is None and outside.any():
            row, column = np.argwhere(outside)[0]
            first = start + int(row), int(column), float(Y[row, column])
        count += int(outside.any(axis=1).sum())
        rows += len(Y)
    if first is not None:
        row, column, value = first
        raise DataError(
            f"{count} of {rows} rows lie beyond the limits of the rules, which "
            f"truncate=True does not allow: {names[column]!r} is {value:g} in row "
            f"{say_row(rows_called, row)}, and must lie between "
            f"{low[column]:g} and {high[column]:g}. Correct the data or the rules, or "
            "leave truncate out."
        )
