"""Pytrees as named arrays on disk. Their structure is not stored, only checked."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.errors import StorageError
from ocbnn.storage.arrays import KINDS


def pack(name: str, tree: Any) -> dict[str, np.ndarray]:
    """The leaves of a pytree by name, in order."""
    return {title: _plain(leaf) for title, leaf in _titled(name, tree)}


def unpack(
    name: str,
    shapes: Any,
    arrays: Mapping[str, np.ndarray],
    rows: int | None = None,
) -> Any:
    """Rebuild a pytree from named arrays.

    Parameters
    ----------
    name
        The name it was packed under.
    shapes
        The required structure, with shapes and dtypes as leaves.
    arrays
        Arrays by name; may contain others.
    rows
        The number of rows along an additional first axis, which `shapes` lack.

    Raises
    ------
    StorageError
        When an array is missing, or has another shape or dtype.
    """
    leaves = []
    for title, leaf in _titled(name, shapes):
        plain = jax.eval_shape(_bare, leaf)
        shape = plain.shape if rows is None else (rows, *plain.shape)
        leaves.append(_unpacked_leaf(_fitting(title, arrays, shape, plain.dtype), leaf))
    return jax.tree.unflatten(jax.tree.structure(shapes), leaves)


def _titled(name: str, tree: Any) -> list[tuple[str, Any]]:
    paths, _ = jax.tree_util.tree_flatten_with_path(tree)
    keystr = jax.tree_util.keystr
    # The number keeps names unique where two paths print the same text.
    return [(f"{name} {i}: {keystr(path)}", a) for i, (path, a) in enumerate(paths)]


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _bare(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _stored_kind(dtype: np.dtype) -> np.dtype:
    # Dtypes that the file format does not support (bfloat16, ...) are stored as bits.
    is_supported = dtype.name in KINDS
    return dtype if is_supported else np.dtype(f"uint{8 * dtype.itemsize}")


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


def _unpacked_leaf(array: np.ndarray, leaf: Any) -> Any:
    if not _is_key(leaf):
        return array
    kinds: list[Any] = []
    jax.eval_shape(lambda key: kinds.append(jax.random.key_impl(key)), leaf)
    return jax.random.wrap_key_data(jnp.asarray(array), impl=kinds[0])
