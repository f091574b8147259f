"""What a table's file can do to the machine that opens it: be read, and no more."""

import gzip
import os
import re
import time
from pathlib import Path

import duckdb
import numpy as np
import pytest

from ocbnn.errors import DataError, SettingError
from ocbnn.tables import decompression, open_table
from ocbnn.tables.database import database, literal, run
from ocbnn.tables.decompression import VARIABLE

# Names that are patterns, partitions, addresses, options or text of SQL to someone.
NAMES = (
    *("[ab]", "t*", "t?", "**", "*", "[!a]", "[a-c]", "[[]ab]", "[", "]]", "{a,b}"),
    *("a\\b", "a'b", 'a"b', "a\nb", "-a", "~", "$x", "%5Bab%5D", "k=5", "a b", "#"),
    *("http:", "s3:", "file:a", "é[", "a;b", "a,b", "\x01", "read_csv('a.csv')"),
)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_a_name_is_a_name_for_reading_and_for_writing(tmp_path, ending):
    folder = tmp_path / "k=7" / "[ab]*"
    folder.mkdir(parents=True)
    plain = ["a", "b", "c", "t1", "t2", "tx", "k=5", "ab"]
    stems = dict.fromkeys([*plain, *NAMES])
    for number, stem in enumerate(stems):
        path = folder / f"{stem}.{ending}"
        if ending == "parquet":
            sql = f"COPY (SELECT {number} AS n, 'w' AS w) TO {literal(path)}"
            duckdb.execute(f"{sql} (FORMAT parquet)")
        else:
            text = f"n,w\n{number},w\n".encode()
            path.write_bytes(gzip.compress(text) if ending == "csv.gz" else text)
    for number, stem in enumerate(stems):
        out = folder / f"out {stem}.{ending.removesuffix('.gz')}"
        with open_table(folder / f"{stem}.{ending}", writing=out) as table:
            assert (table.rows, table.names) == (1, ("n", "w")), stem
            assert table.numbers(["n"]).item() == number, stem
            if stem in NAMES[::3]:
                table.write(iter([{"more": np.array([0.5])}]), ["more"])
        if stem in NAMES[::3]:
            with open_table(out) as table:
                assert table.names == ("n", "w", "more")
                np.testing.assert_array_equal(
                    table.numbers(["n", "more"]), [[number, 0.5]]
                )


@pytest.mark.parametrize("name", ["~/p.csv", "file:/p.csv", "s3:/p.parquet"])
def test_a_relative_name_is_written_where_it_says(tmp_path, monkeypatch, name):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x\n1\n")
    out = Path(name)
    out.parent.mkdir()
    with open_table("t.csv", writing=out) as table:
        table.write(iter([{"more": np.array([0.5])}]), ["more"])
    assert not list(home.iterdir())
    with open_table(out) as table:
        assert table.names == ("x", "more")


def test_a_pattern_that_is_no_file_reads_no_other(tmp_path):
    for name in ("t1.csv", "t2.csv"):
        (tmp_path / name).write_text("x,y\n1,2\n")
    with (
        pytest.raises(DataError, match="no such file"),
        open_table(tmp_path / "t*.csv"),
    ):
        pass


@pytest.mark.parametrize(
    "name", ["http://127.0.0.1:9/t.csv", "s3://bucket/t.csv", "https://a.b/t.parquet"]
)
def test_an_address_is_a_file_that_is_not_there(name):
    with pytest.raises(DataError, match="no such file"), open_table(name):
        pass


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv({other})",
        "SELECT * FROM read_text({other})",
        "SELECT * FROM read_blob('/etc/hostname')",
        "SELECT * FROM glob({folder})",
        "COPY (SELECT 1) TO {new}",
        "EXPORT DATABASE {new}",
        "ATTACH {new} AS other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM read_csv('http://127.0.0.1:9/t.csv')",
        "SET enable_external_access = true",
        "SET allowed_paths = ['/etc/hostname']",
        "SET autoload_known_extensions = true",
        "SET memory_limit = '100GB'",
        "RESET lock_configuration",
        "SELECT * FROM a_python_name",
    ],
)
def test_a_connection_can_do_nothing_but_read_its_files(tmp_path, statement):
    other, new = tmp_path / "other.csv", tmp_path / "new"
    mine = tmp_path / "mine.csv"
    for path in (other, mine):
        path.write_text("x,y\n1,2\n")
    places = {"other": other, "folder": tmp_path / "*", "new": new}
    spelled = {key: literal(value) for key, value in places.items()}
    a_python_name = np.ones(3)  # What DuckDB would find by its name.
    with database("500MB", reading=[mine]) as base, pytest.raises(duckdb.Error):
        base.connection.execute(statement.format(**spelled))
    assert a_python_name.all()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.csv", "other.csv"]


