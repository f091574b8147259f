"""Drawings become the text of rules, and rules become boxes that can be moved."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ocbnn.core.choices import free_columns
from ocbnn.errors import RuleError
from ocbnn.language.affine import affine
from ocbnn.language.words import spell_label, spell_name, spell_number
from ocbnn.rules import BoundRule, parse_rule
from ocbnn.studio.document import Number, View
from ocbnn.studio.viewport import Viewport

Ends = tuple[float, float]
Pair = tuple[Number, Number]
# Drawn values are precise to this share of the visible range.
_FINE = 1 / 200
# A curve is far from zero when it is this many times its own width away.
_AWAY = 10.0
# The polynomial of least degree within this share of the visible height is taken.
_CLOSE, _MOST_BENDS = 0.02, 5
# Standard deviation around a drawn curve by default, as a share of the height.
_USUAL_SD = 0.05


class _Drawn(BaseModel):
    model_config = ConfigDict(extra="forbid")
    view: View


class DrawnBox(_Drawn):
    """A box on the plot of one input: outputs to avoid, or to stay within."""

    kind: Literal["forbid", "band"]
    x: Pair
    y: Pair


class DrawnCurve(_Drawn):
    """A line drawn by hand: the expected output."""

    kind: Literal["curve"]
    points: list[Pair] = Field(min_length=2, max_length=20_000)
    sd: Number | None = Field(default=None, gt=0)


class DrawnClasses(_Drawn):
    """A region of inputs in which only some classes are allowed."""

    kind: Literal["class"]
    x: Pair
    y: Pair | None = None
    classes: list[str | int] = Field(min_length=1)


class DrawnLimits(_Drawn):
    """A region of inputs in which an output has limits."""

    kind: Literal["limits"]
    x: Pair
    y: Pair
    low: Number | None = None
    high: Number | None = None


Drawn = Annotated[
    DrawnBox | DrawnCurve | DrawnClasses | DrawnLimits, Field(discriminator="kind")
]


class MovedBox(BaseModel):
    """The new position of a rule's box."""

    kind: Literal["forbid", "band", "region"]
    x: Pair
    y: Pair


def rule_text(drawn: Any, viewport: Viewport) -> str:
    """The text of the rule that a drawing means."""
    output = spell_name(viewport.schema.outputs[viewport.output])
    match drawn:
        case DrawnBox(kind="forbid"):
            claim = f"not ({_between(drawn.y, output, viewport.limits)})"
        case DrawnBox():
            claim = _between(drawn.y, output, viewport.limits)
        case DrawnCurve():
            return _expected(drawn, viewport, output)
        case DrawnClasses():
            claim = f"{output} in {{{', '.join(map(spell_label, drawn.classes))}}}"
        case DrawnLimits():
            claim = _limits(drawn, output)
        case _:
            raise TypeError(drawn)
    sides = [drawn.x] if drawn.y is None or not viewport.is_map else [drawn.x, drawn.y]
    return f"if {_where(sides, viewport)} then {claim}{_settings(viewport)}"


def shape_of(bound: BoundRule, viewport: Viewport) -> dict[str, Any] | None:
    """The box that shows a rule in a view; None if the rule is not a box.

    With one input shown, the box is a region with outputs to avoid or to stay within;
    on a map, it is the region alone.
    """
    low, high = bound.region.box()
    sides = [(float(low[i]), float(high[i])) for i in viewport.shown]
    if not bound.region.is_box or not np.isfinite(sides).all():
        return None
    if not bound.applies(_inside(bound, viewport)[None])[0]:
        return None  # The values held in this view lie outside the region.
    if viewport.is_map:
        return {"kind": "region", "x": sides[0], "y": sides[1]}
    band = _band(bound, viewport.output)
    if band is None:
        return None
    kind, ends = band
    return {"kind": kind, "x": sides[0], "y": ends}


