"""Users' tables: CSV and Parquet files, read and written by DuckDB."""

from ocbnn.tables.profile import Profile as Profile
from ocbnn.tables.table import Table as Table, open_table as open_table
