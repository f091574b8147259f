"""Pytrees as named arrays on disk. Their structure is never written, only checked."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.errors import StorageError
from ocbnn.storage.arrays import KINDS


def pack(name: str, tree: Any) -> dict[str, np.ndarray]:
    """The leaves of a pytree, in order and by name."""
    return {title: _plain(leaf) for title, leaf in _titled(name, tree)}


def unpack(
    name: str,
    shapes: Any,
    arrays: Mapping[str, np.ndarray],
    rows: int | None = None,
) -> Any:
    """The pytree that was packed.

    Parameters
    ----------
    name
        What it was packed as.
    shapes
        The structure that it must have, with shapes and types as leaves.
    arrays
        Arrays by name; others may be among them.
    rows
        How many rows each leaf has along a first axis that `shapes` leave out.

    Raises
    ------
    StorageError
        When an array is missing, or of another shape or type.
    """
    leaves = []
    for title, leaf in _titled(name, shapes):
        plain = jax.eval_shape(_bare, leaf)
        shape = plain.shape if rows is None else (rows, *plain.shape)
        leaves.append(_made(_fitting(title, arrays, shape, plain.dtype), leaf))
    return jax.tree.unflatten(jax.tree.structure(shapes), leaves)


def _titled(name: str, tree: Any) -> list[tuple[str, Any]]:
    paths, _ = jax.tree_util.tree_flatten_with_path(tree)
    keystr = jax.tree_util.keystr
    # The number keeps names apart where two paths read the same.
    return [(f"{name} {i}: {keystr(path)}", a) for i, (path, a) in enumerate(paths)]


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _bare(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _stored_kind(dtype: np.dtype) -> np.dtype:
    # Kinds of numbers that files do not know (bfloat16, ...) are kept as their bits.
    known = dtype.name in KINDS
    return dtype if known else np.dtype(f"uint{8 * dtype.itemsize}")


def _plain(leaf: Any) -> np.ndarray:
    array = np.asarray(_bare(leaf))
    return array.view(_stored_kind(array.dtype))


def _fitting(
    title: str, arrays: Mapping[str, np.ndarray], shape: tuple, dtype: Any
) -> np.ndarray:
    if title not in arrays:
        raise StorageError(f"the array {title!r} is missing.")
    array, dtype = arrays[title], np.dtype(dtype)
    if (array.shape, array.dtype) != (shape, _stored_kind(dtype)):
        raise StorageError(
            f"the array {title!r} is {array.dtype}{list(array.shape)}, and the run "
            f"needs {dtype}{list(shape)}."
        )
    return array.view(dtype)


def _made(array: np.ndarray, leaf: Any) -> Any:
    if not _is_key(leaf):
        return array
    kinds: list[Any] = []
    jax.eval_shape(lambda key: kinds.append(jax.random.key_impl(key)), leaf)
    return jax.random.wrap_key_data(jnp.asarray(array), impl=kinds[0])
