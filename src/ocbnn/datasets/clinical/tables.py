"""The tables of a MIMIC-III folder as typed DuckDB views."""

from pathlib import Path

from ocbnn.errors import DataError
from ocbnn.tables.database import Database, literal

# The columns read from each table. Everything is read as text and cast, so that a word
# in a column of numbers becomes a missing value instead of an error.
TABLES = {
    "ICUSTAYS": {
        "SUBJECT_ID": "BIGINT",
        "HADM_ID": "BIGINT",
        "ICUSTAY_ID": "BIGINT",
        "INTIME": "TIMESTAMP",
        "OUTTIME": "TIMESTAMP",
    },
    "PATIENTS": {"SUBJECT_ID": "BIGINT", "DOB": "TIMESTAMP"},
    "CHARTEVENTS": {
        "SUBJECT_ID": "BIGINT",
        "ITEMID": "INTEGER",
        "CHARTTIME": "TIMESTAMP",
        "VALUENUM": "DOUBLE",
        "ERROR": "INTEGER",
    },
    "LABEVENTS": {
        "SUBJECT_ID": "BIGINT",
        "ITEMID": "INTEGER",
        "CHARTTIME": "TIMESTAMP",
        "VALUENUM": "DOUBLE",
    },
    "OUTPUTEVENTS": {
        "SUBJECT_ID": "BIGINT",
        "ITEMID": "INTEGER",
        "CHARTTIME": "TIMESTAMP",
        "VALUE": "DOUBLE",
        "ISERROR": "INTEGER",
    },
    "INPUTEVENTS_MV": {
        "SUBJECT_ID": "BIGINT",
        "ITEMID": "INTEGER",
        "STARTTIME": "TIMESTAMP",
        "ENDTIME": "TIMESTAMP",
        "AMOUNT": "DOUBLE",
        "AMOUNTUOM": "VARCHAR",
        "RATE": "DOUBLE",
        "STATUSDESCRIPTION": "VARCHAR",
    },
    "INPUTEVENTS_CV": {
        "SUBJECT_ID": "BIGINT",
        "ITEMID": "INTEGER",
        "CHARTTIME": "TIMESTAMP",
        "AMOUNT": "DOUBLE",
        "AMOUNTUOM": "VARCHAR",
        "RATE": "DOUBLE",
        "STOPPED": "VARCHAR",
    },
}
# If a table exists in several formats, the first one, the fastest, is read.
ENDINGS = (".parquet", ".csv", ".csv.gz")


def find_tables(folder: Path) -> dict[str, Path]:
    """The file of every required table.

    Raises
    ------
    DataError
        When the folder or a table is missing.
    """
    if not folder.is_dir():
        raise DataError(
            f"{folder}: no such folder. Name the folder that holds the tables of "
            f"MIMIC-III, each as TABLE.csv, TABLE.csv.gz or TABLE.parquet."
        )
    files_by_name = {path.name.lower(): path for path in sorted(folder.iterdir())}
    tables: dict[str, Path] = {}
    for table in TABLES:
        names = (f"{table.lower()}{ending}" for ending in ENDINGS)
        if files := [files_by_name[name] for name in names if name in files_by_name]:
            tables[table] = files[0]
    missing = [table for table in TABLES if table not in tables]
    if missing:
        listed = ", ".join(path.name for path in tables.values())
        raise DataError(
            f"{folder}: no file for {', '.join(missing)}. Expected {missing[0]}.csv, "
            f"{missing[0]}.csv.gz or {missing[0]}.parquet, in upper or lower "
            f"case; found {listed or 'none of the tables'}."
        )
    return tables


def open_tables(base: Database, files: dict[str, Path], items: set[int]) -> None:
    """Make a view of each table, with typed columns and only the given items.

    Raises
    ------
    DataError
        When a column is missing.
    """
    wanted = ", ".join(map(str, sorted(items)))
    for table, path in files.items():
        source = _source(base, path)
        _check_columns(base, table, path)
        columns = ", ".join(
            f"TRY_CAST({name} AS {kind}) AS {name.lower()}"
            for name, kind in TABLES[table].items()
        )
        view = f"CREATE VIEW {table.lower()} AS SELECT {columns} FROM {source}"
        if "ITEMID" in TABLES[table]:
            # Filters nearly all rows of the large tables before anything is cast.
            view += f" WHERE TRY_CAST(ITEMID AS INTEGER) IN ({wanted})"
        base.connection.execute(view)


def _source(base: Database, path: Path) -> str:
    name = literal(base.names[path])
    if path.name.lower().endswith(".parquet"):
        return f"read_parquet({name}, hive_partitioning=false)"
    # Explicit, because DuckDB would guess instead of reporting a broken file.
    dialect = "header=true, all_varchar=true, delim=',', quote='\"', comment='', skip=0"
    return f"read_csv({name}, {dialect}, hive_partitioning=false)"


def _check_columns(base: Database, table: str, path: Path) -> None:
    if not path.stat().st_size:
        raise DataError(f"{path}: the file is empty.")
    query = f"DESCRIBE SELECT * FROM {_source(base, path)}"
    columns = [row[0] for row in base.connection.execute(query).fetchall()]
    missing = sorted(set(TABLES[table]) - {name.upper() for name in columns})
    if missing:
        raise DataError(
            f"{path}: no column {', '.join(missing)}. {table} needs "
            f"{', '.join(TABLES[table])}; found {', '.join(columns)}."
        )
