"""What rules say in a view, as outlines that a page can draw."""

from typing import Any

import numpy as np
from matplotlib.path import Path

from ocbnn.core.words import spell
from ocbnn.plots.shading import RuleView
from ocbnn.plots.slices import placing
from ocbnn.plots.trace import trace
from ocbnn.rules import BoundRule, evaluate
from ocbnn.studio.viewport import Viewport


def layer_of(bound: BoundRule, seen: Viewport) -> dict[str, Any]:
    """A rule's part of a view: forbidden outputs, expected ones, or its region.

    A region is shown where the outputs cannot be: on a map, for classes, and for rules
    about slopes or about other outputs.
    """
    is_curve = not seen.is_map and not bound.slopes
    drawable = is_curve and bound.mentions("output") == [seen.output]
    if drawable and bound.claim.required is not None:
        view = _along(bound, seen)
        outline = view.outline(view.violates)
        return _layer("forbidden", outline.fill, outline.boundary, "forbidden")
    if drawable and bound.claim.curves:
        view = _along(bound, seen)
        outline = view.outline(view.keeps)
        line = _means(bound, seen)
        return _layer("expected", outline.fill, line, "expected, ±2 sd")
    return _region(bound, seen)


def _along(bound: BoundRule, seen: Viewport) -> RuleView:
    return RuleView(bound, seen.shown[0], seen.output, seen.at, seen.xlim, seen.limits)


def _region(bound: BoundRule, seen: Viewport) -> dict[str, Any]:
    place = placing(bound, seen.shown, seen.at)
    if seen.is_map:
        inside = lambda x, y: bound.applies(place(x, y))
    else:
        inside = lambda x, y: bound.applies(place(x))
    ends = [float(e[seen.shown[0]]) for e in bound.region.box()]
    outline = trace(inside, seen.xlim, seen.limits, [e for e in ends if np.isfinite(e)])
    return _layer("region", outline.fill, outline.boundary, _said(bound))


def _said(bound: BoundRule) -> str:
    if bound.claim.allowed is not None and bound.schema.classes:
        pairs = zip(bound.schema.classes, bound.claim.allowed, strict=True)
        return ", ".join(str(label) for label, allowed in pairs if allowed)
    return str(bound.rule.claim)


def _means(bound: BoundRule, seen: Viewport) -> np.ndarray:
    """The lines on which the output is expected, parted by NaN."""
    X = seen.inputs
    inside = bound.applies(X)
    Y = np.full((len(X), len(bound.schema.outputs)), np.nan)
    lines = []
    for curve in bound.claim.curves:
        values = np.where(inside, evaluate(curve.mean, X, Y, np), np.nan)
        lines += [np.column_stack([seen.axes[0], values]), np.full((1, 2), np.nan)]
    return np.concatenate(lines)


def _layer(kind: str, fill: Path, line: np.ndarray, label: str) -> dict[str, Any]:
    polygons = fill.to_polygons(closed_only=True) if np.size(fill.vertices) else []
    parts = [part for one in polygons for part in (one, np.full((1, 2), np.nan))]
    shape = np.concatenate(parts) if parts else np.empty((0, 2))
    return {
        "kind": kind,
        "label": label,
        "fill": _columns(shape),
        "line": _columns(line) if len(line) else None,
    }


def _columns(points: np.ndarray) -> dict[str, list[float | None]]:
    return {"x": numbers(points[:, 0]), "y": numbers(points[:, 1])}


def numbers(values: Any) -> Any:
    """Numbers of an array of any shape as JSON has them: None for what is none."""
    array = np.asarray(values, float)
    if array.ndim > 1:
        return [numbers(one) for one in array]
    known = array[np.isfinite(array)]
    width = float(np.ptp(known)) if known.size else 0.0
    plain = [float(spell(v, width, digits=6)) for v in array.tolist()]
    return [v if np.isfinite(v) else None for v in plain]
