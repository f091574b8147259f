"""From what a hand draws to the text of a rule, and from a rule to a box that moves."""

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
Asked = tuple[Number, Number]
# A hand is not more exact than this share of what it sees.
_FINE = 1 / 200
# A curve lies far from zero when it is so many times its own width away.
_AWAY = 10.0
# A curve is as simple as it can be within this share of what is seen.
_CLOSE, _MOST_BENDS = 0.02, 5
# How far an output may be from a drawn curve, where the user does not say.
_USUAL_SD = 0.05


class _Drawn(BaseModel):
    model_config = ConfigDict(extra="forbid")
    view: View


class DrawnBox(_Drawn):
    """A box on the plot of one input: outputs to avoid, or to stay within."""

    kind: Literal["forbid", "band"]
    x: Asked
    y: Asked


class DrawnCurve(_Drawn):
    """A line drawn by hand: what the output is expected to be."""

    kind: Literal["curve"]
    points: list[Asked] = Field(min_length=2, max_length=20_000)
    sd: Number | None = Field(default=None, gt=0)


class DrawnClasses(_Drawn):
    """A part of the inputs in which only some classes are right."""

    kind: Literal["class"]
    x: Asked
    y: Asked | None = None
    classes: list[str | int] = Field(min_length=1)


class DrawnLimits(_Drawn):
    """A part of the inputs in which an output has limits."""

    kind: Literal["limits"]
    x: Asked
    y: Asked
    low: Number | None = None
    high: Number | None = None


Drawn = Annotated[
    DrawnBox | DrawnCurve | DrawnClasses | DrawnLimits, Field(discriminator="kind")
]


class MovedBox(BaseModel):
    """Where a rule's box is now."""

    kind: Literal["forbid", "band", "region"]
    x: Asked
    y: Asked


def rule_text(drawn: Any, seen: Viewport) -> str:
    """The rule that a drawing stands for."""
    output = spell_name(seen.schema.outputs[seen.output])
    match drawn:
        case DrawnBox(kind="forbid"):
            claim = f"not ({_between(drawn.y, output, seen.limits)})"
        case DrawnBox():
            claim = _between(drawn.y, output, seen.limits)
        case DrawnCurve():
            return _expected(drawn, seen, output)
        case DrawnClasses():
            claim = f"{output} in {{{', '.join(map(spell_label, drawn.classes))}}}"
        case DrawnLimits():
            claim = _limits(drawn, output)
        case _:
            raise TypeError(drawn)
    sides = [drawn.x] if drawn.y is None or not seen.is_map else [drawn.x, drawn.y]
    return f"if {_where(sides, seen)} then {claim}{_settings(seen)}"


def shape_of(bound: BoundRule, seen: Viewport) -> dict[str, Any] | None:
    """The box of a view that a rule is, if it is one.

    On a curve's plot, a region and outputs to avoid or to stay within; on a map, a
    region alone.
    """
    low, high = bound.region.box()
    sides = [(float(low[i]), float(high[i])) for i in seen.shown]
    if not bound.region.is_box or not np.isfinite(sides).all():
        return None
    if not bound.applies(_inside(bound, seen)[None])[0]:
        return None  # The view is held outside of its region.
    if seen.is_map:
        return {"kind": "region", "x": sides[0], "y": sides[1]}
    found = _band(bound, seen.output)
    if found is None:
        return None
    kind, ends = found
    return {"kind": kind, "x": sides[0], "y": ends}


def moved_text(text: str, bound: BoundRule, shape: MovedBox, seen: Viewport) -> str:
    """The same rule with its box elsewhere."""
    rule = parse_rule(text)
    low, high = bound.region.box()
    choices, parts = bound.schema.choices, []
    chosen = {column for group in choices for column in group}
    for index, name in enumerate(bound.schema.inputs):
        if index in chosen and index not in seen.shown:
            parts += _chosen(low[index], high[index], name)
        if index in seen.shown or index in chosen:
            continue
        if np.isfinite(low[index]) or np.isfinite(high[index]):
            parts.append(_side(low[index], high[index], name))
    sides = [shape.x, shape.y] if seen.is_map else [shape.x]
    where = " and ".join([_where(sides, seen), *parts])
    claim = str(rule.claim)
    if not seen.is_map:
        output = spell_name(seen.schema.outputs[seen.output])
        claim = _between(shape.y, output, seen.limits)
        claim = f"not ({claim})" if shape.kind == "forbid" else claim
    other = parse_rule(f"if {where} then {claim}")
    return str(dataclasses.replace(rule, where=other.where, claim=other.claim))


