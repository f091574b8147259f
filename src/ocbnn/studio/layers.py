"""Rules in a view, as outlines for the page to draw."""

from typing import Any

import numpy as np
from matplotlib.path import Path

from ocbnn.core.words import spell
from ocbnn.plots.shading import RuleView
from ocbnn.plots.slices import placing
from ocbnn.plots.trace import trace
from ocbnn.rules import BoundRule, evaluate
from ocbnn.studio.viewport import Viewport


def layer_of(bound: BoundRule, viewport: Viewport) -> dict[str, Any]:
    """A rule's layer in a view: forbidden outputs, expected outputs, or its region.

    The region is shown where outputs cannot be drawn: on maps, for classes, and for
    rules about slopes or other outputs.
    """
    is_curve = not viewport.is_map and not bound.slopes
    drawable = is_curve and bound.mentions("output") == [viewport.output]
    if drawable and bound.claim.required is not None:
        view = _along(bound, viewport)
        outline = view.outline(view.violates)
        return _layer("forbidden", outline.fill, outline.boundary, "forbidden")
    if drawable and bound.claim.curves:
        view = _along(bound, viewport)
        outline = view.outline(view.keeps)
        line = _means(bound, viewport)
        return _layer("expected", outline.fill, line, "expected, ±2 sd")
    return _region(bound, viewport)


def _along(bound: BoundRule, viewport: Viewport) -> RuleView:
    return RuleView(
        bound,
        viewport.shown[0],
        viewport.output,
        viewport.at,
        viewport.xlim,
        viewport.limits,
    )


def _region(bound: BoundRule, viewport: Viewport) -> dict[str, Any]:
    place = placing(bound, viewport.shown, viewport.at)
    if viewport.is_map:
        inside = lambda x, y: bound.applies(place(x, y))
    else:
        inside = lambda x, y: bound.applies(place(x))
    ends = [float(e[viewport.shown[0]]) for e in bound.region.box()]
    outline = trace(
        inside, viewport.xlim, viewport.limits, [e for e in ends if np.isfinite(e)]
    )
    return _layer("region", outline.fill, outline.boundary, _label(bound))


def _label(bound: BoundRule) -> str:
    if bound.claim.allowed is not None and bound.schema.classes:
        pairs = zip(bound.schema.classes, bound.claim.allowed, strict=True)
        return ", ".join(str(label) for label, allowed in pairs if allowed)
    return str(bound.rule.claim)


def _means(bound: BoundRule, viewport: Viewport) -> np.ndarray:
    """The curves of expected outputs, separated by NaN."""
    X = viewport.inputs
    inside = bound.applies(X)
    Y = np.full((len(X), len(bound.schema.outputs)), np.nan)
    lines = []
    for curve in bound.claim.curves:
        values = np.where(inside, evaluate(curve.mean, X, Y, np), np.nan)
        lines += [np.column_stack([viewport.axes[0], values]), np.full((1, 2), np.nan)]
    return np.concatenate(lines)


def _layer(kind: str, fill: Path, line: np.ndarray, label: str) -> dict[str, Any]:
    polygons = fill.to_polygons(closed_only=True) if np.size(fill.vertices) else []
    parts = [
        part for polygon in polygons for part in (polygon, np.full((1, 2), np.nan))
    ]
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
    """The numbers of an array of any shape for JSON; None if they are not finite."""
    array = np.asarray(values, float)
    if array.ndim > 1:
        return [numbers(row) for row in array]
    finite = array[np.isfinite(array)]
    width = float(np.ptp(finite)) if finite.size else 0.0
    rounded = [float(spell(v, width, digits=6)) for v in array.tolist()]
    return [v if np.isfinite(v) else None for v in rounded]
