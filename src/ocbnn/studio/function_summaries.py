"""Summaries of functions in a view, for the page to draw."""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from ocbnn.core.rows import evenly
from ocbnn.estimators import OCBNNClassifier
from ocbnn.projects.build import Model
from ocbnn.studio.layers import numbers
from ocbnn.studio.viewport import Viewport

Values = Float[np.ndarray, "draws rows outputs"]

_SHOWN, _MANY = 40, 400
_LEVEL = (0.025, 0.975)


def summarize(values: Values, viewport: Viewport) -> dict[str, Any]:
    """Mean, band and some of the functions; class probabilities from logits."""
    classes = viewport.schema.classes
    if classes is not None:
        return _classes(softmax(values, axis=-1), viewport)
    chosen = values[..., viewport.output]
    if viewport.is_map:
        return _map(chosen.mean(axis=0), chosen.std(axis=0), viewport)
    low, high = np.quantile(chosen, _LEVEL, axis=0)
    shown = chosen[evenly(len(chosen), _SHOWN)]
    return {
        "kind": "curve",
        "x": numbers(viewport.axes[0]),
        "mean": numbers(chosen.mean(axis=0)),
        "low": None,
        "high": None,
        "function_low": numbers(low),
        "function_high": numbers(high),
        "functions": numbers(shown),
    }


def predictions_in_view(model: Model, viewport: Viewport) -> dict[str, Any]:
    """A fitted model's predictions in a view, hard rules and noise included."""
    X = viewport.inputs
    count = len(viewport.schema.outputs)
    values = model.sample_functions(X, _MANY)
    if isinstance(model, OCBNNClassifier):
        probabilities = model.predict_proba(X)
        summary = _classes(softmax(values, axis=-1), viewport, probabilities)
        if viewport.is_map:
            # Firm rules may forbid the most probable class.
            predicted = model.fitted_.chosen(X, probabilities)
            summary["predicted"] = predicted.reshape(_shape(viewport)).tolist()
        return summary
    summary = summarize(values.reshape(len(values), len(X), count), viewport)
    column = lambda part: np.reshape(part, (len(X), count))[:, viewport.output]
    if viewport.is_map:
        return {**summary, "z": _table(column(model.predict(X)), viewport)}
    intervals = model.predict_summary(X)
    return {
        **summary,
        "mean": numbers(column(intervals.mean)),
        "low": numbers(column(intervals.lower)),
        "high": numbers(column(intervals.upper)),
    }


def _map(mean: np.ndarray, sd: np.ndarray, viewport: Viewport) -> dict[str, Any]:
    return {
        "kind": "map",
        **_grid(viewport),
        "z": _table(mean, viewport),
        "sd": _table(sd, viewport),
    }


def _classes(
    probabilities: Values, viewport: Viewport, mean: np.ndarray | None = None
) -> dict[str, Any]:
    shares = np.asarray(probabilities.mean(axis=0) if mean is None else mean)
    classes = [str(label) for label in viewport.schema.classes or ()]
    if viewport.is_map:
        tables = [_table(share, viewport) for share in shares.T]
        return {
            "kind": "class-map",
            **_grid(viewport),
            "classes": classes,
            "probability": tables,
        }
    low, high = np.quantile(probabilities, _LEVEL, axis=0)
    return {
        "kind": "classes",
        "x": numbers(viewport.axes[0]),
        "classes": classes,
        "probability": numbers(shares.T),
        "low": numbers(low.T),
        "high": numbers(high.T),
    }


def _grid(viewport: Viewport) -> dict[str, Any]:
    return {"x": numbers(viewport.axes[0]), "y": numbers(viewport.axes[1])}


def _table(values: np.ndarray, viewport: Viewport) -> Any:
    return numbers(values.reshape(_shape(viewport)))


def _shape(viewport: Viewport) -> tuple[int, int]:
    return len(viewport.axes[1]), len(viewport.axes[0])
