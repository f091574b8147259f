"""The source of a table: the kind of its file, and its column names.

Nothing is guessed from the rows. The first line names the columns and shows their
separator, so lines with too many or too few fields are found and reported.
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
    """A file of rows: its columns and the SQL that reads it.

    Attributes
    ----------
    names
        Column names, as written in the file.
    query
        SQL that gives the rows, its columns in the same order.
    values
        The values of the query's parameters.
    """

    names: tuple[str, ...]
    query: str
    values: dict[str, object]


def check_file(path: Path) -> None:
    """Check a file's name and size.

    Raises
    ------
    DataError
        When there is no such file, or its name is not that of a table.
    """
    try:
        is_there = path.exists()
    except OSError as error:  # For example, a name that is too long.
        shown = shorten(str(path))
        raise DataError(f"{shown}: this is not a file ({error.strerror}).") from None
    if not is_there:
        near = (
            f" Files there: {listing(_tables_beside(path))}."
            if _tables_beside(path)
            else ""
        )
        raise DataError(f"{path}: there is no such file.{near}")
    if path.is_dir():
        raise DataError(f"{path}: this is a folder. Name a CSV or Parquet file.")
    if not path.name.lower().endswith(ENDINGS):
        raise DataError(
            f"{path}: a table's file name ends in {listing(ENDINGS)}. Rename it, or "
            "save it as CSV."
        )
    if not path.is_file():
        raise DataError(f"{path}: this is not a plain file. Save the table as one.")
    if path.stat().st_size == 0:
        raise DataError(f"{path}: this file is empty.")


def find_source(base: Database, path: Path, most: int, *, quoting: bool) -> Source:
    """Read the column names of a file.

    Parameters
    ----------
    base
        The database that reads the file.
    path
        The file, checked by `check_file`.
    most
        Largest number of columns.
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
            texts = [row[0] for row in rows if row[1] == "VARCHAR"]
            check_text(base.connection, path, base.names[path], texts)
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
    """The separator of a CSV file; a comma for Parquet, too."""
    is_parquet = path.name.lower().endswith(".parquet")
    return "," if is_parquet else _delimiter(_first_line(path))


def _delimiter(first: str) -> str:
    return max(_DELIMITERS, key=first.count)


def _tables_beside(path: Path) -> list[str]:
    folder = path.parent
    if not folder.is_dir():
        return []
    return sorted(p.name for p in folder.iterdir() if p.name.endswith(ENDINGS))


def _first_line(path: Path) -> str:
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opened(path, "rb") as file:
            start = file.readline(_MOST_HEADER)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: this is not a gzip file ({error}).") from None
    except OSError as error:
        raise DataError(f"{path}: it cannot be read ({error.strerror}).") from None
    if len(start) == _MOST_HEADER and b"\r" not in start:
        raise DataError(
            f"{path}: the first line must name the columns, but it has more than "
            f"{_MOST_HEADER:,} characters. Write a line of names above it."
        )
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in start:
        raise DataError(f"{path}: this is not UTF-8 text. Save it as CSV in UTF-8.")
    try:
        text = start.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, line 1: this is not UTF-8 text ({error.reason} at byte "
            f"{error.start + 1}). Save the table as CSV in UTF-8."
        ) from None
    # Old spreadsheets end lines with a carriage return alone.
    text = text.partition("\r")[0].strip("\n")
    if not text.strip():
        raise DataError(f"{path}: the first line is empty. Write the column names.")
    return text


def _fields(line: str, delimiter: str, path: Path) -> list[str]:
    try:
        (fields,) = csv.reader([line], delimiter=delimiter)
    except csv.Error:  # A cell that is longer than Python's own limit.
        _refuse_long(path)
    return fields


def _refuse_long(path: Path) -> NoReturn:
    raise DataError(
        f"{path}: a column's name has at most {_MOST_NAME:,} characters, but the first "
        "line has a longer one. Shorten it, or close a quotation mark that is open."
    )


def _checked(
    fields: list[str], path: Path, most: int, quoting: bool
) -> tuple[str, ...]:
    if len(fields) > most:
        raise DataError(
            f"{path}: a table has at most {most:,} columns here, but this one has "
            f"{len(fields):,}. Save a table with only the columns you need."
        )
    if max(map(len, fields), default=0) > _MOST_NAME:
        _refuse_long(path)
    names = tuple(name or f"unnamed_{i}" for i, name in enumerate(fields, start=1))
    if all(_is_number(name) for name in names):
        shown = f" ({listing(names, 4)})" if quoting else ""
        raise DataError(
            f"{path}: the first line must name the columns, but it holds numbers"
            f"{shown}. Write a line of names above it."
        )
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        shown = f"these are repeated: {listing(repeated)}"
        raise DataError(
            f"{path}: each column needs its own name, but "
            f"{shown if quoting else f'{len(repeated)} are repeated'}. Rename them."
        )
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
