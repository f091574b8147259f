"""The log likelihood of every observation, and all parts of the density, by draw."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ocbnn.core.types import Position
from ocbnn.inference.parts import parts_at
from ocbnn.posterior import Categorical, Target

# Network values in memory at a time.
_MAX_VALUES = 2**22


def pointwise_log_likelihood(
    target: Target, positions: Position
) -> Float[np.ndarray, "draws rows"]:
    """The log density of every observation under every draw, in the user's units.

    `positions` are stacked along one axis. A row's outputs are one observation.
    """
    logs = np.asarray(_rows(target, positions, _batch(target)), float)
    if target.units is None or isinstance(target.likelihood, Categorical):
        return logs
    return logs - np.sum(np.log(target.units.y_scale))


def log_parts(
    target: Target, positions: Position
) -> dict[str, Float[np.ndarray, " draws"]]:
    """Every part of the log density, by name, for every draw."""
    parts = parts_at(target, positions, _batch(target))
    return {name: np.asarray(values, float) for name, values in parts.items()}


def _batch(target: Target) -> int:
    rows = target.rows + sum(term.count for term in target.rules)
    return int(np.clip(_MAX_VALUES // max(1, rows), 1, 1024))


@eqx.filter_jit
def _rows(target: Target, positions: Position, batch: int) -> Float[Array, "draws _"]:
    def log_likelihood(position: Position) -> Array:
        X, Y = target.data
        if X is None or Y is None:
            return jnp.zeros((0,))
        values = target.network.batch(position.weights, X)
        return target.likelihood.loglik(position.noise, X, values, Y)

    positions = jax.tree.map(jnp.asarray, positions)
    return jax.lax.map(log_likelihood, positions, batch_size=batch)
