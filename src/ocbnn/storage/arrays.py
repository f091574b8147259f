"""Named arrays as safetensors: numbers and shapes, and no code."""

import struct
from collections.abc import Mapping

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from ocbnn.errors import StorageError

KINDS = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
_MOST_HEADER = 4 * 2**20
_MOST_AXES = 32


def encode_arrays(arrays: Mapping[str, object]) -> bytes:
    """Arrays as the bytes of a safetensors file.

    Raises
    ------
    StorageError
        When one is not an array of plain numbers.
    """
    data = save({name: _as_plain(name, array) for name, array in arrays.items()})
    if _header_size(data) > _MOST_HEADER:
        raise StorageError(
            f"{len(arrays)} arrays are too many for one file. Stack those of one shape."
        )
    return data


def decode_arrays(data: bytes, place: str) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file.

    Raises
    ------
    StorageError
        When the file is not one that `encode_arrays` could have written.
    """
    # Check the header's size first, because it determines how much is read.
    if len(data) < 8 or not 2 <= _header_size(data) <= min(_MOST_HEADER, len(data) - 8):
        raise StorageError(
            f"{place} is not a safetensors file: its header has the wrong size. {_MEND}"
        )
    try:
        arrays = load(data)
    except SafetensorError as error:
        raise StorageError(
            f"{place} is not a valid safetensors file: {error}. {_MEND}"
        ) from None
    except KeyError as error:
        raise StorageError(
            f"{place} has an array of type {error}, but only {', '.join(KINDS)} are "
            f"read. {_MEND}"
        ) from None
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise StorageError(
            f"{place} has an array of an impossible shape: {error}. {_MEND}"
        ) from None
    for name, array in arrays.items():
        _check(name, array, place)
    return arrays


_MEND = "Take the file from a backup, or save again."


def _header_size(data: bytes) -> int:
    return struct.unpack("<Q", data[:8])[0]


def _as_plain(name: object, value: object) -> np.ndarray:
    if type(name) is not str or not name or name == "__metadata__":
        raise StorageError(
            f"names of arrays are non-empty text, got {name!r}. Rename it."
        )
    array = np.asarray(value)
    _check(name, array, "the bundle")
    # Files hold C order and little-endian bytes, as does this copy on most machines.
    return np.array(array, array.dtype.newbyteorder("="), order="C", copy=None)


def _check(name: str, array: np.ndarray, place: str) -> None:
    if array.dtype.name not in KINDS:
        raise StorageError(
            f"array {name!r} of {place} is of type {array.dtype.name}, but only "
            f"{', '.join(KINDS)} are kept. Convert it; text belongs in the document."
        )
    if array.ndim > _MOST_AXES:
        raise StorageError(
            f"array {name!r} of {place} has {array.ndim} axes; at most {_MOST_AXES} "
            "are kept."
        )
