"""Arithmetic on positions with one array per layer."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ocbnn.core.types import Position, RandomKey


def like_normal(key: RandomKey, like: Position) -> Position:
    """Standard normal noise in the shape of a position."""
    leaves, structure = jax.tree.flatten(like)
    keys = jax.random.split(key, max(1, len(leaves)))
    noise = [
        jax.random.normal(k, leaf.shape, leaf.dtype)
        for k, leaf in zip(keys, leaves, strict=False)
    ]
    return jax.tree.unflatten(structure, noise)


def stacked(*arrays: Array) -> Array:
    """Arrays or random keys along a new first axis.

    On the host: a compiled stack of thousands of arrays takes minutes to compile.
    """
    if jnp.issubdtype(arrays[0].dtype, jax.dtypes.prng_key):
        data = [np.asarray(jax.random.key_data(key)) for key in arrays]
        return jax.random.wrap_key_data(jnp.asarray(np.stack(data)))
    return jnp.asarray(np.stack([np.asarray(array) for array in arrays]))


def norm(position: Position) -> Float[Array, ""]:
    """Euclidean norm over all arrays."""
    squares = [jnp.sum(leaf**2) for leaf in jax.tree.leaves(position)]
    return jnp.sqrt(sum(squares, start=jnp.zeros((), squares[0].dtype)))


def mean_square(position: Position) -> Float[Array, ""]:
    """Mean of the squares of all entries."""
    size = sum(leaf.size for leaf in jax.tree.leaves(position))
    return norm(position) ** 2 / size
