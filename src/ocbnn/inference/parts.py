"""The named parts of a log density at many positions."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ocbnn.core.types import Position
from ocbnn.inference.base import LogDensity


def parts_at(
    target: LogDensity, positions: Position, batch: int | None = None
) -> dict[str, Array]:
    """Every part by name, at positions stacked along one axis, `batch` at a time.

    Names are asked of the target itself: compiled code serves others of its shape,
    whose parts are called otherwise.
    """
    names = jax.eval_shape(target.parts, target.shapes())
    return dict(zip(names, _values(target, positions, batch), strict=True))


@eqx.filter_jit
def _values(target: LogDensity, positions: Position, batch: int | None) -> list[Any]:
    positions = jax.tree.map(jnp.asarray, positions)
    values = lambda one: jax.tree.leaves(target.parts(one))
    if batch is None:
        return jax.vmap(values)(positions)
    return jax.lax.map(values, positions, batch_size=batch)
