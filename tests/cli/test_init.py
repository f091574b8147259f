"""`ocbnn init`: a study file from a table."""

import json
import re

import pytest

from ocbnn.projects.columns import read_rows
from ocbnn.projects.study import read_study
from ocbnn.rules import bind
from ocbnn.tables import open_table
from tests.cli.conftest import write_rows

MIXED = (
    "row,name,size,kind,same,odd,risk\n"
    + "".join(
        f"{i},n{i},{i * 0.5 - 3},{'ab'[i % 2]},7,{i if i % 9 else 'x'},{i % 2}\n"
        for i in range(1, 61)
    )
    + "61,n61,,a,7,3,1\n"
)


def uncommented(text):
    """The file with its example rules switched on."""
    return re.sub(r"^# (\[\[rules|name =|rule =|sampler =)", r"\1", text, flags=re.M)


@pytest.mark.parametrize("output", ["y", "colour", "x"])
def test_the_proposal_is_a_study_whose_example_rules_fit_the_table(
    tmp_path, ocbnn, output
):
    write_rows(tmp_path / "rows.csv")
    out = tmp_path / "made" / "study.toml"
    result = ocbnn("init", tmp_path / "rows.csv", "--out", out, "--output", output)
    assert result.code == 0, result.err
    assert f"ocbnn fit {out}" in result.out
    text = out.read_text()
    assert max(map(len, text.splitlines())) <= 100
    for setting in ("tolerance", "weight", 'strength = "firm"', "rules_by"):
        assert f" {setting}" in text
    out.write_text(uncommented(text).replace('missing = "refuse"', 'missing = "drop"'))
    study = read_study(out)
    assert len(study.rules) >= 1
    with open_table(study.table) as table:
        rows = read_rows(study, table)
    for rule in study.rules:
        bind(rule, rows.schema)
    assert study.is_classification == (output == "colour")


def test_columns_that_cannot_help_are_left_out_with_the_reason(tmp_path, ocbnn):
    (tmp_path / "mixed.csv").write_text(MIXED)
    out = tmp_path / "study.toml"
    result = ocbnn("init", tmp_path / "mixed.csv", "--out", out, "--json")
    answer = json.loads(result.out)
    assert (answer["output"], answer["task"]) == ("risk", "classification")
    assert (answer["inputs"], answer["categories"]) == (["size", "kind"], ["kind"])
    assert answer["left_out"] == {
        "row": "it numbers the rows",
        "name": "it holds 61 different words",
        "same": "it is the same in every row",
        "odd": "'x' in row 9 stands among numbers",
    }
    assert answer["columns"]["size"] == {
        "kind": "number", "missing": 1, "distinct": 60, "low": -2.5, "high": 27.0,
    }  # fmt: skip
    text = out.read_text()
    assert "# Missing here: size (1)." in text
    assert "# Left out: odd ('x' in row 9 stands among numbers)." in text


def test_a_study_file_is_never_overwritten_unless_forced(tmp_path, ocbnn):
    write_rows(tmp_path / "rows.csv")
    out = tmp_path / "study.toml"
    out.write_text("mine")
    result = ocbnn("init", tmp_path / "rows.csv", "--out", out)
    assert (result.code, out.read_text()) == (2, "mine")
    assert "--force" in result.err
    assert ocbnn("init", tmp_path / "rows.csv", "--out", out, "--force").code == 0
    assert "[data]" in out.read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["none.csv"], 1, "none.csv: there is no such file. Files there: mixed.csv"),
        (["."], 1, "this is a folder"),
        (["mixed.csv", "--output", "rsk"], 2, "Did you mean `risk`?"),
        (["mixed.csv", "--output", "same"], 1, "is the same in every row"),
        (["mixed.csv", "--output", "odd"], 1, "row 9, column 'odd': 'x'"),
        (["mixed.csv", "--out", "study.txt"], 2, "ends in .toml"),
        (["mixed.csv", "--out", "mixed.csv/study.toml"], 1, "mixed.csv"),
        ([], 2, "Missing argument"),
    ],
)
def test_what_cannot_be_done_is_said(
    tmp_path, ocbnn, monkeypatch, arguments, code, message
):
    (tmp_path / "mixed.csv").write_text(MIXED)
    monkeypatch.chdir(tmp_path)
    result = ocbnn("init", *arguments)
    assert (result.code, result.out) == (code, "")
    assert message in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["mixed.csv"]
