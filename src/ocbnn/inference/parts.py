"""The named parts of a log density at many positions."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ocbnn.core.types import Position
from ocbnn.inference.base import LogDensity


def parts_at(
    target: LogDensity, positions: Position, batch: int | None = None
) -> dict[str, Array]:
    """Every part by name, at positions stacked along one axis, `batch` at a time.

    Names come from the target itself: compiled code is shared with other targets of the
    same shape, whose parts may have other names.
    """
    values = _values(target, positions, batch)
    return dict(zip(_names(target), values, strict=True))


def parts_without_number(target: LogDensity, positions: Position) -> list[str]:
    """Names of parts that are not a number at one of the positions."""
    values = _values(target, positions, None)
    wrong = [bool(np.isnan(value).any()) for value in values]
    if not any(wrong):
        return []  # Names are slow to find, and a run checks after every chunk.
    pairs = zip(_names(target), wrong, strict=True)
    return [name for name, is_wrong in pairs if is_wrong]


def _names(target: LogDensity) -> list[str]:
    return list(jax.eval_shape(target.parts, target.shapes()))


@eqx.filter_jit
def _values(target: LogDensity, positions: Position, batch: int | None) -> list[Any]:
    positions = jax.tree.map(jnp.asarray, positions)
    values = lambda position: jax.tree.leaves(target.parts(position))
    if batch is None:
        return jax.vmap(values)(positions)
    return jax.lax.map(values, positions, batch_size=batch)
