"""Functions in a view, summed up so that a page can draw them."""

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


def summarize(values: Values, seen: Viewport) -> dict[str, Any]:
    """Functions from anywhere: mean, band, and some of them; classes from logits."""
    classes = seen.schema.classes
    if classes is not None:
        return _classes(softmax(values, axis=-1), seen)
    chosen = values[..., seen.output]
    if seen.is_map:
        return _map(chosen.mean(axis=0), chosen.std(axis=0), seen)
    low, high = np.quantile(chosen, _LEVEL, axis=0)
    some = chosen[evenly(len(chosen), _SHOWN)]
    return {
        "kind": "curve",
        "x": numbers(seen.axes[0]),
        "mean": numbers(chosen.mean(axis=0)),
        "low": None,
        "high": None,
        "function_low": numbers(low),
        "function_high": numbers(high),
        "functions": numbers(some),
    }


def predictions_in_view(model: Model, seen: Viewport) -> dict[str, Any]:
    """What a fitted model answers in a view, hard rules and noise included."""
    X = seen.inputs
    count = len(seen.schema.outputs)
    values = model.sample_functions(X, _MANY)
    if isinstance(model, OCBNNClassifier):
        chances = model.predict_proba(X)
        found = _classes(softmax(values, axis=-1), seen, chances)
        if seen.is_map:
            # Firm rules may forbid the most probable class.
            chosen = model.fitted_.chosen(X, chances)
            found["predicted"] = chosen.reshape(_shape(seen)).tolist()
        return found
    found = summarize(values.reshape(len(values), len(X), count), seen)
    column = lambda part: np.reshape(part, (len(X), count))[:, seen.output]
    if seen.is_map:
        return {**found, "z": _table(column(model.predict(X)), seen)}
    said = model.predict_summary(X)
    return {
        **found,
        "mean": numbers(column(said.mean)),
        "low": numbers(column(said.lower)),
        "high": numbers(column(said.upper)),
    }


def _map(mean: np.ndarray, sd: np.ndarray, seen: Viewport) -> dict[str, Any]:
    return {
        "kind": "map",
        **_grid(seen),
        "z": _table(mean, seen),
        "sd": _table(sd, seen),
    }


def _classes(
    probabilities: Values, seen: Viewport, mean: np.ndarray | None = None
) -> dict[str, Any]:
    shares = np.asarray(probabilities.mean(axis=0) if mean is None else mean)
    classes = [str(label) for label in seen.schema.classes or ()]
    if seen.is_map:
        tables = [_table(one, seen) for one in shares.T]
        return {
            "kind": "class-map",
            **_grid(seen),
            "classes": classes,
            "probability": tables,
        }
    low, high = np.quantile(probabilities, _LEVEL, axis=0)
    return {
        "kind": "classes",
        "x": numbers(seen.axes[0]),
        "classes": classes,
        "probability": numbers(shares.T),
        "low": numbers(low.T),
        "high": numbers(high.T),
    }


def _grid(seen: Viewport) -> dict[str, Any]:
    return {"x": numbers(seen.axes[0]), "y": numbers(seen.axes[1])}


def _table(values: np.ndarray, seen: Viewport) -> Any:
    return numbers(values.reshape(_shape(seen)))


def _shape(seen: Viewport) -> tuple[int, int]:
    return len(seen.axes[1]), len(seen.axes[0])
