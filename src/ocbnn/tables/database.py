"""A DuckDB database that lives for one job: bounded memory, errors as sentences."""

import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocbnn.core.errors import DataError, SettingError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@contextmanager
def database(
    memory: str,
    *,
    beside: Path | None = None,
    reading: Iterable[Path] = (),
    in_order: bool = False,
) -> Iterator["DuckDBPyConnection"]:
    """A database in a folder of its own, gone afterwards.

    What does not fit into `memory` is spilled to disk: into `beside`, or where the
    system keeps temporary files. `reading` are the files that errors may speak of.
    `in_order` keeps rows in the order of their file, which takes more memory.

    Raises:
        SettingError: When `memory` is no amount of memory.
        DataError: When DuckDB cannot do the work.
    """
    import duckdb  # noqa: PLC0415 (loaded only where tables are read)

    with tempfile.TemporaryDirectory(prefix=".ocbnn-", dir=beside) as scratch:
        try:
            connection = duckdb.connect(
                f"{scratch}/work.duckdb",
                config={
                    "memory_limit": memory,
                    "temp_directory": f"{scratch}/spill",
                    "preserve_insertion_order": in_order,
                },
            )
        except duckdb.Error as error:
            raise SettingError(
                f"memory={memory!r} is no amount of memory: write 2GB or 800MB, say."
            ) from error
        with connection:
            # DuckDB may write a bar of its own to stdout, among our results.
            connection.execute("SET enable_progress_bar = false")
            try:
                yield connection
            except duckdb.OutOfMemoryException as error:
                raise DataError(
                    f"{memory} of memory are not enough: allow 4GB, say, or free some "
                    f"disk for what is spilled. DuckDB says: {_gist(error)}"
                ) from error
            except duckdb.Error as error:
                raise DataError(_blamed(error, reading)) from error


def run(
    connection: "DuckDBPyConnection", text: str, values: dict[str, Any] | None = None
) -> None:
    """Run statements so that Ctrl-C ends them at once.

    DuckDB itself hears of Ctrl-C only when the statement is over, which may be many
    minutes. So it works in a thread, while the main one listens.
    """
    with ThreadPoolExecutor(max_workers=1) as worker:
        job = worker.submit(connection.execute, text, values)
        try:
            job.result()
        except KeyboardInterrupt:
            connection.interrupt()
            raise


def _blamed(error: Exception, files: Iterable[Path]) -> str:
    for path in files:
        if str(path) in str(error):
            hint = (
                "It is no text in UTF-8: save it so."
                if "not utf-8 encoded" in str(error)
                else "A CSV file has one line of column names, and as many fields on "
                "every other line."
            )
            return (
                f"{path}: this is no readable table. {hint} DuckDB says: {_gist(error)}"
            )
    return f"DuckDB could not finish: {_gist(error)}"


def _gist(error: Exception) -> str:
    """What went wrong, without the settings and advice that follow it."""
    said = str(error).partition("\n\n")[0].partition("\nPossible")[0]
    return "; ".join(line.strip() for line in said.splitlines() if line.strip())[:300]
