r"""How well each observation is predicted from the others, from one set of draws.

Leaving row $i$ out of the posterior divides it by $p(y_i|W)$, so the draws are weighted
by one over that, Pareto smoothed (Vehtari, Gelman and Gabry 2017). Further weights may
add or remove rules at the same time, and functions other than the draws may be scored;
ArviZ's `loo` takes neither. Without them the two agree to 14 digits.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from ocbnn.metrics.psis import smooth

LogLikelihood = Float[np.ndarray, "draws rows"]


class LeaveOneOut(NamedTuple):
    """Each row's log predictive density given the others, and its Pareto k."""

    rows: Float[np.ndarray, " rows"]
    pareto_k: Float[np.ndarray, " rows"]


def leave_one_out(
    log_likelihood: LogLikelihood,
    log_weights: Float[np.ndarray, " draws"] | None = None,
    *,
    scored: LogLikelihood | None = None,
) -> LeaveOneOut:
    """Log predictive density of every row, given the other rows.

    Parameters
    ----------
    log_likelihood
        Log likelihood of every row under every draw.
    log_weights
        Log weights of the draws, if they represent another posterior.
    scored
        The log likelihood under the functions that predict, if these are not the
        draws but follow from them, as after a projection. Left out, they are the draws.

    Returns
    -------
    LeaveOneOut
        For each row, its log predictive density and the Pareto k of its weights.
    """
    base = np.zeros(len(log_likelihood)) if log_weights is None else log_weights
    predicting = log_likelihood if scored is None else scored
    values, shapes = [], []
    for row, value in zip(log_likelihood.T, predicting.T, strict=True):
        smoothed = smooth(base - row)
        values.append(logsumexp(smoothed.log_weights + value))
        shapes.append(smoothed.pareto_k)
    return LeaveOneOut(np.array(values, float), np.array(shapes, float))


def log_density_of_rows(
    log_likelihood: LogLikelihood, log_weights: Float[np.ndarray, " draws"]
) -> Float[np.ndarray, " rows"]:
    """Each row's log predictive density, given all rows.

    `log_weights` are normalised.
    """
    return np.asarray(logsumexp(log_likelihood + log_weights[:, None], axis=0))
