"""Scores of a fitted model's predictions, on held-out rows if there are any."""

from typing import Any

import numpy as np
from scipy.stats import binomtest

from ocbnn.core.advice import Kind
from ocbnn.core.sentences import Sentence
from ocbnn.core.words import share
from ocbnn.estimators import OCBNNClassifier
from ocbnn.metrics import coverage, rmse
from ocbnn.projects.build import Model
from ocbnn.projects.data_split import DataSplit

LEVEL = 0.9
# A coverage is reported if its p-value is below this.
_SIGNIFICANCE = 0.01


def score(model: Model, parts: DataSplit) -> dict[str, Any]:
    """The scores of each output, by name."""
    X, y = parts.scored
    scored_rows = {"rows": len(X), "held_out": parts.held_out > 0}
    if isinstance(model, OCBNNClassifier):
        return scored_rows | _of_classes(model, X, y)
    mean = np.reshape(model.predict(X), y.shape)
    low, high = (np.reshape(e, y.shape) for e in model.predict_interval(X, LEVEL))
    return scored_rows | {
        "outputs": {
            name: {
                "rmse": rmse(mean[:, i], y[:, i]),
                "r2": _r2(mean[:, i], y[:, i]),
                "coverage_90": coverage(low[:, [i]], high[:, [i]], y[:, [i]]),
            }
            for i, name in enumerate(parts.schema.outputs)
        }
    }


def _of_classes(model: OCBNNClassifier, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    probabilities = model.predict_proba(X)
    predicted = model.fitted_.chosen(X, probabilities)
    codes = np.searchsorted(model.classes_, y)
    observed = probabilities[np.arange(len(y)), codes]
    _, counts = np.unique(codes, return_counts=True)
    return {
        "outputs": {
            model.schema_.outputs[0]: {
                "accuracy": float(np.mean(predicted == codes)),
                "log_loss": float(-np.mean(np.log(np.maximum(observed, 1e-12)))),
                "most_frequent": float(counts.max() / len(y)),
            }
        }
    }


def _r2(mean: np.ndarray, truth: np.ndarray) -> float | None:
    spread = float(np.sum((truth - truth.mean()) ** 2))
    return None if spread == 0 else 1 - float(np.sum((truth - mean) ** 2)) / spread


def _is_off(coverage: float, rows: int) -> bool:
    """Whether the coverage differs from its nominal level by more than chance."""
    p_value = binomtest(round(coverage * rows), rows, LEVEL).pvalue
    return bool(p_value < _SIGNIFICANCE)


def _off(name: str, coverage: float) -> str:
    if coverage > LEVEL:
        return f"! Intervals of {name} are wider than necessary."
    return Sentence(
        f"! Intervals of {name} are too narrow, by more than chance: do not rely on "
        "them. Try ",
        Kind.VARY_NOISE,
        ", a larger network, or fewer or weaker rules.",
    )


def score_lines(scores: dict[str, Any]) -> list[str]:
    """Scores as sentences, some of them a `Sentence` with advice."""
    rows = scores["rows"]
    scored = f"{rows} held-out rows" if scores["held_out"] else f"{rows} fitted rows"
    lines = []
    for name, numbers in scores["outputs"].items():
        if "accuracy" in numbers:
            lines.append(
                f"{name}: {share(numbers['accuracy'])} correct on {scored} (log loss "
                f"{numbers['log_loss']:.3f}; the most frequent class is "
                f"{share(numbers['most_frequent'])})"
            )
            continue
        r2 = "" if numbers["r2"] is None else f", R² {numbers['r2']:.3f}"
        lines.append(
            f"{name}: typical error {numbers['rmse']:.4g} on {scored}{r2}; "
            f"{share(numbers['coverage_90'])} lie in their 90 % interval"
        )
        if scores["held_out"] and _is_off(numbers["coverage_90"], rows):
            lines.append(_off(name, numbers["coverage_90"]))
    if not scores["held_out"]:
        lines.append(Sentence("For an honest score ", Kind.HOLD_OUT, "."))
    return lines
