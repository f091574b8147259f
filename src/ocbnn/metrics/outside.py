"""How much of a model's predicted probability lies outside of possible values."""

import numpy as np
from jaxtyping import Float

from ocbnn.predictive import truncated
from ocbnn.predictive.predictive import Limits


def mass_outside(
    values: Float[np.ndarray, "draws rows outputs"],
    noise: Float[np.ndarray, "draws #rows outputs"],
    box: Limits,
    limits: Limits | None = None,
) -> Float[np.ndarray, " rows"]:
    """The probability that an observation leaves a box, in any output.

    Parameters
    ----------
    values
        Every draw's function at every row.
    noise
        Every draw's standard deviations, for each row or one for all rows.
    box
        The least and the greatest allowed value of each output.
    limits
        Limits of all observations; None without any.

    Examples
    --------
    >>> values, noise = np.zeros((1, 1, 1)), np.ones((1, 1, 1))
    >>> mass_outside(values, noise, (np.array([0.0]), np.array([np.inf])))
    array([0.5])
    """
    low, high = box
    if limits is not None:
        low, high = np.maximum(low, limits[0]), np.minimum(high, limits[1])
    logs = truncated.log_mass(low, high, values, noise)
    if limits is not None:
        logs = logs - truncated.log_mass(*limits, values, noise)
    inside = np.exp(logs.sum(axis=-1)).mean(axis=0)
    return np.clip(1.0 - inside, 0.0, 1.0)