def test_what_does_not_fit_into_memory_is_still_spilled(tmp_path):
    with database("100MB", beside=tmp_path) as base:
        run(
            base.connection,
            "CREATE TABLE t AS SELECT hash(i) AS h FROM range(15_000_000) r(i) "
            "ORDER BY h",
        )
        assert base.connection.execute("SELECT count(*) FROM t").fetchone() == (
            15_000_000,
        )


SECRET = "root:x:0:0:s3cret"


@pytest.mark.parametrize(
    "content",
    [
        f"{SECRET}\nmore\n",
        f"a,b\n{SECRET}\n",
        f'a,b\n1,"{SECRET}\n2,3\n',
        f"{SECRET},{SECRET}\n1,2\n",
        f"a,y\n1,{SECRET}\n2,3\n4,5\n",
        f"a,y\n{SECRET},{SECRET}\n".encode() + b"\xff,1\n",
        f"a,y\n1,x{SECRET}\n1,x{SECRET}\n",
    ],
)
@pytest.mark.parametrize("way", ["link", "folder"])
def test_nothing_is_quoted_of_a_file_to_which_a_link_leads(tmp_path, content, way):
    study, elsewhere = tmp_path / "study", tmp_path / "elsewhere"
    study.mkdir()
    elsewhere.mkdir()
    private = elsewhere / "private.csv"
    private.write_bytes(content if isinstance(content, bytes) else content.encode())
    if way == "link":
        path = study / "link.csv"
        path.symlink_to(private)
    else:
        path = study / ".." / "elsewhere" / "private.csv"

    def look():
        with open_table(path, home=study) as table:
            table.require(["y"], "the model needs")
            table.numbers(["y"])

    with pytest.raises(DataError) as caught:
        look()
    assert "s3cret" not in str(caught.value)
    assert str(caught.value).startswith(str(path))
    # The user's own files are quoted where that helps.
    own = study / "own.csv"
    own.write_text("a,y\n1,2\n3,many\n")
    with (
        pytest.raises(DataError, match="row 2, column 'y': 'many'"),
        open_table(own, home=study) as table,
    ):
        table.numbers(["y"])


def test_a_pipe_is_no_table_and_nobody_waits_for_it(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    with pytest.raises(DataError, match="not a plain file"), open_table(path):
        pass


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"a," + b"x" * 200_000, "name has at most 1,000 characters"),
        (b"a," + b"x" * 2000, "name has at most 1,000 characters"),
        (b'a,"' + b"x," * 200_000, "name has at most 1,000 characters"),
        (b"x" * 20_000_000, "first line must .* more than 10,000,000 characters"),
        (
            b",".join(b"c%d" % i for i in range(20_000)),
            "at most 2,000 columns.*20,000",
        ),
        (b"," * 1_000_000, "at most 2,000 columns.*1,000,001"),
    ],
)
def test_a_header_out_of_all_proportion_is_refused_at_once(tmp_path, header, message):
    path = tmp_path / "wide.csv"
    path.write_bytes(header + b"\n1,2\n")
    began = time.perf_counter()
    with pytest.raises(DataError, match=message) as caught, open_table(path):
        pass
    assert time.perf_counter() - began < 20
    assert len(str(caught.value)) < len(str(path)) + 300


