"""A fitted model as a picture, with axes and limits chosen from its data and rules."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ocbnn.core.choices import choose_along, typical
from ocbnn.core.errors import SettingError
from ocbnn.rules import BoundRule

_COLUMNS, _SIDE = 201, 81
_MOST_DRAWS = 1000
_MARGIN = 0.1


def plot_functions(model: Any, ax: Any, along: Any, output: Any, shown: int) -> Any:
    """A regressor's posterior along one input, the others as is typical of them."""
    # Matplotlib is slow to import, so only those who draw wait for it.
    from ocbnn import plots  # noqa: PLC0415

    column = column_index(along, model.schema_.inputs, "input")
    target = column_index(output, model.schema_.outputs, "output")
    choices = model.schema_.choices
    at = typical(model._X, choices)
    x = np.linspace(*axis_limits(model._X, model.rules_, column), _COLUMNS)
    rows = np.tile(at, (_COLUMNS, 1))
    rows[:, column] = x
    rows = choose_along(rows, (column,), choices)
    values = model._answering.functions(rows, _MOST_DRAWS)[..., target]
    ax = plots.figure().add_subplot() if ax is None else ax
    plots.regression(
        ax,
        x,
        values,
        X=model._X[:, column],
        y=model._Y[:, target],
        rules=model.rules_,
        shown=shown,
        label="posterior",
        names=(model.schema_.inputs[column], model.schema_.outputs[target]),
        input=column,
        output=target,
        at=at,
    )
    return ax


def plot_classes(model: Any, ax: Any, along: Sequence[Any] | None) -> Any:
    """A classifier's map over two inputs, the others as is typical of them."""
    from ocbnn import plots  # noqa: PLC0415

    names = model.schema_.inputs
    if len(names) < 2:
        raise SettingError(
            f"a class map needs two inputs, and this model has one, {names[0]!r}. Plot "
            "the columns of predict_proba along it instead."
        )
    pair = (0, 1) if along is None else tuple(along)
    if len(pair) != 2:
        raise SettingError(
            f"along names the two inputs of a class map, got {along!r}. Write "
            f"along=({names[0]!r}, {names[1]!r})."
        )
    columns = [column_index(one, names, "input") for one in pair]
    choices = model.schema_.choices
    at = typical(model._X, choices)
    ends = [axis_limits(model._X, model.rules_, c) for c in columns]
    gx, gy = (np.linspace(*limits, _SIDE) for limits in ends)
    rows = np.tile(at, (_SIDE * _SIDE, 1))
    rows[:, columns] = np.stack([m.ravel() for m in np.meshgrid(gx, gy)], axis=1)
    rows = choose_along(rows, columns, choices)
    probabilities = model._answering.probabilities(rows)
    ax = plots.figure().add_subplot() if ax is None else ax
    plots.class_map(
        ax,
        gx,
        gy,
        probabilities.reshape(_SIDE, _SIDE, -1),
        classes=[str(label) for label in model.classes_],
        predicted=model._chosen(rows, probabilities).reshape(_SIDE, _SIDE),
        X=model._X[:, columns],
        y=model._Y,
        rules=model.rules_,
        names=(names[columns[0]], names[columns[1]]),
        inputs=(columns[0], columns[1]),
        at=at,
    )
    return ax


def column_index(choice: Any, names: tuple[str, ...], what: str) -> int:
    """The position of a column given by name or position; the first when None."""
    if choice is None:
        return 0
    if choice in names:
        return names.index(choice)
    if isinstance(choice, int) and 0 <= choice < len(names):
        return choice
    raise SettingError(
        f"there is no {what} {choice!r}: name one of {', '.join(map(repr, names))}, or "
        f"give its position from 0 to {len(names) - 1}."
    )


def axis_limits(
    X: np.ndarray, rules: Sequence[BoundRule], column: int
) -> tuple[float, float]:
    """The range of the data and of the rules' regions, with a margin."""
    ends = [X[:, column].min(), X[:, column].max()]
    for bound in rules:
        lower, upper = bound.region.box()
        ends += [end for end in (lower[column], upper[column]) if np.isfinite(end)]
    low, high = float(min(ends)), float(max(ends))
    margin = _MARGIN * (high - low) or 1.0
    return low - margin, high + margin