def moved_text(text: str, bound: BoundRule, shape: MovedBox, viewport: Viewport) -> str:
    """The rule with its box moved."""
    rule = parse_rule(text)
    low, high = bound.region.box()
    choices, conditions = bound.schema.choices, []
    one_hot = {column for group in choices for column in group}
    for index, name in enumerate(bound.schema.inputs):
        if index in one_hot and index not in viewport.shown:
            conditions += _one_hot_side(low[index], high[index], name)
        if index in viewport.shown or index in one_hot:
            continue
        if np.isfinite(low[index]) or np.isfinite(high[index]):
            conditions.append(_side(low[index], high[index], name))
    sides = [shape.x, shape.y] if viewport.is_map else [shape.x]
    where = " and ".join([_where(sides, viewport), *conditions])
    claim = str(rule.claim)
    if not viewport.is_map:
        output = spell_name(viewport.schema.outputs[viewport.output])
        claim = _between(shape.y, output, viewport.limits)
        claim = f"not ({claim})" if shape.kind == "forbid" else claim
    edited = parse_rule(f"if {where} then {claim}")
    return str(dataclasses.replace(rule, where=edited.where, claim=edited.claim))


def with_name(text: str, name: str) -> str:
    """The rule under another name."""
    return str(dataclasses.replace(parse_rule(text), name=name or None))


def _inside(bound: BoundRule, viewport: Viewport) -> np.ndarray:
    """The view's held row, with the shown inputs in the middle of the region."""
    low, high = bound.region.box()
    row = viewport.at.copy()
    for index in viewport.shown:
        row[index] = (low[index] + high[index]) / 2
    return row


def _band(bound: BoundRule, output: int) -> tuple[str, Ends] | None:
    if bound.claim.required is None:
        return None
    terms = bound.claim.broken or ()
    edges = [[_edge(atom.expr, output) for atom in term] for term in terms]
    if any(edge is None for term in edges for edge in term):
        return None
    if len(edges) == 1 and len(edges[0]) == 2:
        ends = _bounds(edges[0])
        return None if ends is None else ("forbid", ends)
    if len(edges) == 2 and all(len(term) == 1 for term in edges):
        # The forbidden outputs lie below and above the band.
        ends = _bounds([(edge, -sign) for ((edge, sign),) in edges])  # pyright: ignore
        return None if ends is None else ("band", ends)
    return None


def _edge(expr: Any, output: int) -> tuple[float, int] | None:
    """The bound that `f <= 0` sets on one output alone, and the side it holds on."""
    form = affine(expr, "output")
    if form is None or (edge := form.edge()) is None or edge[0] != output:
        return None
    return edge[1], 1 if edge[2] else -1


def _bounds(edges: Sequence[Any]) -> Ends | None:
    """The least and greatest value, from one lower and one upper bound."""
    above = [edge for edge, sign in edges if sign > 0]
    below = [edge for edge, sign in edges if sign < 0]
    if len(above) != 1 or len(below) != 1 or above[0] > below[0]:
        return None
    return above[0], below[0]


def _settings(viewport: Viewport) -> str:
    """Inputs that are not shown are unbounded: they are sampled like the data."""
    free = free_columns(len(viewport.schema.inputs), viewport.schema.choices)
    is_every_input_shown = {*free} <= {*viewport.shown}
    return "" if is_every_input_shown else " [sampler=like-data]"


def _where(sides: Sequence[Ends], viewport: Viewport) -> str:
    names = [viewport.schema.inputs[index] for index in viewport.shown]
    return " and ".join(
        _between(ends, spell_name(name), (float(axis[0]), float(axis[-1])))
        for ends, name, axis in zip(sides, names, viewport.axes, strict=True)
    )


def _between(ends: Ends, name: str, limits: Ends) -> str:
    low, high = (spell_number(fine(end, limits)) for end in sorted(ends))
    if low == high:
        raise RuleError(
            f"the box has no size along {name}: both of its ends are {low}. Draw a "
            "larger one."
        )
    return f"{low} <= {name} <= {high}"


def _one_hot_side(low: float, high: float, name: str) -> list[str]:
    """The condition a region sets on one value of a category, if any."""
    if low == high:
        return [f"{spell_name(name)} {'>=' if low else '<'} 0.5"]
    return []


