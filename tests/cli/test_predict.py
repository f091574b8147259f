"""`ocbnn predict` and `ocbnn check` on a person's own table."""

import csv
import io
import json

import numpy as np
import pytest

import ocbnn as library
from ocbnn.projects import predictions
from ocbnn.tables import open_table

NEW = "colour,x,note\nred,0.5,first\nblue,,gap\nblue,-1,second\n"
ADDED = ["y_mean", "y_sd", "y_lower", "y_upper"]


@pytest.fixture
def new(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text(NEW)
    return path


def test_predictions_stand_beside_the_rows_they_belong_to(
    fitted, new, ocbnn, monkeypatch
):
    # Blocks smaller than the table, whose edges must not show.
    monkeypatch.setattr(predictions, "BLOCK", 2)
    result = ocbnn("predict", fitted / "out", new, "--interval", "0.5")
    assert result.code == 0, result.err
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert list(rows[0]) == ["colour", "x", "note", *ADDED]
    assert [row["note"] for row in rows] == ["first", "gap", "second"]
    assert [rows[1][name] for name in ADDED] == ["", "", "", ""]
    assert "1 of 3 rows lack an input" in result.err
    model = library.load(fitted / "out" / "model.ocbnn")
    X = np.array([[0.5, 0, 1], [-1, 1, 0]])
    mean, sd = model.predict(X, return_std=True)
    low, high = model.predict_interval(X, 0.5)
    outcome = [[float(row[name]) for name in ADDED] for row in (rows[0], rows[2])]
    np.testing.assert_allclose(outcome, np.stack([mean, sd, low, high], 1), rtol=1e-6)


def test_intervals_are_those_of_python(fitted, new, ocbnn):
    result = ocbnn("predict", fitted / "out", new)
    row = next(csv.DictReader(io.StringIO(result.out)))
    low, high = library.load(fitted / "out").predict_interval([[0.5, 0, 1]])
    outcome = [float(row["y_lower"]), float(row["y_upper"])]
    np.testing.assert_allclose(outcome, [low[0], high[0]], rtol=1e-6)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("init nothing.csv --json", 1),
        ("fit nothing.toml --json", 2),
        ("resume nothing --json", 2),
        ("report nothing --json", 2),
        ("check nothing --json", 2),
        ("explain nothing --json", 2),
        ("predict nothing nothing.csv --json", 2),
        ("fit . --json", 2),
    ],
)
def test_programs_are_told_what_went_wrong(command, code, ocbnn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = ocbnn(*command.split())
    assert result.code == code, result.err
    assert result.err.startswith(f"ocbnn: {json.loads(result.out)['error']}")


def test_a_parquet_file_and_a_summary_for_programs(fitted, new, tmp_path, ocbnn):
    out = tmp_path / "made" / "predictions.parquet"
    model = fitted / "out" / "model.ocbnn"
    result = ocbnn("predict", model, new, "--out", out, "--json")
    assert json.loads(result.out) == {
        "file": str(out), "rows": 3, "skipped": 1, "columns": ADDED, "unused": ["note"],
    }  # fmt: skip
    with open_table(out) as table:
        assert table.profile("y_mean").missing == 1
    assert ocbnn("predict", model, out).code == 1


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("x,note\n1,a\n", 1, "no column 'colour', which the model needs"),
        ("x,colour\n1,green\n", 1, "not fitted with 'green'. It knows blue, red"),
        ("x,colour\none,red\n2,red\n3,red\n", 1, "row 1, column 'x': 'one' is no"),
        ("x,colour\n,red\n", 1, "every row lacks an input"),
        ("x,colour,y_sd\n1,red,2\n", 1, "the columns y_sd exist already"),
        ("", 1, "empty"),
    ],
)
def test_a_table_that_does_not_fit_the_model_is_refused(
    fitted, new, ocbnn, text, code, message
):
    new.write_text(text)
    out = new.with_name("out.csv")
    result = ocbnn("predict", fitted / "out", new, "--out", out)
    assert (result.code, result.out) == (code, "")
    assert message in result.err
    assert [path.name for path in new.parent.iterdir()] == ["new.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--interval", "90"], "lies between 0 and 1"),
        (["--out", "x.xlsx"], "ends in .csv or .parquet"),
        (["--json"], "Add --out FILE"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(fitted, new, ocbnn, options, message):
    result = ocbnn("predict", fitted / "out", new, *options)
    assert (result.code, message in result.err) == (2, True)


def test_a_model_that_is_none_is_refused(fitted, new, ocbnn):
    result = ocbnn("predict", new.parent / "none", new)
    assert (result.code, "there is no such model" in result.err) == (2, True)
    result = ocbnn("predict", new, new)
    assert result.code == 2
    assert str(new) in result.err


def test_a_fit_without_a_model_is_to_be_resumed(fitted, new, ocbnn, tmp_path):
    for name in ("run.json", "study.toml"):
        (tmp_path / name).write_bytes((fitted / "out" / name).read_bytes())
    for command in (("predict", tmp_path, new), ("check", tmp_path)):
        result = ocbnn(*command)
        assert result.code == 2
        assert f"has no model yet. `ocbnn resume {tmp_path}`" in result.err


def test_a_poor_verdict_is_said_beside_every_answer(fitted, new, ocbnn):
    for command in (("predict", fitted / "out", new), ("check", fitted / "out")):
        assert "the verdict on this fit is 'poor'" in ocbnn(*command).err


def test_columns_are_found_by_name_in_python_too(fitted):
    import pandas as pd

    from ocbnn import load
    from ocbnn.errors import DataError

    model = load(fitted / "out" / "model.ocbnn")
    rows = pd.DataFrame({"x": [0.5, 1.0], "colour=red": [1, 0], "colour=blue": [0, 1]})
    names = list(model.schema_.inputs)
    plain = model.predict(rows[names].to_numpy())
    assert (model.predict(rows[names[::-1]].assign(more=1)) == plain).all()
    with pytest.raises(DataError, match="has no column 'x'"):
        model.predict(rows.rename(columns={"x": "y"}))


def test_the_table_itself_is_never_overwritten(fitted, new, ocbnn):
    result = ocbnn("predict", fitted / "out", new, "--out", new)
    assert (result.code, new.read_text()) == (2, NEW)


def test_rules_are_checked_in_their_regions_and_on_rows(fitted, ocbnn):
    table = fitted / "rows.csv"
    result = ocbnn("check", fitted / "out", table, "--most", "1", "--json")
    assert result.code == 0
    answer = json.loads(result.out)
    assert answer["holds"] is True
    below, right = answer["rules"]
    assert (below["rule"], below["rows"]) == ("never negative", 39)
    assert below["observations"] == 0
    # Two of the rows touch the edge of the region, and one does at most.
    assert right["rows"] <= 2
    words = ocbnn("check", fitted / "out", table, "--most", "1")
    assert words.code == 0
    assert "All rules hold" in words.out
    assert max(map(len, words.out.splitlines())) < 80


def test_rules_are_explained_in_words_and_for_programs(fitted, ocbnn):
    result = ocbnn("explain", fitted / "out", "--no-refit", "--json")
    assert result.code == 0, result.err
    answer = json.loads(result.out)
    assert list(answer["rules"]) == ["never negative", "high on the right"]
    below = answer["rules"]["never negative"]
    assert below["status"] in ("idle", "unknown")
    assert below["rows_in_region"] == 29
    words = ocbnn("explain", fitted / "out", "--rule", "never negative", "--no-refit")
    assert words.code == 0
    assert words.out.startswith("never negative: ")
    assert max(map(len, words.out.splitlines())) <= 80
    wrong = ocbnn("explain", fitted / "out", "--rule", "never")
    assert (wrong.code, "the name of a rule" in wrong.err) == (2, True)


def test_a_rule_that_does_not_hold_gives_an_exit_code_of_its_own(
    fitted, ocbnn, monkeypatch
):
    from ocbnn.projects import rule_checks

    broken = rule_checks.RuleCheckResult("up", "up: y >= 0", 0.2)
    monkeypatch.setattr(rule_checks, "check", lambda *_: [broken])
    result = ocbnn("check", fitted / "out")
    assert result.code == 3
    assert "VIOLATED  up" in result.out
    assert json.loads(ocbnn("check", fitted / "out", "--json").out)["holds"] is False
