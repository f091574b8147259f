"""Where a rule binds: at which points functions fitted without it would violate it."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

# A rule binds at a point where one function in twenty would violate it.
BINDS = 0.05

Weights = Float[np.ndarray, " draws"]


@dataclasses.dataclass(frozen=True)
class Binding:
    """How often functions fitted without a rule would violate it in its region.

    Attributes
    ----------
    pairs
        Share of (function, point) pairs.
    points
        Share of points at which more than one function in twenty would.
    mostly
        Share of points at which more than half of the functions would.
    anywhere
        Share of points at which any of the functions would.
    """

    pairs: float
    points: float
    mostly: float
    anywhere: float


def binding(
    violations: Bool[np.ndarray, "draws points"], weights: Weights
) -> tuple[Binding, Bool[np.ndarray, " points"]]:
    """How often a rule would be violated, and at which points it binds.

    >>> violations = np.array([[True, False, True, False], [True, False, False, False]])
    >>> binding(violations, np.full(2, 0.5))[0]
    Binding(pairs=0.375, points=0.5, mostly=0.25, anywhere=0.5)
    """
    share = np.clip(weights @ violations, 0.0, 1.0)
    binds = share > BINDS
    summary = Binding(
        float(share.mean()),
        float(binds.mean()),
        float((share > 0.5).mean()),
        float((share > 0).mean()),
    )
    return summary, binds


def spread(
    values: Float[np.ndarray, "draws points outputs"], weights: Weights
) -> Float[np.ndarray, " outputs"]:
    """Each output's standard deviation over weighted draws, averaged over points."""
    share = weights[:, None, None]
    mean = np.sum(share * values, axis=0, keepdims=True)
    variance = np.sum(share * (values - mean) ** 2, axis=0)
    return np.sqrt(variance).mean(axis=0)
