"""Inputs at which draws are judged, and what functions say there."""

from typing import Any

import numpy as np

REFERENCE_INPUTS = 200


def reference_inputs(model: Any) -> np.ndarray:
    """Inputs at which draws are judged: rows of the data and the rules' points."""
    points = [term.places for term in model.target_.rules]
    reference = np.concatenate([model._X, *points])
    rows = np.linspace(0, len(reference) - 1, REFERENCE_INPUTS).astype(int)
    return reference[np.unique(rows)]


def judged_values(model: Any, X: np.ndarray) -> np.ndarray:
    """What draws are judged by, in the network's own units, which have all digits.

    The function of every (chain, draw), at every row and output along one axis.
    """
    return judged_values_of(model._predictive, model.draws_, X)


def judged_values_of(predictive: Any, draws: Any, X: np.ndarray) -> np.ndarray:
    """The same for draws of any fit."""
    values = predictive.inner_functions(np.asarray(X, float))
    return values.reshape(draws.chains, draws.draws, -1)
