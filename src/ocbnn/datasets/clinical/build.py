"""Builds the table of windows from a folder of MIMIC-III."""

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ocbnn.datasets.clinical.report import Report
from ocbnn.datasets.clinical.table import FEATURES, ClinicalTable
from ocbnn.datasets.clinical.tables import find_tables, open_tables
from ocbnn.datasets.shipped import shipped
from ocbnn.errors import DataError
from ocbnn.tables.database import Database, database, literal, run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_HERE = Path(__file__).parent
_LISTS = {name: _HERE / f"{name}.csv" for name in ("features", "items", "treatments")}
_STEPS = {
    "stays": "finding stays",
    "measurements": "reading measurements (minutes on the full database)",
    "clean": "cleaning",
    "window_values": "summarizing windows",
    "treated": "reading treatments",
    "windows": "joining",
    "report": "counting",
}
_BATCH = 2_000_000
_ROWS = "SELECT * FROM windows ORDER BY icustay_id, window_index"


def clinical_windows(
    mimic: Path | None = None,
    *,
    out: Path | None = None,
    memory: str = "2GB",
    say: Callable[[str], object] = lambda line: None,
) -> ClinicalTable:
    """One row per ICU stay and window of four hours, read from MIMIC-III.

    Parameters
    ----------
    mimic
        Folder with the tables of MIMIC-III v1.4, each as TABLE.csv, TABLE.csv.gz
        or TABLE.parquet. None is the demo of 100 patients that comes with ocbnn.
    out
        Parquet file to write; None to write nothing.
    memory
        Memory that DuckDB may use. The rest is spilled to disk: next to `out`, or
        into the system's temporary folder.
    say
        Called with a few words when a step begins.

    Raises
    ------
    DataError
        When a table or column is missing or unreadable, or no row is left.
    SettingError
        When `memory` is not an amount of memory.
    """
    files = find_tables(shipped("mimic3_demo") if mimic is None else mimic)
    if out is not None:
        _check_out(out)
    beside = None if out is None else out.parent
    # Under a temporary name first, so that no partial table is visible.
    unfinished = None if out is None else out.with_name(f".{out.name}.{os.getpid()}")
    reading = [*files.values(), *_LISTS.values()]
    with database(memory, beside=beside, reading=reading, writing=unfinished) as base:
        connection = base.connection
        _step(connection, "macros")
        open_tables(base, files, _lists(base))
        for step, label in _STEPS.items():
            say(label)
            for batch in _batches(connection, step):
                _step(connection, step, batch)
        counts = connection.execute("SELECT topic, name, n FROM report").fetchall()
        report = Report.of(counts, FEATURES)
        if not report.windows["kept"]:
            raise DataError(f"no window is left:\n\n{report}")
        if out is not None and unfinished is not None:
            _write(connection, unfinished, out, report)
        return ClinicalTable.of(connection.execute(_ROWS).fetchnumpy(), report)


def read_windows(path: Path) -> ClinicalTable:
    """A table that `clinical_windows` wrote.

    Raises
    ------
    DataError
        When the file is missing, or is not such a table.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file. Make it with `ocbnn data clinical`.")
    with database("1GB", reading=[path]) as base:
        connection, name = base.connection, literal(base.names[path])
        row = connection.execute(
            f"SELECT value FROM parquet_kv_metadata({name}) WHERE key = 'report'"
        ).fetchone()
        if row is None:
            raise DataError(
                f"{path}: not written by `ocbnn data clinical`; it has no report."
            )
        report = Report(**json.loads(row[0]))
        rows = connection.execute(f"SELECT * FROM read_parquet({name})")
        return ClinicalTable.of(rows.fetchnumpy(), report)


def _check_out(out: Path) -> None:
    if out.is_dir():
        raise DataError(f"{out}: this is a folder. Name the file to write.")
    out.parent.mkdir(parents=True, exist_ok=True)


def _write(
    connection: "DuckDBPyConnection", unfinished: Path, out: Path, report: Report
) -> None:
    note = literal(json.dumps(asdict(report)))
    try:
        connection.execute(
            f"COPY ({_ROWS}) TO {literal(unfinished)} (FORMAT parquet, USE_TMP_FILE "
            f"false, KV_METADATA {{report: {note}}})"
        )
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)


def _lists(base: Database) -> set[int]:
    for name, path in _LISTS.items():
        source = f"read_csv({literal(base.names[path])})"
        base.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {source}")
    rows = base.connection.execute(
        "SELECT itemid FROM items UNION SELECT itemid FROM treatments"
    ).fetchall()
    return {row[0] for row in rows}


def _batches(connection: "DuckDBPyConnection", step: str) -> list[dict[str, int]]:
    """The parameters of each run of a step."""
    if step != "window_values":
        return [{}]
    count = connection.execute("SELECT count(*) FROM measurements").fetchall()[0][0]
    batches = 1 + count // _BATCH
    return [{"batches": batches, "batch": batch} for batch in range(batches)]


def _step(
    connection: "DuckDBPyConnection", step: str, values: dict[str, int] | None = None
) -> None:
    text = (_HERE / f"{step}.sql").read_text(encoding="utf-8")
    run(connection, text, values or None)
