"""A DuckDB database for one job, with bounded memory and errors as sentences.

It can access only the files that it was opened for: no other file, no network, no
extension, and no way to change that.
"""

import dataclasses
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocbnn.errors import DataError, SettingError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TICK = 0.05
_CSV = re.compile(r"CSV Error on Line: (\d+)")
_FIELDS = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")


@dataclasses.dataclass(frozen=True)
class Database:
    """A connection, and its names of the files that it may read.

    Attributes
    ----------
    connection
        The connection.
    folder
        The folder of its working files.
    names
        A link for each file. DuckDB reads names as patterns, partitions and
        addresses (`[ab].csv` would match `a.csv`), so the links have plain names.
    """

    connection: "DuckDBPyConnection"
    folder: Path
    names: dict[Path, str]


@contextmanager
def database(
    memory: str,
    *,
    beside: Path | None = None,
    reading: Iterable[Path] = (),
    writing: Path | None = None,
    in_order: bool = False,
) -> Iterator[Database]:
    """Open a database in a temporary folder.

    What does not fit into `memory` is spilled to disk: into `beside`, or into the
    system's temporary folder. `reading` are the files that it may read and that errors
    may name, `writing` the one that it may write. `in_order` keeps rows in the order of
    their file, which takes more memory.

    Raises
    ------
    SettingError
        When `memory` is not an amount of memory.
    DataError
        When DuckDB cannot do the work.
    """
    import duckdb  # noqa: PLC0415 (loaded only where tables are read)

    with (
        tempfile.TemporaryDirectory(prefix=".ocbnn-", dir=beside) as scratch,
        tempfile.TemporaryDirectory(prefix="ocbnn-") as links,
    ):
        names = {path: _linked(path, Path(links), i) for i, path in enumerate(reading)}
        try:
            connection = duckdb.connect(
                f"{scratch}/work.duckdb",
                config={
                    "memory_limit": memory,
                    "temp_directory": f"{scratch}/spill",
                    "preserve_insertion_order": in_order,
                    "autoinstall_known_extensions": False,
                    "autoload_known_extensions": False,
                },
            )
        except duckdb.Error as error:
            raise SettingError(
                f"memory={memory!r} is not an amount of memory. Write 2GB, for example."
            ) from error
        with connection:
            # DuckDB may write a progress bar to stdout, among our results.
            connection.execute("SET enable_progress_bar = false")
            _confine(connection, [*names.values(), *([str(writing)] * bool(writing))])
            try:
                yield Database(connection, Path(scratch), names)
            except duckdb.OutOfMemoryException as error:
                raise DataError(
                    f"{memory} of memory are not enough: allow 4GB, for example, or "
                    f"free disk space for spilling. DuckDB says: {_reason(error)}"
                ) from error
            except duckdb.Error as error:
                raise DataError(_sentence(error, names)) from None


def run(
    connection: "DuckDBPyConnection",
    text: str,
    values: dict[str, Any] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Run statements so that Ctrl-C ends them at once.

    DuckDB reacts to Ctrl-C only after the statement, which may take many minutes. So
    it runs in a thread, while the main thread calls `meanwhile` repeatedly; an error
    raised there ends the statements, too.
    """
    with ThreadPoolExecutor(max_workers=1) as worker:
        job = worker.submit(connection.execute, text, values)
        try:
            while meanwhile is not None and not job.done():
                meanwhile()
                wait([job], _TICK)
            job.result()
        except BaseException:
            _end(connection, job)
            raise


def _end(connection: "DuckDBPyConnection", job: "Future[Any]") -> None:
    # Repeated, because a statement that has not started ignores an interrupt.
    while not job.done():
        connection.interrupt()
        time.sleep(_TICK)


def _linked(path: Path, folder: Path, number: int) -> str:
    endings = (
        "".join(ending for ending in (".parquet", ".gz") if _ends(path, ending))
        or ".csv"
    )
    link = folder / f"{number}{endings}"
    link.symlink_to(path.resolve())
    return str(link)


def _ends(path: Path, ending: str) -> bool:
    return path.name.lower().endswith(ending)


def _confine(connection: "DuckDBPyConnection", files: list[str]) -> None:
    """Restrict a connection to these files permanently."""
    paths = ", ".join(literal(file) for file in files)
    connection.execute("SET python_enable_replacements = false")
    connection.execute(f"SET allowed_paths = [{paths}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def literal(text: object) -> str:
    """A string literal in SQL.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + str(text).replace("'", "''") + "'"


@contextmanager
def blaming(path: Path, name: str) -> Iterator[None]:
    """Report DuckDB's errors in this context as errors of the file.

    Raises
    ------
    DataError
        Without quoting the file's content.
    """
    import duckdb  # noqa: PLC0415 (loaded only where tables are read)

    try:
        yield
    except duckdb.OutOfMemoryException:
        raise  # This is not the file's fault.
    except duckdb.Error as error:
        raise DataError(_blamed(error, path, name)) from None


def _blamed(error: Exception, path: Path, name: str) -> str:
    if csv := _CSV.search(str(error)):
        return (
            f"{path}, line {csv[1]}: this is not a readable table. {_hint(str(error))}"
        )
    if "reached an invalid state" in str(error):
        return (
            f"{path}: its line ends are mixed, some CR LF and some not. Save it with "
            "one kind."
        )
    reason = _reason(error).replace(name, path.name)
    return f"{path}: this is not a readable table. DuckDB says: {reason}"


def _sentence(error: Exception, names: dict[Path, str]) -> str:
    for path, name in names.items():
        if name in str(error):
            return _blamed(error, path, name)
    return f"DuckDB could not finish: {_reason(error)}"


def _hint(text: str) -> str:
    if "not utf-8 encoded" in text:
        return "It is not UTF-8 text: save it as UTF-8."
    # The last match is DuckDB's own; earlier ones may be in the line that it quotes.
    if counts := _FIELDS.findall(text):
        expected, count = counts[-1]
        return (
            f"The first line names {expected} column{'s' * (expected != '1')}, and "
            f"this one has {count} field{'s' * (count != '1')}: write {expected} on "
            "every line."
        )
    if "unterminated quote" in text:
        return (
            "A quotation mark is not closed, or text follows the closing "
            "one: write it twice if it is part of a value."
        )
    if "Maximum line size" in text:
        return "The line is longer than two million characters."
    return (
        "A CSV file has one line of column names, and as many fields on every other "
        "line."
    )


def _reason(error: Exception) -> str:
    """DuckDB's error, without the settings and advice that follow it."""
    first = str(error).partition("\n\n")[0].partition("\nPossible")[0]
    return "; ".join(line.strip() for line in first.splitlines() if line.strip())[:300]
