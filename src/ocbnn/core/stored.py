"""Rows that stay in a file and are read by number, a few at a time.

A memory-mapped file looks like an array, but may be larger than memory. Pages that were
read count as the process's memory until they are dropped, so they are dropped
regularly; the system's page cache keeps what it has room for.
"""

import abc
import hashlib
import mmap
import os
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from ocbnn.core.rows import evenly

# Bytes that the system may map around every position that is read: Linux maps large
# pages where it caches a file in them (2 MiB per row were measured, on 6.18).
_AROUND = 2**21
# Mapped bytes after which all pages are dropped.
_MOST_MAPPED = 2**27
# Bytes of one block in a pass over the whole table.
_BLOCK_BYTES = 2**23
_MARKED_ROWS = 1000


class FileRows:
    """Rows of a file, read on request and not kept in memory.

    An array in memory works, too. Two are equal when they are the same part of the same
    unchanged file.
    """

    def __init__(self, table: np.ndarray) -> None:
        self._table, self._touched = table, 0
        self._identity = _identity(table)

    @property
    def shape(self) -> tuple[int, ...]:
        """As an array's."""
        return self._table.shape

    def take(self, numbers: Int[np.ndarray, " some"]) -> np.ndarray:
        """Rows by number."""
        step = max(1, _MOST_MAPPED // self._reach)
        rows = np.empty((len(numbers), *self.shape[1:]), self._table.dtype)
        for start in range(0, len(numbers), step):
            chunk = numbers[start : start + step]
            self._make_room(len(chunk) * self._reach)
            rows[start : start + step] = self._table[chunk]
        return rows

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """All rows, in order, each block with the number of its first one."""
        width = max(1, self._table.nbytes // max(1, len(self._table)))
        step = max(1, _BLOCK_BYTES // width)
        for start in range(0, len(self._table), step):
            self._make_room(_BLOCK_BYTES)
            yield start, np.array(self._table[start : start + step])

    def fingerprint(self) -> str:
        """Shape, dtype and some rows as short text, independent of the file's path."""
        numbers = evenly(len(self._table), _MARKED_ROWS)
        rows = np.ascontiguousarray(self.take(numbers))
        digest = hashlib.sha256(rows.tobytes()).hexdigest()[:16]
        return f"{self._table.dtype}{list(self.shape)} {digest}"

    @property
    def _reach(self) -> int:
        """Bytes that reading one row may map."""
        row = self._table[:1]
        pieces = 1 if row.flags.c_contiguous else row.size
        return row.nbytes + _AROUND * pieces

    def _make_room(self, count: int) -> None:
        """Drop mapped pages if `count` more bytes would exceed the limit."""
        if self._touched + count > _MOST_MAPPED:
            self._touched = 0
            _drop(self._table)
        self._touched += count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileRows) and other._identity == self._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"FileRows({self.shape} at {self._identity[0]})"


class Stored(abc.ABC):
    """Rows of a file, converted for a model.

    Static data of compiled functions: equal ones share compiled code.
    """

    def __init__(self, rows: FileRows) -> None:
        self.rows = rows

    @property
    def shape(self) -> tuple[int, ...]:
        """As an array's."""
        return self.rows.shape

    @property
    @abc.abstractmethod
    def dtype(self) -> np.dtype:
        """The dtype that compiled code receives."""

    @abc.abstractmethod
    def _converted(self, rows: np.ndarray) -> np.ndarray: ...

    @abc.abstractmethod
    def _conversion(self) -> bytes:
        """The parameters of the conversion."""

    def take(
        self, numbers: Int[np.ndarray, "..."], kind: np.dtype | None = None
    ) -> np.ndarray:
        """Rows by number, in the shape of `numbers`."""
        rows = self._converted(self.rows.take(np.ravel(numbers)))
        rows = rows.astype(self.dtype if kind is None else kind)
        return rows.reshape(*np.shape(numbers), *self.shape[1:])

    def fingerprint(self) -> str:
        """The rows and their conversion as short text."""
        digest = hashlib.sha256(self._conversion()).hexdigest()[:16]
        return f"{self.rows.fingerprint()} {digest}"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Stored)
            and type(other) is type(self)
            and (other.rows, other._conversion()) == (self.rows, self._conversion())
        )

    def __hash__(self) -> int:
        return hash((type(self), self.rows, self._conversion()))