def test_a_thousand_columns_are_read(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"c{i}" for i in range(1000)]
    path.write_text(",".join(names) + "\n" + ",".join(["1"] * 1000) + "\n")
    with open_table(path) as table:
        assert table.numbers(names).sum() == 1000
    with (
        pytest.raises(DataError, match=r"at most 999 columns.*1,000"),
        open_table(path, most_columns=999),
    ):
        pass


@pytest.fixture(scope="module")
def bombs(tmp_path_factory):
    """Small files of very many rows."""
    folder = tmp_path_factory.mktemp("bombs")
    zeros = gzip.compress(b"1,2\n" * 15_000_000)
    (folder / "one.csv.gz").write_bytes(gzip.compress(b"x,y\n") + zeros)
    half = gzip.compress(b"1,2\n" * 7_000_000)
    (folder / "two.csv.gz").write_bytes(gzip.compress(b"x,y\n") + half + half)
    path = literal(folder / "three.parquet")
    duckdb.execute(
        f"COPY (SELECT 1 AS x, 2 AS y FROM range(20_000_000)) TO {path} "
        "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 10_000_000)"
    )
    return folder


@pytest.mark.parametrize("name", ["one.csv.gz", "two.csv.gz", "three.parquet"])
def test_a_small_file_of_very_many_rows_is_refused_at_once(bombs, name):
    path = bombs / name
    assert path.stat().st_size < 1_000_000
    began = time.perf_counter()
    with pytest.raises(DataError, match=VARIABLE) as caught, open_table(path):
        pass
    assert time.perf_counter() - began < 20
    assert re.search(r"its [0-9.]+ [kM]B", str(caught.value))
    assert str(caught.value).startswith(str(path))


def test_a_small_file_of_very_long_text_is_refused_at_once(tmp_path):
    path = tmp_path / "t.parquet"
    duckdb.execute(
        f"COPY (SELECT repeat('a', 1_000_000) AS s, i AS y FROM range(5000) t(i)) TO "
        f"{literal(path)} (FORMAT parquet, COMPRESSION zstd)"
    )
    assert path.stat().st_size < 20_000
    began = time.perf_counter()
    with pytest.raises(DataError, match="hold 5 GB of text"), open_table(path):
        pass
    assert time.perf_counter() - began < 5


def test_the_number_in_the_advice_is_enough(bombs, tmp_path, monkeypatch):
    monkeypatch.setattr(decompression, "_FREE_TEXT", 1_000_000)
    path = tmp_path / "t.parquet"
    duckdb.execute(
        f"COPY (SELECT repeat('a', 1_000_000) AS s FROM range(20)) TO {literal(path)} "
        "(FORMAT parquet, COMPRESSION zstd)"
    )
    for file, rows in ((path, 20), (bombs / "two.csv.gz", 14_000_000)):
        monkeypatch.delenv(VARIABLE, raising=False)
        with pytest.raises(DataError) as caught, open_table(file):
            pass
        advised = re.search(rf"{VARIABLE}=(\d+)", str(caught.value))
        monkeypatch.setenv(VARIABLE, advised[1])
        with open_table(file) as table:
            assert table.rows == rows


def test_a_limit_that_is_no_number_is_refused(bombs, monkeypatch):
    for wrong in ("", "much", "-3", "0", "1e3", "9" * 5000):
        monkeypatch.setenv(VARIABLE, wrong)
        with (
            pytest.raises(SettingError, match=f"Write {VARIABLE}=1000"),
            open_table(bombs / "two.csv.gz"),
        ):
            pass


def test_a_large_table_that_packs_well_is_read(tmp_path):
    path = tmp_path / "honest.csv.gz"
    rows = "".join(f"{i},{i % 7},none\n" for i in range(1_000_000))
    path.write_bytes(gzip.compress(f"x,y,z\n{rows}".encode(), compresslevel=1))
    with open_table(path) as table:
        assert table.rows == 1_000_000
