"""Tables in files: profiles of columns, rows in blocks, and added columns."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ocbnn.core.words import listing, shorten, suggest
from ocbnn.errors import DataError
from ocbnn.tables.database import blaming, database, literal, run
from ocbnn.tables.decompression import DecompressionWatch
from ocbnn.tables.profile import Kind, Profile
from ocbnn.tables.source import check_file, find_source

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Spellings of a missing value, besides an empty cell.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")
# Memory used while rows are read; the rest of a large table stays on disk.
MEMORY = "1GB"
# Wider tables take minutes to profile, and no network learns from so many inputs.
MOST_COLUMNS = 2000
_MOST_LEVELS = 50
# Beyond this many rows, counts and quantiles of columns are estimates.
_LARGE = 1_000_000
_TOGETHER = 50
_NUMERIC = re.compile(
    r"U?(TINY|SMALL|BIG|HUGE)?INT|U?INTEGER|DOUBLE|FLOAT|REAL|DECIMAL\(.*\)"
)


class Table:
    """Rows of a file. Made by `open_table`, and usable only inside its `with`."""

    def __init__(
        self,
        path: Path,
        connection: "DuckDBPyConnection",
        names: tuple[str, ...],
        *,
        own: bool,
        writing: Path | None,
    ) -> None:
        self.path, self.names, self._connection = path, names, connection
        self._own, self._writing = own, writing
        self._cells = {name: f"c{i}" for i, name in enumerate(names)}
        # DuckDB ignores the case of names, so it gets numbered columns.
        described = self._all("DESCRIBE rows")
        self._types = dict(zip(names, (row[1] for row in described), strict=True))
        self.rows: int = self._one("SELECT count(*) FROM rows")[0]

    def numbers(
        self, names: Sequence[str], start: int = 0, stop: int | None = None
    ) -> Float[np.ndarray, "rows columns"]:
        """Columns of numbers, with NaN for missing values.

        Raises
        ------
        DataError
            When a value is not a number; the error names the first one and its row.
        """
        if not names:
            return np.zeros((len(range(*slice(start, stop).indices(self.rows))), 0))
        masked = self._fetch([self._number(name) for name in names], start, stop)
        columns = [np.ma.filled(column.astype(float), np.nan) for column in masked]
        for name, column in zip(names, columns, strict=True):
            if np.isnan(column).any() or np.isinf(column).any():
                self.refuse_stray(name, start, stop)
        return np.stack(columns, axis=1)

    def texts(
        self, name: str, start: int = 0, stop: int | None = None
    ) -> list[str | None]:
        """A column as text, with None for missing values."""
        (texts,) = self._fetch([self._level(name)], start, stop)
        return [
            None if text is np.ma.masked or text is None else str(text)
            for text in texts
        ]

    def kind(self, name: str) -> Kind:
        """The kind of a column's values."""
        return _kind(*self._counts(name))

    def has_parts(self, name: str) -> bool:
        """Whether a column of a Parquet file holds lists or records."""
        kind = self._types[name]
        return kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION"))

    def missing(self, name: str) -> int:
        """The number of rows without a value."""
        return self.rows - self._counts(name)[0]

    def count_complete_rows(self, numbers: Sequence[str], texts: Sequence[str]) -> int:
        """The number of rows that have all of these numbers and texts."""
        cells = [*map(self._number, numbers), *map(self._text, texts)]
        present = " AND ".join(f"({cell}) IS NOT NULL" for cell in cells)
        return self._one(f"SELECT count(*) FROM rows WHERE {present}")[0]

    def profile(self, name: str) -> Profile:
        """The profile of a column; for a large table, parts of it are estimates."""
        value, number = self._value(name), self._number(name)
        is_large = self.rows > _LARGE
        distinct = f"count(DISTINCT {value})"
        middle = f"quantile_cont({number}, [0.25, 0.5, 0.75])"
        if is_large:  # Exact results would keep every value in memory.
            distinct = f"approx_count_distinct({value})"
            middle = f"approx_quantile({number}, [0.25, 0.5, 0.75])"
        # One statement: in a wide table, its overhead exceeds the cost of counting.
        present, numbers, distinct, whole, low, high, middle = self._one(
            f"SELECT count({value}), count({number}), {distinct}, "
            f"coalesce(bool_and({number} = floor({number})), false), min({number}), "
            f"max({number}), {middle} FROM rows"
        )
        kind, numeric = _kind(present, numbers), {}
        if low is not None:
            numeric = {"low": low, "high": high, "middle": tuple(middle)}
        if is_large and whole and high - low + 1 == self.rows < 1.1 * distinct:
            distinct = self.rows  # Most likely the rows are numbered.
        return Profile(
            name,
            kind,
            self.rows,
            self.rows - present,
            min(distinct, self.rows),
            whole=kind == "number" and whole,
            levels=self.levels(name, _MOST_LEVELS, among=_LARGE),
            stray=self._stray(name) if kind == "mixed" else None,
            **numeric,
        )

    def levels(self, name: str, most: int, among: int | None = None) -> tuple[str, ...]:
        """The most frequent values of a column as text, ties in alphabetical order.

        `among` limits the count to the first rows.
        """
        level, end = self._level(name), self.rows if among is None else among
        rows = self._all(
            f"SELECT {level} AS level, count(*) AS n FROM rows WHERE {level} IS NOT "
            f"NULL AND rowid < {int(end)} GROUP BY level ORDER BY n DESC, level LIMIT "
            f"{int(most)}"
        )
        return tuple(row[0] for row in rows)

    def require(self, names: Sequence[str], role: str) -> None:
        """Refuse names that no column has.

        Raises
        ------
        DataError
            When one is missing; the error names it and the existing columns.
        """
        missing = [name for name in names if name not in self._types]
        if missing:
            near = suggest(missing[0], self.names) if len(missing) == 1 else ""
            existing = self.shown(f"{near} Columns: {listing(self.names, 30)}.")
            raise DataError(
                f"{self.path}: there is no column {listing(map(repr, missing))}, which "
                f"{role}.{existing}"
            )

    def shown(self, text: str) -> str:
        """A quotation for errors; empty if the file is not in its home folder.

        A link, or a path in somebody else's study file, may lead to a file whose
        content must not be shown.
        """
        return text if self._own else ""

    def write(self, added: Iterator[Mapping[str, np.ndarray]], names: list[str]) -> int:
        """Write all columns and new ones to the file that the table was opened for.

        Parameters
        ----------
        added
            Blocks of rows of the new columns, in order.
        names
            The new columns' names, in order.

        Returns
        -------
        int
            The number of written rows.
        """
        path = self._writing
        assert path is not None, "open_table needs writing=path"
        existing = [name for name in names if name in self._types]
        if existing:
            raise DataError(
                f"{self.path}: the columns {listing(existing)} exist already. Rename "
                "or remove them."
            )
        written = 0
        for block in added:
            written = self._append(block, names, written)
        columns = [self._as_read(name, path) for name in self.names]
        columns += [f"a{i} AS {_quoted(name)}" for i, name in enumerate(names)]
        options = (
            "FORMAT parquet" if path.suffix == ".parquet" else "FORMAT csv, HEADER"
        )
        options += ", USE_TMP_FILE false"  # No other file may be written.
        run(
            self._connection,
            f"COPY (SELECT {', '.join(columns)} FROM rows JOIN added ON rows.rowid = "
            f"added.place ORDER BY rows.rowid) TO {literal(str(path))} ({options})",
        )
        return written

    def _append(
        self, block: Mapping[str, np.ndarray], names: list[str], start: int
    ) -> int:
        count = len(block[names[0]])
        is_number = [np.issubdtype(block[name].dtype, np.floating) for name in names]
        if not start:
            kinds = ["DOUBLE" if number else "VARCHAR" for number in is_number]
            columns = ", ".join(f"a{i} {kind}" for i, kind in enumerate(kinds))
            self._all(f"CREATE TABLE added (place BIGINT, {columns})")
        numbered = {f"a{i}": block[name] for i, name in enumerate(names)}
        numbered["place"] = np.arange(start, start + count)
        self._connection.register("block", numbered)
        # DuckDB would write NaN as a word; an empty cell is clearer.
        cells = [
            f"nullif(a{i}, 'nan'::DOUBLE)" if number else f"a{i}"
            for i, number in enumerate(is_number)
        ]
        self._all(f"INSERT INTO added SELECT place, {', '.join(cells)} FROM block")
        self._connection.unregister("block")
        return start + count

    # SQL expressions of columns.

    def _cell(self, name: str) -> str:
        return self._cells[name]

    def _is_numeric(self, name: str) -> bool:
        return _NUMERIC.fullmatch(self._types[name]) is not None

    def _text(self, name: str) -> str:
        plain = f"trim(CAST({self._cell(name)} AS VARCHAR))"
        words = ", ".join(literal(word) for word in MISSING)
        return f"CASE WHEN {plain} IN ({words}) THEN NULL ELSE {plain} END"

    def _value(self, name: str) -> str:
        # Comparing numbers as text would take far longer.
        return self._number(name) if self._is_numeric(name) else self._text(name)

    def _number(self, name: str) -> str:
        # Of the spellings of a missing value, only NaN is a number. Searching for each
        # would take minutes, and all memory, in tables of hundreds of columns.
        cell = self._cell(name)
        cell = cell if self._is_numeric(name) else f"trim(CAST({cell} AS VARCHAR))"
        return f"nullif(TRY_CAST({cell} AS DOUBLE), 'nan'::DOUBLE)"

    def _level(self, name: str) -> str:
        # 1, 1.0 and 01 are one level of a column of codes, in CSV and in Parquet.
        number, text = self._number(name), self._text(name)
        is_integer = f"{number} = floor({number}) AND abs({number}) < 1e15"
        return (
            f"CASE WHEN {is_integer} THEN CAST(CAST({number} AS BIGINT) AS VARCHAR) "
            f"ELSE {text} END"
        )

    def _as_read(self, name: str, path: Path) -> str:
        cell = self._cell(name)
        if path.suffix == ".parquet" and not self._is_numeric(name):
            cell = self._number(name) if self.kind(name) == "number" else cell
        return f"{cell} AS {_quoted(name)}"

    # Queries.

    def _fetch(
        self, expressions: list[str], start: int, stop: int | None
    ) -> list[np.ma.MaskedArray]:
        end = self.rows if stop is None else min(stop, self.rows)
        columns: list[np.ma.MaskedArray] = []
        # DuckDB's work on a statement grows with the square of its columns.
        for first in range(0, len(expressions), _TOGETHER):
            selected = expressions[first : first + _TOGETHER]
            aliased = ", ".join(f"{text} AS v{i}" for i, text in enumerate(selected))
            block = self._connection.execute(
                f"SELECT {aliased} FROM rows WHERE rowid >= {int(start)} AND rowid < "
                f"{int(end)} ORDER BY rowid"
            ).fetchnumpy()
            columns += [np.ma.asarray(block[f"v{i}"]) for i in range(len(selected))]
        return columns

    def _all(self, query: str) -> list[tuple[Any, ...]]:
        # All rows: a result that is not read to its end blocks the next query.
        return self._connection.execute(query).fetchall()

    def _one(self, query: str) -> tuple[Any, ...]:
        return next(iter(self._all(query)), ())

    def _counts(self, name: str) -> tuple[int, int]:
        """The number of values, and how many of them are numbers."""
        value, number = self._value(name), self._number(name)
        present, numbers = self._one(
            f"SELECT count({value}), count({number}) FROM rows"
        )
        return present, numbers

    def _stray(
        self, name: str, start: int = 0, stop: int | None = None
    ) -> tuple[str, int] | None:
        text, number = self._text(name), self._number(name)
        end = self.rows if stop is None else stop
        row = self._one(
            f"SELECT {text}, rowid + 1 FROM rows WHERE {text} IS NOT NULL AND "
            f"({number} IS NULL OR isinf({number})) AND rowid >= {int(start)} AND "
            f"rowid < {int(end)} ORDER BY rowid LIMIT 1"
        )
        return (row[0], row[1]) if row else None

    def refuse_stray(self, name: str, start: int = 0, stop: int | None = None) -> None:
        """Refuse a column with a value that is not a finite number.

        Raises
        ------
        DataError
            When there is one; the error names the first value and its row.
        """
        stray = self._stray(name, start, stop)
        if stray is None:
            return
        text, row = stray
        hint = "Write numbers with a decimal point, or leave the cell empty."
        if "," not in text:
            hint = "Write a number, or leave the cell empty."
        raise DataError(
            f"{self.path}, row {row}, column {name!r}: "
            f"{self.shown(shorten(repr(text), 40)) or 'this'} is not a finite number. "
            f"{hint}"
        )