@jax.tree_util.register_static
class StoredNumbers(Stored):
    """Columns of numbers, converted to standard units in double precision."""

    def __init__(
        self, rows: FileRows, mean: np.ndarray, rest: np.ndarray, scale: np.ndarray
    ) -> None:
        super().__init__(rows)
        self._mean, self._rest, self._scale = mean, rest, scale

    @property
    def dtype(self) -> np.dtype:
        """As precise as JAX is set to be."""
        return jnp.zeros(()).dtype

    def _converted(self, rows: np.ndarray) -> np.ndarray:
        return ((np.asarray(rows, float) - self._mean) - self._rest) / self._scale

    def _conversion(self) -> bytes:
        return np.stack([self._mean, self._rest, self._scale]).tobytes()


@jax.tree_util.register_static
class StoredClasses(Stored):
    """A column of labels, converted to class numbers."""

    def __init__(self, rows: FileRows, classes: np.ndarray) -> None:
        super().__init__(rows)
        self._classes = classes

    @property
    def dtype(self) -> np.dtype:
        """Class numbers are small."""
        return np.dtype(np.int32)

    def _converted(self, rows: np.ndarray) -> np.ndarray:
        return np.searchsorted(self._classes, rows)

    def _conversion(self) -> bytes:
        return repr(self._classes.tolist()).encode()


def is_mapped(table: Any) -> bool:
    """Whether this is a memory-mapped array."""
    return isinstance(table, np.memmap) and _map_of(table) is not None


def fetch(X: Stored, Y: Stored, numbers: Int[Array, " batch"]) -> tuple[Array, Array]:
    """The same rows of two tables, inside compiled code.

    Both files are read in one callback, also for vectorised chains, whose numbers
    differ.
    """
    # Decided while compiling: the reading thread does not have JAX's thread settings.
    kinds = (np.dtype(X.dtype), np.dtype(Y.dtype))
    shapes = tuple(
        jax.ShapeDtypeStruct((*numbers.shape, *table.shape[1:]), kind)
        for table, kind in zip((X, Y), kinds, strict=True)
    )

    def read(numbers: Any) -> tuple[np.ndarray, np.ndarray]:
        chosen = np.asarray(numbers)
        return X.take(chosen, kinds[0]), Y.take(chosen, kinds[1])

    return jax.pure_callback(read, shapes, numbers, vmap_method="expand_dims")


def _map_of(table: np.ndarray) -> Any:
    return getattr(table, "_mmap", None)


def _identity(table: np.ndarray) -> tuple[Any, ...]:
    """Which part of which file the table is, or which array of this process."""
    mapped, path = _map_of(table), getattr(table, "filename", None)
    if mapped is None or path is None or not os.path.exists(path):
        return (f"address {id(table)}",)
    status = os.stat(path)
    start = table.__array_interface__["data"][0]
    start -= np.frombuffer(mapped, np.uint8).__array_interface__["data"][0]
    # A view has the offset of the whole array; only the start of its map is used.
    start += table.offset - table.offset % mmap.ALLOCATIONGRANULARITY  # pyright: ignore
    layout = (start, table.shape, table.strides, table.dtype.str)
    return (str(path), status.st_size, status.st_mtime_ns, *layout)


def _drop(table: np.ndarray) -> None:
    mapped = _map_of(table)
    # A private map may hold changes, which would be lost.
    if mapped is None or getattr(table, "mode", "c") == "c":
        return
    if hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
        mapped.madvise(mmap.MADV_DONTNEED)
