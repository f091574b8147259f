"""Checks and conversions of the arrays that are plotted."""

from collections.abc import Sequence

import numpy as np

from ocbnn.errors import DataError, SettingError


def along(x: np.ndarray, name: str = "x") -> np.ndarray:
    """Inputs along one axis, increasing: (n,), or one column (n, 1)."""
    x = _numbers(x, name)
    flat = x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x
    if flat.ndim != 1 or len(flat) < 2:
        raise DataError(
            f"`{name}` has shape (n,) with two or more inputs along the axis, got "
            f"{x.shape}. Pass `np.linspace(-3, 3, 200)`, say."
        )
    if not np.all(np.diff(flat) > 0):
        raise DataError(
            f"`{name}` increases from left to right, but it goes back or repeats a "
            f"value. Pass `np.unique({name})` and values in that order."
        )
    return flat


def draws(values: np.ndarray, n: int) -> np.ndarray:
    """Function values of every draw: (draws, n), or one output (draws, n, 1)."""
    values = _numbers(values, "values")
    flat = values[..., 0] if values.ndim == 3 and values.shape[2] == 1 else values
    if flat.ndim != 2 or flat.shape[1] != n or len(flat) == 0:
        turned = flat.ndim == 2 and flat.shape[0] == n
        several = flat.ndim == 3 and flat.shape[1] == n
        advice = (
            "Pass `values.T`."
            if turned
            else "Pass one output: `values[:, :, 0]`."
            if several
            else "Pass one row per draw and one column per input in `x`."
        )
        raise DataError(
            f"`values` has shape (draws, {n}), as `x` has {n} inputs, got "
            f"{values.shape}. {advice}"
        )
    return flat


def points(
    X: np.ndarray | None, y: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Data of one input and one output, as two flat arrays; None without data."""
    _both_or_neither(X, y)
    if X is None or y is None:
        return None
    across, up = _column(X, "X"), _column(y, "y")
    if len(across) != len(up):
        raise DataError(
            "`X` and `y` have one row per observation, got "
            f"{len(across)} and {len(up)} rows."
        )
    return across, up


def class_points(
    X: np.ndarray | None, y: np.ndarray | None, classes: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Data of two inputs and class numbers; None without data."""
    _both_or_neither(X, y)
    if X is None or y is None:
        return None
    X, y = _numbers(X, "X"), np.asarray(y)
    if X.ndim != 2 or X.shape[1] != 2:
        raise DataError(
            f"`X` has shape (rows, 2) on a map of two inputs, got {X.shape}. Pass the "
            "two columns that the map shows: `X[:, [0, 1]]`."
        )
    if y.shape != (len(X),) or not np.issubdtype(y.dtype, np.integer):
        raise DataError(
            f"`y` holds whole class numbers of shape ({len(X)},), as `X` has {len(X)} "
            f"rows, got {y.dtype} of shape {y.shape}. Pass the position of each label "
            "in `classes`."
        )
    if len(y) and (y.min() < 0 or y.max() >= classes):
        raise DataError(
            f"`y` holds class numbers 0 to {classes - 1}, got {y.min()} to {y.max()}."
        )
    return X, y


def probabilities(
    array: np.ndarray, grid_x: np.ndarray, grid_y: np.ndarray, classes: Sequence[object]
) -> np.ndarray:
    """Class probabilities on a grid: (len(grid_y), len(grid_x), classes)."""
    array = _numbers(array, "probabilities")
    if len(classes) < 2:
        raise SettingError(
            f"`classes` names two or more classes, got {len(classes)}: {classes!r}."
        )
    expected = (len(grid_y), len(grid_x), len(classes))
    if array.shape != expected:
        turned = array.shape == (expected[1], expected[0], expected[2])
        advice = "Pass `probabilities.swapaxes(0, 1)`." if turned else ""
        raise DataError(
            "`probabilities` has shape (len(grid_y), len(grid_x), len(classes)) = "
            f"{expected}, got {array.shape}. {advice}".rstrip()
        )
    total = array.sum(axis=-1)
    if array.min() < -1e-6 or np.abs(total - 1.0).max() > 1e-3:
        raise DataError(
            "`probabilities` are positive and sum to 1 at each point, got sums from "
            f"{total.min():g} to {total.max():g} and a minimum of {array.min():g}. "
            "Pass them through a softmax if they are logits."
        )
    return array


def class_numbers(array: np.ndarray | None, chances: np.ndarray) -> np.ndarray:
    """The class at each point of a grid; by default, the most probable one."""
    if array is None:
        return chances.argmax(axis=-1)
    array, highest = np.asarray(array), chances.shape[-1] - 1
    if array.shape != chances.shape[:-1] or not np.issubdtype(array.dtype, np.integer):
        raise DataError(
            f"`predicted` holds whole class numbers of shape {chances.shape[:-1]}, one "
            f"for each point of the grid, got {array.dtype} of shape {array.shape}."
        )
    if array.min() < 0 or array.max() > highest:
        raise DataError(
            f"`predicted` holds class numbers 0 to {highest}, got {array.min()} to "
            f"{array.max()}."
        )
    return array


def count(value: int, name: str) -> int:
    """A count that may be zero."""
    if value < 0:
        raise SettingError(f"`{name}` is a whole number of 0 or more, got {value}.")
    return value


def limits(pair: tuple[float, float], name: str) -> tuple[float, float]:
    """Two finite numbers, the lower first."""
    low, high = (float(end) for end in pair)
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise SettingError(
            f"`{name}` is a finite lower and a higher upper end, got ({low}, {high}). "
            f"Pass `{name}=ax.get_{name}()`."
        )
    return low, high


def _both_or_neither(X: np.ndarray | None, y: np.ndarray | None) -> None:
    if (X is None) != (y is None):
        missing = "X" if X is None else "y"
        raise DataError(
            f"data points have both `X` and `y`, but `{missing}` is None. Pass both, "
            "or neither."
        )


def _column(array: np.ndarray, name: str) -> np.ndarray:
    array = _numbers(array, name)
    column = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if column.ndim != 1:
        raise DataError(
            f"`{name}` has shape (rows,) or (rows, 1) on a picture of one input and "
            f"one output, got {array.shape}. Pass one column: `{name}[:, 0]`."
        )
    return column


def _numbers(array: np.ndarray, name: str) -> np.ndarray:
    try:
        numbers = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"`{name}` is an array of numbers, got {type(array).__name__}. Pass "
            f"`np.asarray({name})` of one shape."
        ) from None
    if not np.all(np.isfinite(numbers)):
        wrong = int(np.size(numbers) - np.isfinite(numbers).sum())
        raise DataError(
            f"`{name}` is finite, but {wrong} of its {numbers.size} values (shape "
            f"{numbers.shape}) are not. Leave those out, and find out where they came "
            "from."
        )
    return numbers
