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

    Parameters
    ----------
    prediction
        Predictions, in any units.
    truth
        What was observed, in the same units and shape.

    Examples
    --------
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

    Parameters
    ----------
    values
        Every draw's function at every row.
    noise
        Every draw's standard deviations, for each row or one for all rows.
    truth
        What was observed.
    limits
        Lower and upper limits at which the normals are truncated, as by
        `truncate=True`; None without any.

    Returns
    -------
    float
        The mean over rows, in nats. Outputs of a row are added up.
    """
    gap = (truth[None] - values) / noise
    logs = -0.5 * gap**2 - np.log(noise) - 0.5 * np.log(2 * np.pi)
    if limits is not None:
        logs = logs - log_mass(*limits, values, noise)
    per_row = logsumexp(logs.sum(axis=-1), axis=0) - np.log(len(values))
    return float(per_row.mean())


def coverage(low: Table, high: Table, truth: Table) -> float:
    """Share of observations inside their interval, over rows and outputs together.

    Parameters
    ----------
    low
        Lower ends of the intervals.
    high
        Upper ends.
    truth
        What was observed.
    """
    return float(np.mean((truth >= low) & (truth <= high)))