@contextmanager
def open_table(
    path: str | Path,
    memory: str = MEMORY,
    *,
    home: Path | None = None,
    writing: Path | None = None,
    most_columns: int = MOST_COLUMNS,
) -> Iterator[Table]:
    """Read a CSV or Parquet file into a temporary database.

    Parameters
    ----------
    path
        The file.
    memory
        Memory that DuckDB may use.
    home
        The folder whose files are the user's own; by default, that of `path`.
        Errors quote nothing from files elsewhere, to which links may lead.
    writing
        The file that `Table.write` may write.
    most_columns
        A wider table is refused before its rows are read.

    Raises
    ------
    DataError
        When the file is missing, empty, or not a table.
    """
    path = Path(path)
    check_file(path)
    # DuckDB expands a leading `~`, and reads `file:` as an address.
    writing = None if writing is None else writing.absolute()
    own = path.resolve().is_relative_to((home or path.parent).resolve())
    with database(memory, reading=[path], writing=writing, in_order=True) as base:
        source = find_source(base, path, most_columns, quoting=own)
        cells = ", ".join(f"c{i}" for i in range(len(source.names)))
        watch = DecompressionWatch(path, base.folder)
        with blaming(path, base.names[path]):
            run(
                base.connection,
                f"CREATE TABLE rows AS SELECT * FROM ({source.query}) AS file({cells})",
                source.values,
                watch.look,
            )
        watch.finish()
        table = Table(path, base.connection, source.names, own=own, writing=writing)
        if table.rows == 0:
            raise DataError(f"{path}: it names columns, but has no rows.")
        yield table


def _kind(present: int, numbers: int) -> Kind:
    kind = "number" if numbers == present else "mixed"
    return "empty" if present == 0 else "text" if numbers < present / 2 else kind


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
