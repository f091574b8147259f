"""Plain scores of predictions."""

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from ocbnn.predictive.predictive import Limits
from ocbnn.predictive.truncated import log_mass

Table = Float[np.ndarray, "rows outputs"]


def rmse(
    prediction: Float[np.ndarray, "..."], truth: Float[np.ndarray, "..."]
) -> float:
    """Root of the mean squared error, over rows and outputs together.

    >>> rmse(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    1.414...
    """
    return float(np.sqrt(np.mean((np.asarray(prediction) - np.asarray(truth)) ** 2)))


def mean_log_likelihood(
    values: Float[np.ndarray, "draws rows outputs"],
    noise: Float[np.ndarray, "draws #rows outputs"],
    truth: Table,
    limits: Limits | None = None,
) -> float:
    """Mean log density of the truth under the mixture of all draws' normals.

    `noise` has one row for each of the truth, or one for all. With `limits`, the
    normals are truncated there, as by `truncate=True`.
    """
    gap = (truth[None] - values) / noise
    logs = -0.5 * gap**2 - np.log(noise) - 0.5 * np.log(2 * np.pi)
    if limits is not None:
        logs = logs - log_mass(*limits, values, noise)
    per_row = logsumexp(logs.sum(axis=-1), axis=0) - np.log(len(values))
    return float(per_row.mean())


def coverage(low: Table, high: Table, truth: Table) -> float:
    """Share of observations inside their interval."""
    return float(np.mean((truth >= low) & (truth <= high)))
