"""Protection against small files that unpack to more than a machine can hold.

A gzip file can hold a thousand times its size, and a Parquet file any number of equal
rows. So the growth of a table is limited; users can raise the limit.
"""

import itertools
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ocbnn.errors import DataError, SettingError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

VARIABLE = "OCBNN_UNPACK"
# How many times its size a file may unpack to; tables of numbers need about three.
_RATIO = 100
# No limit applies below these sizes.
_FREE_BYTES, _FREE_CELLS, _FREE_SPACE = 50_000_000, 10_000_000, 2_000_000_000
# Text is stored row by row, even if it is repeated.
_FREE_TEXT = 500_000_000
_CHUNK, _TURNS = 2**18, 32
# No gzip file unpacks to more than 1032 times its size.
_ENOUGH_FOR_GZIP = 1100
_GZIP = 31  # zlib's code for gzip files


def most_unpacked() -> int:
    """How many times its size a file may unpack to.

    Raises
    ------
    SettingError
        When the environment variable is not such a number.
    """
    text = os.environ.get(VARIABLE, str(_RATIO))
    if not (text.isascii() and text.isdigit() and 0 < len(text) <= 9 and int(text)):
        raise SettingError(
            f"{VARIABLE}={text[:40]!r}: this is how many times its size a packed table "
            f"may unpack to. Write {VARIABLE}=1000, for example."
        )
    return int(text)


class DecompressionWatch:
    """Checks a table while it is read, and once more afterwards.

    Both methods raise DataError when a compressed file unpacks to too much, or its rows
    fill the disk.
    """

    def __init__(self, path: Path, scratch: Path) -> None:
        self._path, self._scratch, self._ratio = path, scratch, most_unpacked()
        is_packed = path.name.lower().endswith(".gz")
        self._counter = _unpacked(path, self._ratio) if is_packed else iter(())

    def look(self) -> None:
        """Check for some tenths of a second."""
        next(self._counter, None)
        size = _size(self._path)
        most = max(_FREE_SPACE, self._ratio * size)
        if _disk_usage(self._scratch) > most:
            raise DataError(
                f"{self._path}: reading its {_bytes(size)} takes more than "
                f"{_bytes(most)} of disk. {_advice(self._ratio, 10 * most / size)}"
            )

    def finish(self) -> None:
        """Check the rest of the file."""
        for _ in self._counter:
            pass


def check_cells(
    connection: "DuckDBPyConnection", path: Path, name: str, columns: int
) -> None:
    """Refuse a Parquet file that claims far more rows than its size explains.

    Raises
    ------
    DataError
        When there are too many.
    """
    counts = connection.execute(
        "SELECT sum(num_rows) FROM parquet_file_metadata($file)", {"file": name}
    ).fetchone()
    rows, size, ratio = (
        int(counts[0] or 0) if counts else 0,
        _size(path),
        most_unpacked(),
    )
    if rows * columns > max(_FREE_CELLS, ratio * size):
        raise DataError(
            f"{path}: its {_bytes(size)} hold {rows:,} rows of {columns} columns, more "
            f"than {ratio} values per byte, unlike any table of measurements. "
            f"{_advice(ratio, rows * columns / size)}"
        )


def check_text(
    connection: "DuckDBPyConnection", path: Path, name: str, columns: list[str]
) -> None:
    """Refuse a Parquet file that holds far more text than its size explains.

    Raises
    ------
    DataError
        When there is too much.
    """
    extremes = connection.execute(
        "SELECT max(num_values * total_uncompressed_size), sum(total_uncompressed_size)"
        " FROM parquet_metadata($file) WHERE type LIKE '%BYTE_ARRAY'",
        {"file": name},
    ).fetchone()
    size, ratio = _size(path), most_unpacked()
    highest, length = ((extreme or 0) for extreme in extremes or (0, 0))
    most = max(_FREE_TEXT, ratio * size)
    # Repeated text is stored once, so the sizes in the metadata say little. Unless they
    # are extreme, characters are counted, which needs no memory.
    if highest > most and length <= 10 * most:
        quoted = [f'strlen("{c.replace(chr(34), chr(34) * 2)}")' for c in columns]
        total = " + ".join(f"coalesce(sum({name}), 0)" for name in quoted) or "0"
        sums = connection.execute(
            f"SELECT {total} FROM read_parquet($file, hive_partitioning=false)",
            {"file": name},
        ).fetchone()
        length = int(sums[0]) if sums else 0
    if length > most:
        raise DataError(
            f"{path}: its {_bytes(size)} hold {_bytes(length)} of text, more than "
            f"{_bytes(most)}, the limit for it. "
            # Other columns take space, too.
            f"{_advice(ratio, 1.2 * length / size)}"
        )


def _unpacked(path: Path, ratio: int) -> Iterator[None]:
    """Unpack a file step by step, and count its bytes without keeping them."""
    size, count = _size(path), 0
    most = max(_FREE_BYTES, ratio * size)
    with path.open("rb") as file:
        decompressor = zlib.decompressobj(_GZIP)
        for turn in itertools.count(1):
            packed = (
                decompressor.unconsumed_tail
                or decompressor.unused_data
                or file.read(_CHUNK)
            )
            if not packed:
                return
            if decompressor.eof:  # A file may be several gzip streams in sequence.
                decompressor = zlib.decompressobj(_GZIP)
            try:
                count += len(decompressor.decompress(packed, 16 * _CHUNK))
            except zlib.error:
                return  # DuckDB reads it, too, and reports the error.
            if count > most:
                raise DataError(
                    f"{path}: its {_bytes(size)} unpack to more than {_bytes(most)}, "
                    f"the limit for it ({ratio} times its size, or "
                    f"{_bytes(_FREE_BYTES)}). Unpack it yourself if you trust it, or "
                    f"set {VARIABLE}={_ENOUGH_FOR_GZIP}."
                )
            if turn % _TURNS == 0:
                yield


def _disk_usage(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            # DuckDB creates and deletes files meanwhile.
            try:
                total += (Path(root) / name).stat().st_size
            except OSError:
                continue
    return total


def _size(path: Path) -> int:
    return max(1, path.stat().st_size)


def _advice(ratio: int, needed: float) -> str:
    return f"If you trust it, set {VARIABLE}={max(10 * ratio, int(needed) + 1)}."


def _bytes(count: float) -> str:
    """A size with its unit.

    >>> _bytes(1300), _bytes(300_000), _bytes(50_000_000), _bytes(2e9)
    ('1.3 kB', '0.3 MB', '50 MB', '2 GB')
    """
    if count >= 1e9:
        return f"{count / 1e9:.3g} GB"
    return f"{count / 1e6:.3g} MB" if count >= 1e5 else f"{count / 1e3:.3g} kB"
