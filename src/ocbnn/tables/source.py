"""Where a table's text comes from: which kind of file it is, and its column names.

Nothing is guessed from the rows. The first line names the columns and shows what stands
between them, so a line with too many or too few fields is found and named.
"""

import csv
import dataclasses
import gzip
from pathlib import Path
from typing import TYPE_CHECKING

from ocbnn.core.errors import DataError
from ocbnn.core.words import listing

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".parquet")
_DELIMITERS = (",", ";", "\t", "|")
_MOST_HEADER = 10_000_000


@dataclasses.dataclass(frozen=True)
class Source:
    """A file of rows: what to select from, and the columns it has.

    Attributes:
        names: Column names, as people wrote them.
        query: SQL that gives the rows, its columns in the same order.
        values: What the query's parameters stand for.
    """

    names: tuple[str, ...]
    query: str
    values: dict[str, object]


def find_source(connection: "DuckDBPyConnection", path: Path) -> Source:
    """Look at a file's name and its first line.

    Raises:
        DataError: When there is no such file, or it has no usable column names.
    """
    if not path.exists():
        near = f" Files there: {listing(_beside(path))}." if _beside(path) else ""
        raise DataError(f"{path}: there is no such file.{near}")
    if path.is_dir():
        raise DataError(f"{path}: this is a folder. Name a CSV or Parquet file.")
    if not path.name.lower().endswith(ENDINGS):
        raise DataError(
            f"{path}: a table's file name ends in {listing(ENDINGS)}. Rename it, or "
            "save it as CSV."
        )
    if path.stat().st_size == 0:
        raise DataError(f"{path}: this file is empty.")
    if path.name.lower().endswith(".parquet"):
        return _parquet(connection, path)
    return _csv(path)


def _beside(path: Path) -> list[str]:
    folder = path.parent
    if not folder.is_dir():
        return []
    return sorted(one.name for one in folder.iterdir() if one.name.endswith(ENDINGS))


def _parquet(connection: "DuckDBPyConnection", path: Path) -> Source:
    query = "SELECT * FROM read_parquet($file)"
    values: dict[str, object] = {"file": str(path)}
    rows = connection.execute(f"DESCRIBE {query}", values).fetchall()
    return Source(_checked([row[0] for row in rows], path), query, values)


def _csv(path: Path) -> Source:
    first = _first_line(path)
    delimiter = max(_DELIMITERS, key=first.count)
    (fields,) = csv.reader([first], delimiter=delimiter)
    names = _checked([name.strip() for name in fields], path)
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    query = (
        "SELECT * FROM read_csv($file, auto_detect=false, header=true, "
        f"delim=$delimiter, quote='\"', escape='\"', columns={{{columns}}})"
    )
    return Source(names, query, {"file": str(path), "delimiter": delimiter})


def _first_line(path: Path) -> str:
    opened = gzip.open if path.name.endswith(".gz") else open
    try:
        with opened(path, "rb") as file:
            start = file.readline(_MOST_HEADER)
    except (gzip.BadGzipFile, EOFError) as error:
        raise DataError(f"{path}: this is no gzip file ({error}).") from None
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


def _checked(fields: list[str], path: Path) -> tuple[str, ...]:
    names = tuple(name or f"unnamed_{i}" for i, name in enumerate(fields, start=1))
    if all(_is_number(name) for name in names):
        raise DataError(
            f"{path}: the first line holds numbers ({listing(names, 4)}), but it names "
            "the columns. Write a line of names above it."
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(
            f"{path}: each column has a name of its own, but these come twice: "
            f"{listing(twice)}. Rename them."
        )
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
