"""By how much an observation violates a rule, in standard deviations of the noise."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from ocbnn.rules import BoundRule, evaluate

# Steps tried in each direction; bisection then refines the first that is enough.
_STEPS = np.concatenate([np.linspace(0, 4, 201)[1:], np.geomspace(4, 1e4, 120)[1:]])
_HALVINGS = 20
# Random directions for several outputs, besides the axes and normals of the edges.
_DIRECTIONS, _MAX_EDGES = 32, 16

Table = Float[np.ndarray, "rows outputs"]


def excess(
    bound: BoundRule, X: Float[np.ndarray, "rows inputs"], Y: Table, sds: Table
) -> Float[np.ndarray, " rows"]:
    """The shortest step to outputs that keep the rule, in units of `sds`.

    With one output this is exact. With several, the step goes along an output, across
    an edge of the rule or in one of some random directions, so it may be a little
    longer than the shortest. It is infinite if no allowed output was found.

    >>> from ocbnn.rules import Schema, bind
    >>> cap = bind("y <= 8.5", Schema(("x",), ("y",)))
    >>> rows, ones = np.zeros((3, 1)), np.ones((3, 1))
    >>> excess(cap, rows, np.array([[8.0], [8.7], [9.3]]), 0.4 * ones).round(3)
    array([0. , 0.5, 2. ])
    """
    distances = np.where(bound.holds(X, Y), 0.0, np.inf)
    violating = np.flatnonzero(distances > 0)
    X, Y, sds = X[violating], Y[violating], sds[violating]
    for direction in _directions(bound, X, Y, sds):
        step = _first_step(bound, X, Y, direction * sds)
        distances[violating] = np.minimum(distances[violating], step)
    return distances


def _first_step(
    bound: BoundRule, X: np.ndarray, Y: np.ndarray, direction: np.ndarray
) -> Float[np.ndarray, " rows"]:
    holds = bound.holds(X, Y + _STEPS[:, None, None] * direction)
    first = holds.argmax(axis=0)
    high = _STEPS[first]
    low = np.where(first > 0, _STEPS[first - 1], 0.0)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        is_enough = bound.holds(X, Y + middle[:, None] * direction)
        low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
    return np.where(holds.any(axis=0), high, np.inf)


def _directions(
    bound: BoundRule, X: np.ndarray, Y: np.ndarray, sds: np.ndarray
) -> Iterator[Table]:
    """Directions of length one in units of `sds`, one for each row."""
    outputs = Y.shape[1]
    chosen = bound.mentions("output") or list(range(outputs))
    for sign in (1.0, -1.0):
        for column in chosen:
            yield np.broadcast_to(sign * np.eye(outputs)[column], Y.shape)
    if len(chosen) == 1:
        return
    for normal in _normals(bound, X, Y, sds):
        yield normal
        yield -normal
    rng = np.random.default_rng(0)
    for _ in range(_DIRECTIONS):
        direction = np.zeros(outputs)
        direction[chosen] = rng.standard_normal(len(chosen))
        yield np.broadcast_to(direction / np.linalg.norm(direction), Y.shape)


def _normals(
    bound: BoundRule, X: np.ndarray, Y: np.ndarray, sds: np.ndarray
) -> Iterator[Table]:
    """Normals of the edges of what the rule forbids."""
    terms = bound.claim.broken or ()
    atoms = {a: None for term in terms for a in term if a.uses_outputs}
    for atom in list(atoms)[:_MAX_EDGES]:
        slopes = np.zeros(Y.shape)
        for column in range(Y.shape[1]):
            step = np.zeros(Y.shape)
            step[:, column] = 1e-3 * sds[:, column]
            above, below = (evaluate(atom.expr, X, Y + s, np) for s in (step, -step))
            slopes[:, column] = above - below
        lengths = np.linalg.norm(slopes, axis=1, keepdims=True)
        is_usable = np.isfinite(lengths) & (lengths > 0)
        yield np.where(is_usable, slopes / np.where(is_usable, lengths, 1.0), 0.0)
