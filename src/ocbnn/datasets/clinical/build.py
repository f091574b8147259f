"""From a MIMIC-III folder to the table of windows."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ocbnn.core.errors import DataError, SettingError
from ocbnn.datasets.clinical.report import Report
from ocbnn.datasets.clinical.table import FEATURES, ClinicalTable
from ocbnn.datasets.clinical.tables import find_tables, open_tables
from ocbnn.datasets.shipped import shipped

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_HERE = Path(__file__).parent
_STEPS = {
    "stays": "finding stays",
    "measurements": "reading measurements (the long step on the full database)",
    "window_values": "summing up windows",
    "treated": "reading treatments",
    "windows": "joining",
    "report": "counting",
}
_ROWS = "SELECT * FROM windows ORDER BY icustay_id, window_index"


def clinical_windows(
    mimic: Path | None = None,
    *,
    out: Path | None = None,
    memory: str = "2GB",
    say: Callable[[str], object] = lambda line: None,
) -> ClinicalTable:
    """One row per ICU stay and window of four hours, read from MIMIC-III.

    Args:
        mimic: Folder with the tables of MIMIC-III v1.4, each as TABLE.csv, TABLE.csv.gz
            or TABLE.parquet. None is the demo of 100 patients that comes with ocbnn.
        out: Where to write the table as Parquet, if anywhere.
        memory: What DuckDB may use; the rest is spilled to disk, beside `out` or in the
            system's folder for temporary files.
        say: Told in a few words which step begins.

    Raises:
        DataError: When a table or column is missing or unreadable, or no row is left.
    """
    tables = find_tables(shipped("mimic3_demo") if mimic is None else mimic)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
    with _database(out, memory) as connection:
        _run(connection, "macros")
        open_tables(connection, tables, _lists(connection))
        for step, words in _STEPS.items():
            say(words)
            _run(connection, step)
        counts = connection.execute("SELECT topic, name, n FROM report").fetchall()
        report = Report.of(counts, FEATURES)
        if not report.windows["kept"]:
            raise DataError(f"no window is left to learn from:\n\n{report}")
        if out is not None:
            _write(connection, out, report)
        return ClinicalTable.of(connection.execute(_ROWS).fetchnumpy(), report)


def _write(connection: "DuckDBPyConnection", out: Path, report: Report) -> None:
    # Under another name first, so that no half-written table is ever found.
    unfinished = out.with_name(f".{out.name}.unfinished")
    note = json.dumps(asdict(report)).replace("'", "''")
    target = str(unfinished).replace("'", "''")
    try:
        connection.execute(
            f"COPY ({_ROWS}) TO '{target}' "
            f"(FORMAT parquet, KV_METADATA {{report: '{note}'}})"
        )
        os.replace(unfinished, out)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def _database(out: Path | None, memory: str) -> Iterator["DuckDBPyConnection"]:
    try:
        import duckdb  # noqa: PLC0415 (only this study needs it)
    except ModuleNotFoundError as error:
        raise DataError(
            "reading MIMIC-III needs DuckDB, which is not installed. Install it with "
            "`pip install 'ocbnn[studies]'`."
        ) from error
    beside = None if out is None else out.parent
    with tempfile.TemporaryDirectory(prefix=".ocbnn-", dir=beside) as scratch:
        settings = {
            "memory_limit": memory,
            "temp_directory": f"{scratch}/spill",
            "preserve_insertion_order": False,
        }
        try:
            connection = duckdb.connect(f"{scratch}/work.duckdb", config=settings)
        except duckdb.Error as error:
            raise SettingError(
                f"memory={memory!r} is no amount of memory: write 2GB or 800MB."
            ) from error
        with connection:
            try:
                yield connection
            except duckdb.OutOfMemoryException as error:
                raise DataError(
                    f"DuckDB ran out of its {memory}: allow it more, such as 4GB. "
                    f"({_first_line(error)})"
                ) from error
            except duckdb.Error as error:
                raise DataError(
                    f"DuckDB could not read the tables: {_first_line(error)}"
                ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def _lists(connection: "DuckDBPyConnection") -> set[int]:
    for name in ("features", "items", "treatments"):
        path = str(_HERE / f"{name}.csv").replace("'", "''")
        connection.execute(f"CREATE TABLE {name} AS FROM read_csv('{path}')")
    found = connection.execute(
        "SELECT itemid FROM items UNION SELECT itemid FROM treatments"
    ).fetchall()
    return {row[0] for row in found}


def _run(connection: "DuckDBPyConnection", step: str) -> None:
    connection.execute((_HERE / f"{step}.sql").read_text(encoding="utf-8"))
