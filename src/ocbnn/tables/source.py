"""Where a table's text comes from: which kind of file it is, and its column names.

Nothing is guessed from the rows. The first line names the columns and shows what stands
between them, so a line with too many or too few fields is found and named.
"""

import csv
import dataclasses
import gzip
import zlib
from collections import Counter
from pathlib import Path
from typing import NoReturn

from ocbnn.core.words import listing, shorten
from ocbnn.errors import DataError
from ocbnn.tables.database import Database, blaming
from ocbnn.tables.decompression import check_cells, check_text

ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".parquet")
_DELIMITERS = (",", ";", "\t", "|")
_MOST_HEADER, _MOST_NAME = 10_000_000, 1000


@dataclasses.dataclass(frozen=True)
class Source:
    """A file of rows: what to select from, and the columns it has.

    Attributes
    ----------
    names
        Column names, as people wrote them.
    query
        SQL that gives the rows, its columns in the same order.
    values
        What the query's parameters stand for.
    """

    names: tuple[str, ...]
    query: str
    values: dict[str, object]


def check_file(path: Path) -> None:
    """Look at a file's name and its size.

    Raises
    ------
    DataError
        When there is no such file, or its name is not that of a table.
    """
    try:
        is_there = path.exists()
    except OSError as error:  # A name that is too long, say.
        shown = shorten(str(path))
        raise DataError(f"{shown}: this is no file ({error.strerror}).") from None
    if not is_there:
        near = f" Files there: {listing(_beside(path))}." if _beside(path) else ""
        raise DataError(f"{path}: there is no such file.{near}")
    if path.is_dir():
        raise DataError(f"{path}: this is a folder. Name a CSV or Parquet file.")
    if not path.name.lower().endswith(ENDINGS):
        raise DataError(
            f"{path}: a table's file name ends in {listing(ENDINGS)}. Rename it, or "
            "save it as CSV."
        )
    if not path.is_file():
        raise DataError(f"{path}: this is no plain file. Save the table as one.")
    if path.stat().st_size == 0:
        raise DataError(f"{path}: this file is empty.")


def find_source(base: Database, path: Path, most: int, *, quoting: bool) -> Source:
    """Look at a file's first line.

    Parameters
    ----------
    base
        What reads the file.
    path
        The file, checked by `check_file`.
    most
        How many columns there may be.
    quoting
        Whether errors may quote the first line.

    Raises
    ------
    DataError
        When it has no usable column names.
    """
    if path.name.lower().endswith(".parquet"):
        query = "SELECT * FROM read_parquet($file, hive_partitioning=false)"
        values: dict[str, object] = {"file": base.names[path]}
        with blaming(path, base.names[path]):
            rows = base.connection.execute(f"DESCRIBE {query}", values).fetchall()
            names = [row[0] for row in rows]
            check_cells(base.connection, path, base.names[path], len(names))
            words = [row[0] for row in rows if row[1] == "VARCHAR"]
            check_text(base.connection, path, base.names[path], words)
        return Source(_checked(names, path, most, quoting), query, values)
    first = _first_line(path)
    delimiter = _delimiter(first)
    fields = _fields(first, delimiter, path)
    names = _checked([name.strip() for name in fields], path, most, quoting)
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    query = (
        "SELECT * FROM read_csv($file, auto_detect=false, header=true, "
        "hive_partitioning=false, compression=$packing, delim=$delimiter, quote='\"', "
        f"escape='\"', columns={{{columns}}})"
    )
    packing = "gzip" if path.name.lower().endswith(".gz") else "none"
    values = {"file": base.names[path], "delimiter": delimiter, "packing": packing}
    return Source(names, query, values)


def delimiter_of(path: Path) -> str:
    """What stands between the columns of a CSV file; a comma for Parquet, too."""
    is_parquet = path.name.lower().endswith(".parquet")
    return "," if is_parquet else _delimiter(_first_line(path))


def _delimiter(first: str) -> str:
    return max(_DELIMITERS, key=first.count)


def _beside(path: Path) -> list[str]:
    folder = path.parent
    if not folder.is_dir():
        return []
    return sorted(one.name for one in folder.iterdir() if one.name.endswith(ENDINGS))


def _first_line(path: Path) -> str:
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opened(path, "rb") as file:
            start = file.readline(_MOST_HEADER)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: this is no gzip file ({error}).") from None
    except OSError as error:
        raise DataError(f"{path}: it cannot be read ({error.strerror}).") from None
    if len(start) == _MOST_HEADER and b"\r" not in start:
        raise DataError(
            f"{path}: the first line has more than {_MOST_HEADER:,} characters, and it "
            "names the columns. Write a line of names above it."
        )
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in start:
        raise DataError(f"{path}: this is no text in UTF-8. Save it as CSV in UTF-8.")
    try:
        text = start.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, line 1: this is no text in UTF-8 ({error.reason} at byte "
            f"{error.start + 1}). Save the table as CSV in UTF-8."
        ) from None
    # Old spreadsheets end lines with a carriage return alone.
    text = text.partition("\r")[0].strip("\n")
    if not text.strip():
        raise DataError(f"{path}: the first line is empty. It names the columns.")
    return text


def _fields(line: str, delimiter: str, path: Path) -> list[str]:
    try:
        (fields,) = csv.reader([line], delimiter=delimiter)
    except csv.Error:  # A cell that is longer than Python's own limit.
        _refuse_long(path)
    return fields


def _refuse_long(path: Path) -> NoReturn:
    raise DataError(
        f"{path}: a column's name has at most {_MOST_NAME:,} characters, and the first "
        "line, which names the columns, has a longer one. Shorten it; a quotation mark "
        "that is not closed also makes one of many."
    )


def _checked(
    fields: list[str], path: Path, most: int, quoting: bool
) -> tuple[str, ...]:
    if len(fields) > most:
        raise DataError(
            f"{path}: a table has at most {most:,} columns here, and this has "
            f"{len(fields):,}. Keep those that are needed, and save them as a table."
        )
    if max(map(len, fields), default=0) > _MOST_NAME:
        _refuse_long(path)
    names = tuple(name or f"unnamed_{i}" for i, name in enumerate(fields, start=1))
    if all(_is_number(name) for name in names):
        shown = f" ({listing(names, 4)})" if quoting else ""
        raise DataError(
            f"{path}: the first line holds numbers{shown}, but it names the columns. "
            "Write a line of names above it."
        )
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        shown = f"these come twice: {listing(twice)}"
        raise DataError(
            f"{path}: each column has a name of its own, but "
            f"{shown if quoting else f'{len(twice)} come twice'}. Rename them."
        )
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