def with_name(text: str, name: str) -> str:
    """The same rule under another name."""
    return str(dataclasses.replace(parse_rule(text), name=name or None))


def _inside(bound: BoundRule, seen: Viewport) -> np.ndarray:
    """A row in the middle of the region, as far as the view shows it."""
    low, high = bound.region.box()
    row = seen.at.copy()
    for index in seen.shown:
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
        ends = _two(edges[0])
        return None if ends is None else ("forbid", ends)
    if len(edges) == 2 and all(len(term) == 1 for term in edges):
        # What is forbidden lies below the band and above it.
        ends = _two([(edge, -sign) for ((edge, sign),) in edges])  # pyright: ignore
        return None if ends is None else ("band", ends)
    return None


def _edge(expr: Any, output: int) -> tuple[float, int] | None:
    """Where `f <= 0` ends along an output alone, and on which side it holds."""
    form = affine(expr, "output")
    if form is None or (found := form.edge()) is None or found[0] != output:
        return None
    return found[1], 1 if found[2] else -1


def _two(edges: Sequence[Any]) -> Ends | None:
    """A least and a greatest value, from a side that lies above and one below."""
    above = [edge for edge, sign in edges if sign > 0]
    below = [edge for edge, sign in edges if sign < 0]
    if len(above) != 1 or len(below) != 1 or above[0] > below[0]:
        return None
    return above[0], below[0]


def _settings(seen: Viewport) -> str:
    """Inputs that are not drawn have no bounds: their values are those of rows."""
    free = free_columns(len(seen.schema.inputs), seen.schema.choices)
    whole = {*free} <= {*seen.shown}
    return "" if whole else " [sampler=like-data]"


def _where(sides: Sequence[Ends], seen: Viewport) -> str:
    names = [seen.schema.inputs[index] for index in seen.shown]
    return " and ".join(
        _between(ends, spell_name(name), (float(axis[0]), float(axis[-1])))
        for ends, name, axis in zip(sides, names, seen.axes, strict=True)
    )


def _between(ends: Ends, name: str, limits: Ends) -> str:
    low, high = (spell_number(fine(end, limits)) for end in sorted(ends))
    if low == high:
        raise RuleError(
            f"the box has no size along {name}: both of its ends are {low}. Draw a "
            "larger one."
        )
    return f"{low} <= {name} <= {high}"


def _chosen(low: float, high: float, name: str) -> list[str]:
    """What a region says about one value of a category, if anything."""
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


def _expected(drawn: DrawnCurve, seen: Viewport, output: str) -> str:
    points = np.array(drawn.points, float)
    order = np.argsort(points[:, 0])
    x, y = points[order].T
    height = seen.limits[1] - seen.limits[0]
    ends = (float(x[0]), float(x[-1]))
    where = _where([ends], seen)
    name = spell_name(seen.schema.inputs[seen.shown[0]])
    sd = drawn.sd or fine(_USUAL_SD * height, seen.limits)
    try:
        mean = _polynomial(x, y, _CLOSE * height, name)
    except (ArithmeticError, ValueError):
        raise RuleError(
            "the line cannot be written as a formula: its numbers are too large, or "
            "too close to each other. Draw another."
        ) from None
    claim = f"{output} ~ Normal({mean}, {spell_number(sd)})"
    return f"if {where} then {claim}{_settings(seen)}"


def _polynomial(x: np.ndarray, y: np.ndarray, close: float, name: str) -> str:
    """The simplest that stays close to a curve, written out."""
    middle = 0.5 * float(x[0] + x[-1])
    if abs(middle) > _AWAY * (x[-1] - x[0]):
        # Powers of what lies far from zero would cancel each other.
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
        # As many digits as can be seen.
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
    """A number as exact as a hand can point at it.

    >>> fine(0.123456, (0.0, 10.0)), fine(1234.5678, (0.0, 5000.0))
    (0.12, 1230.0)
    """
    unit = 10.0 ** math.floor(math.log10((limits[1] - limits[0]) * _FINE))
    return float(f"{round(value / unit) * unit:.15g}")