def _side(low: float, high: float, name: str) -> str:
    name = spell_name(name)
    if not np.isfinite(low):
        return f"{name} <= {spell_number(float(high))}"
    if not np.isfinite(high):
        return f"{name} >= {spell_number(float(low))}"
    return f"{spell_number(float(low))} <= {name} <= {spell_number(float(high))}"


def _limits(drawn: DrawnLimits, output: str) -> str:
    if drawn.low is None and drawn.high is None:
        raise RuleError(f"give a least or a greatest value of {output}, or both.")
    low = -math.inf if drawn.low is None else drawn.low
    high = math.inf if drawn.high is None else drawn.high
    if low > high:
        raise RuleError(
            f"the least value of {output}, {spell_number(low)}, is above the greatest, "
            f"{spell_number(high)}. Exchange them."
        )
    if drawn.low is None:
        return f"{output} <= {spell_number(high)}"
    if drawn.high is None:
        return f"{output} >= {spell_number(low)}"
    return f"{spell_number(low)} <= {output} <= {spell_number(high)}"


def _expected(drawn: DrawnCurve, viewport: Viewport, output: str) -> str:
    points = np.array(drawn.points, float)
    order = np.argsort(points[:, 0])
    x, y = points[order].T
    height = viewport.limits[1] - viewport.limits[0]
    ends = (float(x[0]), float(x[-1]))
    where = _where([ends], viewport)
    name = spell_name(viewport.schema.inputs[viewport.shown[0]])
    sd = drawn.sd or fine(_USUAL_SD * height, viewport.limits)
    try:
        mean = _polynomial(x, y, _CLOSE * height, name)
    except (ArithmeticError, ValueError):
        raise RuleError(
            "the line cannot be written as a formula: its numbers are too large, or "
            "too close to each other. Draw another."
        ) from None
    claim = f"{output} ~ Normal({mean}, {spell_number(sd)})"
    return f"if {where} then {claim}{_settings(viewport)}"


def _polynomial(x: np.ndarray, y: np.ndarray, close: float, name: str) -> str:
    """The polynomial of least degree that stays close to a curve, as text."""
    middle = 0.5 * float(x[0] + x[-1])
    if abs(middle) > _AWAY * (x[-1] - x[0]):
        # Far from zero, the powers would cancel each other.
        middle = fine(middle, (float(x[0]), float(x[-1])))
        sign = "-" if middle > 0 else "+"
        x, name = x - middle, f"({name} {sign} {spell_number(abs(middle))})"
    most = min(_MOST_BENDS, len(np.unique(x)) - 1)
    coefficients = np.array([y.mean()])
    for degree in range(most + 1):
        fitted = np.polynomial.Polynomial.fit(x, y, degree)
        coefficients = fitted.convert().coef
        if np.sqrt(np.mean((fitted(x) - y) ** 2)) <= close:
            break
    widest = float(np.abs(x).max()) or 1.0
    text = ""
    for power, value in enumerate(coefficients.tolist()):
        # Only as many digits as are visible.
        unit = 0.05 * close / widest**power
        rounded = round(value, max(0, -math.floor(math.log10(unit))))
        if rounded == 0 and power:
            continue
        size = spell_number(float(abs(rounded)))
        factor = {0: size, 1: f"{size} * {name}"}.get(power, f"{size} * {name}^{power}")
        sign = "-" if rounded < 0 else "+"
        text += f" {sign} {factor}" if text else f"{'-' if rounded < 0 else ''}{factor}"
    return text


def fine(value: float, limits: Ends) -> float:
    """A number rounded to the precision of a drawing.

    >>> fine(0.123456, (0.0, 10.0)), fine(1234.5678, (0.0, 5000.0))
    (0.12, 1230.0)
    """
    unit = 10.0 ** math.floor(math.log10((limits[1] - limits[0]) * _FINE))
    return float(f"{round(value / unit) * unit:.15g}")
