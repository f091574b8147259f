"""People's tables, well and badly written."""

import gzip

import duckdb
import numpy as np
import pytest

from ocbnn.errors import DataError
from ocbnn.tables import open_table


def table_of(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


PEOPLE = (
    "id,age,Age,colour\n007,1.5,4,red\n008,,5,\n009,3.5,6,NA\n010,nan,7,deep blue\n"
)


def test_numbers_words_and_gaps_are_told_apart(tmp_path):
    with open_table(table_of(tmp_path, PEOPLE)) as table:
        assert (table.rows, table.names) == (4, ("id", "age", "Age", "colour"))
        age, colour = table.profile("age"), table.profile("colour")
        assert (age.kind, age.missing, age.low, age.high) == ("number", 2, 1.5, 3.5)
        assert (colour.kind, colour.missing, colour.distinct) == ("text", 2, 2)
        assert colour.levels == ("deep blue", "red")
        assert table.profile("Age").whole
        np.testing.assert_array_equal(
            table.numbers(["Age", "age"], 1, 3), [[5, np.nan], [6, 3.5]]
        )
        assert table.texts("colour") == ["red", None, None, "deep blue"]
        # Codes are the same level however they are written.
        assert table.texts("id") == ["7", "8", "9", "10"]


@pytest.mark.parametrize(
    "text",
    [
        "a;b\r\n1;2\r\n3;4\r\n",
        "a\tb\n1\t2\n3\t4",
        "\ufeffa,b\n1,2\n\n3,4\n\n",
        '"a","b"\n"1","2"\n"3","4"\n',
        "a , b\n1 , 2\n3,4\n",
        "a,b\r1,2\r3,4\r",
    ],
)
def test_usual_ways_to_write_a_table_are_understood(tmp_path, text):
    with open_table(table_of(tmp_path, text)) as table:
        assert table.names == ("a", "b")
        np.testing.assert_array_equal(table.numbers(["a", "b"]), [[1, 2], [3, 4]])


def test_a_compressed_table_is_read(tmp_path):
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(PEOPLE.encode()))
    with open_table(path) as table:
        assert table.rows == 4


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "", "this file is empty"),
        ("t.csv", "\n\n", "first line is empty"),
        ("t.csv", "a,b\n", "has no rows"),
        ("t.csv", "1,2\n3,4\n", r"first line must .* holds numbers \(1, 2\)"),
        ("t.csv", "a,b,a\n1,2,3\n", "these are repeated: a"),
        ("t.csv", "a,b\n1,2\n3\n", "line 3: .*names 2 columns, .* has 1 field:"),
        ("t.csv", "a,b\n1,2,3\n", "line 2: .*names 2 columns, .* has 3 fields:"),
        ("t.csv", 'a,b\n1,"x\n2,3\n', "line 2: .*quotation mark"),
        ("t.csv", "a,b\n1,café\n".encode("latin-1"), "line 2: .*not UTF-8 text"),
        ("t.csv", "é,b\n1,2\n".encode("latin-1"), "line 1: this is not UTF-8 text"),
        ("t.csv", "a,b\n1,2\n".encode("utf-16"), "not UTF-8 text"),
        ("t.csv", b"a,y\r\n1,2\n3,4\r\n", "line ends are mixed.* Save it with one"),
        ("t.csv.gz", "a,b\n1,2\n", "not a gzip file"),
        ("t.parquet", "a,b\n1,2\n", "not a readable table"),
        ("t.xlsx", "a,b\n1,2\n", "ends in .csv"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_a_sentence(
    tmp_path, name, text, message
):
    path = table_of(tmp_path, text, name)
    with pytest.raises(DataError, match=message) as caught, open_table(path):
        pass
    assert str(caught.value).startswith(str(path))


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    table_of(tmp_path, PEOPLE, "people.csv")
    with (
        pytest.raises(DataError, match=r"no such file\. Files there: people\.csv"),
        open_table(tmp_path / "peple.csv"),
    ):
        pass
    with pytest.raises(DataError, match="this is a folder"), open_table(tmp_path):
        pass


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;b\n1;2\n3;4,5\n5;6\n", r"row 2, column 'b': '4,5'.*decimal point"),
        ("a,b\n1,2\n3,inf\n", r"row 2, column 'b': 'inf' is not a finite number"),
    ],
)
def test_a_value_that_is_no_number_is_named_with_its_row(tmp_path, text, message):
    with (
        open_table(table_of(tmp_path, text)) as table,
        pytest.raises(DataError, match=message),
    ):
        table.numbers(["a", "b"])


def test_a_column_of_numbers_with_a_word_in_it_is_mixed(tmp_path):
    with open_table(table_of(tmp_path, "a,b\n1,2\n2,low\n3,4\n")) as table:
        profile = table.profile("b")
        assert (profile.kind, profile.stray) == ("mixed", ("low", 2))


def test_a_column_that_is_not_there_is_named_with_its_neighbour(tmp_path):
    with (
        open_table(table_of(tmp_path, PEOPLE)) as table,
        pytest.raises(DataError, match=r"no column 'colur', which.*mean `colour`"),
    ):
        table.require(["age", "colur"], "the model needs")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_added_columns_stand_beside_the_old_ones_in_order(tmp_path, ending):
    out = tmp_path / f"o'ut.{ending}"
    blocks = [
        {"mean": np.array([0.1, np.nan]), "class": np.array(["p", "q"], object)},
        {"mean": np.array([3.0, 4.0]), "class": np.array(["r", "s"], object)},
    ]
    path = table_of(tmp_path, PEOPLE.replace("Age", "mass"))
    with open_table(path, writing=out) as table:
        assert table.write(iter(blocks), ["mean", "class"]) == 4
    with open_table(out) as table:
        assert table.names == ("id", "age", "mass", "colour", "mean", "class")
        assert table.texts("class") == ["p", "q", "r", "s"]
        np.testing.assert_array_equal(
            table.numbers(["mean", "mass"]), [[0.1, 4], [np.nan, 5], [3, 6], [4, 7]]
        )
        assert table.profile("id").kind == "number"
    if ending == "csv":
        # Cells that were there are written as they were read.
        assert out.read_text().splitlines()[2] == "008,,5,,,q"


def test_columns_are_never_overwritten(tmp_path):
    path = table_of(tmp_path, PEOPLE)
    out = tmp_path / "out.csv"
    with (
        open_table(path, writing=out) as table,
        pytest.raises(DataError, match=r"the columns age exist already"),
    ):
        table.write(iter([]), ["age"])


def test_decimal_commas_are_recognised(tmp_path):
    text = "a;b;c\n1,5;red;1\n2;1,5;2\n-3,25;blue;3\n"
    with open_table(table_of(tmp_path, text)) as table:
        commas = [table.profile(name).comma for name in table.names]
    assert commas[0] in ("1,5", "-3,25")
    assert commas[1:] == [None, None]


def test_lists_and_records_are_not_taken_for_numbers(tmp_path):
    path = tmp_path / "t.parquet"
    chosen = "[1, 2] AS l, {'a': 1} AS r, INTERVAL 1 DAY AS i, 2.5::DECIMAL(9, 2) AS d"
    duckdb.execute(f"COPY (SELECT {chosen}, 3::UBIGINT AS u) TO '{path}'")
    with open_table(path) as table:
        kinds = [table.kind(name) for name in table.names]
        assert kinds == ["text", "text", "text", "number", "number"]
        assert [name for name in table.names if table.has_parts(name)] == ["l", "r"]
