"""Plots of a fitted model, with axes and limits chosen from its data and rules."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ocbnn.core.choices import choose_along, typical
from ocbnn.errors import SettingError
from ocbnn.fitted import FittedModel
from ocbnn.rules import BoundRule

_COLUMNS, _SIDE = 201, 81
_MAX_DRAWS = 1000
_MARGIN = 0.1


def plot_functions(
    model: FittedModel, ax: Any, along: Any, output: Any, shown: int
) -> Any:
    """A regressor's posterior along one input, with typical values of the others."""
    # Matplotlib is slow to import, so only plots import it.
    from ocbnn import plots  # noqa: PLC0415

    model.need_data("plot")
    column = column_index(along, model.schema.inputs, "input")
    target = column_index(output, model.schema.outputs, "output")
    choices = model.schema.choices
    at = typical(model.rows.X, choices)
    x = np.linspace(*axis_limits(model.rows.X, model.rules, column), _COLUMNS)
    rows = np.tile(at, (_COLUMNS, 1))
    rows[:, column] = x
    rows = choose_along(rows, (column,), choices)
    values = model.answering.functions(rows, _MAX_DRAWS)[..., target]
    ax = plots.figure().add_subplot() if ax is None else ax
    plots.regression(
        ax,
        x,
        values,
        X=model.rows.X[:, column],
        y=model.rows.Y[:, target],
        rules=model.rules,
        shown=shown,
        label="posterior",
        names=(model.schema.inputs[column], model.schema.outputs[target]),
        input=column,
        output=target,
        at=at,
    )
    return ax


def plot_classes(model: FittedModel, ax: Any, along: Sequence[Any] | None) -> Any:
    """A classifier's map over two inputs, with typical values of the others."""
    from ocbnn import plots  # noqa: PLC0415

    model.need_data("plot")
    names = model.schema.inputs
    if len(names) < 2:
        raise SettingError(
            "a class map needs two inputs, and this model has one, "
            f"{', '.join(map(repr, names))}. Plot the columns of predict_proba along "
            "it instead."
        )
    pair = (0, 1) if along is None else tuple(along)
    if len(pair) != 2:
        raise SettingError(
            f"along must name the two inputs of a class map, got {along!r}. Write "
            f"along=({names[0]!r}, {names[1]!r})."
        )
    columns = [column_index(column, names, "input") for column in pair]
    choices = model.schema.choices
    at = typical(model.rows.X, choices)
    ends = [axis_limits(model.rows.X, model.rules, c) for c in columns]
    gx, gy = (np.linspace(*limits, _SIDE) for limits in ends)
    rows = np.tile(at, (_SIDE * _SIDE, 1))
    rows[:, columns] = np.stack([m.ravel() for m in np.meshgrid(gx, gy)], axis=1)
    rows = choose_along(rows, columns, choices)
    probabilities = model.answering.probabilities(rows)
    ax = plots.figure().add_subplot() if ax is None else ax
    plots.class_map(
        ax,
        gx,
        gy,
        probabilities.reshape(_SIDE, _SIDE, -1),
        classes=[str(label) for label in model.schema.classes or ()],
        predicted=model.chosen(rows, probabilities).reshape(_SIDE, _SIDE),
        X=model.rows.X[:, columns],
        y=model.rows.Y,
        rules=model.rules,
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
