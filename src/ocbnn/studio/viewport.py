"""What a view shows: rows of inputs along one column or two, and its limits."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ocbnn.core.choices import choose_along, free_columns, typical
from ocbnn.core.words import listing
from ocbnn.errors import SettingError
from ocbnn.projects.columns import Rows
from ocbnn.rules import BoundRule, Schema
from ocbnn.studio.document import View

Limits = tuple[float, float]

_LEAST = 1e-100  # What is narrower is nothing to look at.

_CURVE, _MAP = 161, 41
# How far a first view looks beyond the data, as a share of their range.
_BESIDE, _ABOVE = 0.2, 0.5
# Rules' regions are shown as well, unless they are so many ranges away.
_FAR = 3.0


@dataclasses.dataclass(frozen=True)
class Viewport:
    """A view of a table, with nothing left open.

    Attributes
    ----------
    schema
        Names of inputs and outputs.
    shown
        Positions of one or two inputs.
    axes
        The values of each that are looked at.
    at
        Where every input is held that is not shown.
    output
        Position of the output.
    limits
        The least and greatest value of the output; of a map, of its second
        input.
    """

    schema: Schema
    shown: tuple[int, ...]
    axes: tuple[Float[np.ndarray, " _"], ...]
    at: Float[np.ndarray, " inputs"]
    output: int
    limits: Limits

    @property
    def is_map(self) -> bool:
        """Whether two inputs are shown."""
        return len(self.shown) == 2

    @property
    def xlim(self) -> Limits:
        """How far the first input is shown."""
        return float(self.axes[0][0]), float(self.axes[0][-1])

    @property
    def inputs(self) -> Float[np.ndarray, "rows inputs"]:
        """Rows of inputs; of a map, all of one value of its second input together."""
        values = np.meshgrid(*self.axes)
        X = np.repeat(self.at[None], values[0].size, axis=0)
        for index, column in zip(self.shown, values, strict=True):
            X[:, index] = column.ravel()
        return choose_along(X, self.shown, self.schema.choices)


def window(view: View, rows: Rows, rules: Sequence[BoundRule] = ()) -> Viewport:
    """Look at a table as a view says; what it leaves open is chosen.

    Raises
    ------
    SettingError
        When it names a column that is not there.
    """
    schema = rows.schema
    # A category has no order to look along.
    first = next(iter(free_columns(len(schema.inputs), schema.choices)), 0)
    names = view.along or [schema.inputs[first]]
    shown = tuple(_place(name, schema.inputs, "input") for name in names)
    if len(set(shown)) < len(shown):
        raise SettingError(f"the view shows {names[0]!r} twice. Choose two inputs.")
    outputs = schema.outputs
    output = 0 if view.output is None else _place(view.output, outputs, "output")
    at = typical(rows.X, schema.choices)
    for name, value in view.at.items():
        if name in schema.inputs:
            at[schema.inputs.index(name)] = value
    limits = [_input_limits(view, rows, rules, index) for index in shown]
    count = _MAP if len(shown) == 2 else _CURVE
    axes = tuple(np.linspace(*ends, count) for ends in limits)
    return Viewport(
        schema,
        shown,
        axes,
        at,
        output,
        limits[1] if len(shown) == 2 else _output_limits(view, rows, output),
    )


def filled_in(view: View, rows: Rows, rules: Sequence[BoundRule] = ()) -> View:
    """The same view with everything said that it leaves open."""
    seen = window(view, rows, rules)
    inputs, ranges = seen.schema.inputs, dict(view.ranges)
    for index, axis in zip(seen.shown, seen.axes, strict=True):
        ranges[inputs[index]] = (float(axis[0]), float(axis[-1]))
    ranges[seen.schema.outputs[seen.output]] = _output_limits(view, rows, seen.output)
    held = {
        name: float(value)
        for place, (name, value) in enumerate(zip(inputs, seen.at, strict=True))
        if place not in seen.shown
    }
    return View(
        along=[inputs[index] for index in seen.shown],
        at=held,
        output=seen.schema.outputs[seen.output],
        ranges=ranges,
    )


def _place(name: str, names: Sequence[str], kind: str) -> int:
    if name in names:
        return names.index(name)
    raise SettingError(
        f"the view shows {name!r}, which is no {kind}. Choose one of {listing(names)}."
    )


def _input_limits(
    view: View, rows: Rows, rules: Sequence[BoundRule], index: int
) -> Limits:
    asked = view.ranges.get(rows.schema.inputs[index])
    if asked is not None and asked[1] - asked[0] > _LEAST:
        return asked
    column = rows.X[:, index]
    low, high = float(column.min()), float(column.max())
    size = high - low or 1.0
    ends = [float(end[index]) for rule in rules for end in rule.region.box()]
    near = [e for e in ends if low - _FAR * size < e < high + _FAR * size]
    low, high = min([low, *near]), max([high, *near])
    return low - _BESIDE * size, high + _BESIDE * size


def _output_limits(view: View, rows: Rows, output: int) -> Limits:
    if rows.schema.classes is not None:
        return 0.0, 1.0
    asked = view.ranges.get(rows.schema.outputs[output])
    if asked is not None and asked[1] - asked[0] > _LEAST:
        return asked
    column = rows.y[:, output].astype(float)
    low, high = float(column.min()), float(column.max())
    size = high - low or 1.0
    return low - _ABOVE * size, high + _ABOVE * size
