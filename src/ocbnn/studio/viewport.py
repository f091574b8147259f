"""A view resolved against a table: rows of inputs along one or two columns."""

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

_LEAST = 1e-100  # Narrower ranges are ignored.

_CURVE, _MAP = 161, 41
# How far the first view extends beyond the data, as a share of their range.
_BESIDE, _ABOVE = 0.2, 0.5
# The first view includes the regions of rules that are at most this many ranges away.
_FAR = 3.0


@dataclasses.dataclass(frozen=True)
class Viewport:
    """A view of a table in which every choice is made.

    Attributes
    ----------
    schema
        Names of inputs and outputs.
    shown
        Positions of one or two inputs.
    axes
        The grid of each shown input.
    at
        The values at which the other inputs are held.
    output
        Position of the output.
    limits
        The least and greatest value of the vertical axis: the output or, on a map, the
        second input.
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
        """The range of the first input."""
        return float(self.axes[0][0]), float(self.axes[0][-1])

    @property
    def inputs(self) -> Float[np.ndarray, "rows inputs"]:
        """Rows of inputs; on a map, the first input varies fastest."""
        values = np.meshgrid(*self.axes)
        X = np.repeat(self.at[None], values[0].size, axis=0)
        for index, column in zip(self.shown, values, strict=True):
            X[:, index] = column.ravel()
        return choose_along(X, self.shown, self.schema.choices)


def window(view: View, rows: Rows, rules: Sequence[BoundRule] = ()) -> Viewport:
    """Resolve a view against a table; what the view leaves open is chosen.

    Raises
    ------
    SettingError
        When it names a missing column.
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
    """The same view with everything filled in that it leaves open."""
    viewport = window(view, rows, rules)
    inputs, ranges = viewport.schema.inputs, dict(view.ranges)
    for index, axis in zip(viewport.shown, viewport.axes, strict=True):
        ranges[inputs[index]] = (float(axis[0]), float(axis[-1]))
    ranges[viewport.schema.outputs[viewport.output]] = _output_limits(
        view, rows, viewport.output
    )
    values = {
        name: float(value)
        for place, (name, value) in enumerate(zip(inputs, viewport.at, strict=True))
        if place not in viewport.shown
    }
    return View(
        along=[inputs[index] for index in viewport.shown],
        at=values,
        output=viewport.schema.outputs[viewport.output],
        ranges=ranges,
    )


def _place(name: str, names: Sequence[str], kind: str) -> int:
    if name in names:
        return names.index(name)
    raise SettingError(
        f"the view shows {name!r}, which is not an {kind}. Choose one of "
        f"{listing(names)}."
    )


def _input_limits(
    view: View, rows: Rows, rules: Sequence[BoundRule], index: int
) -> Limits:
    requested = view.ranges.get(rows.schema.inputs[index])
    if requested is not None and requested[1] - requested[0] > _LEAST:
        return requested
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
    requested = view.ranges.get(rows.schema.outputs[output])
    if requested is not None and requested[1] - requested[0] > _LEAST:
        return requested
    column = rows.y[:, output].astype(float)
    low, high = float(column.min()), float(column.max())
    size = high - low or 1.0
    return low - _ABOVE * size, high + _ABOVE * size
