"""`ocbnn certify` as a person runs it."""

import json
import sys

import numpy as np
import pytest


def test_a_certificate_is_printed_written_and_checked_again(fitted, ocbnn, tmp_path):
    out = tmp_path / "proof.json"
    ask = ("certify", fitted / "out", "--rule", "high on the right", "--draws", "20")
    result = ocbnn(*ask, "--least", "0", "--out", out)
    assert result.code == 0, result.err
    assert "of 20 draws keep it at every such input: proved." in result.out
    assert "colour is any of blue, red" in " ".join(result.out.split())
    assert max(map(len, result.out.splitlines())) <= 80 + len(str(out))
    again = ocbnn("certify", "--verify", out, fitted / "out", "--least", "0", "--json")
    assert again.code == 0, again.err
    document = json.loads(again.out)
    (rule,) = document["rules"]
    assert document["verified"] is True
    assert document["verdict"] in ("good", "fair", "poor", "unknown")
    assert rule["draws"] == 20
    assert len(rule["counterexamples"]) == round(20 * rule["broken"])
    assert np.isclose(rule["holds"] + rule["broken"] + rule["undecided"], 1)


def test_a_rule_that_is_not_proved_ends_with_code_3(fitted, ocbnn):
    result = ocbnn(
        "certify", fitted / "out", "--draws", "8", "--rule", "if 2 <= x <= 3 then y > 9"
    )
    assert result.code == 3
    assert "8 violate it: proved." in result.out


@pytest.fixture
def rows(tmp_path):
    """A row to look at, one outside the region, and one without a value."""
    path = tmp_path / "rows.csv"
    path.write_text("x,colour\n0.1,blue\n,red\n2.5,red\n")
    return path


def test_rows_of_a_table_keep_their_numbers_and_those_left_out_are_named(
    fitted, ocbnn, rows, tmp_path
):
    model, out = fitted / "out", tmp_path / "rows.json"
    ask = ("certify", model, "--rule", "high on the right", "--at", rows)
    ask = (*ask, "--tolerance", "x=0.1", "--draws", "8", "--least", "0")
    result = ocbnn(*ask, "--out", out)
    assert result.code == 0, result.err
    page = " ".join(result.out.split())
    assert "around 1 of 3 rows" in page
    assert "even with their tolerance: row 1." in page
    assert "because an input is missing: row 2." in page
    assert "Tolerances: x 0.1." in page
    assert "exactly as in the row: colour." in page
    (rule,) = json.loads(out.read_text())["rules"]
    assert [place["row"] for place in rule["places"]] == [3]
    assert rule["around"]["tolerance"] == [0.1, 0, 0]
    again = ocbnn("certify", model, "--verify", out, "--least", "0")
    assert "its rows are those of a table" in " ".join(again.out.split())
    check = ("certify", model, "--verify", out, "--least", "0", "--at", rows)
    assert "its rows are those of a table" not in " ".join(ocbnn(*check).out.split())
    rows.write_text("x,colour\n0.1,blue\n,red\n2.4,red\n")
    forged = ocbnn(*check)
    assert (forged.code, "row 3 differs from the table's" in forged.err) == (1, True)


def test_what_cannot_be_asked_is_said_in_words_of_the_command_line(fitted, ocbnn, rows):
    many = "--tolerance dose=0.1 --tolerance pressure=5"
    for options, said in (
        (("--within", "x"), "name the column, then"),
        (("--within", "x=3"), "its least and greatest value"),
        (("--within", "x=0:1,y=0:1"), "name the column, then"),
        (("--within", "x=0:inf"), "finite numbers, got (0.0, inf). Write --within x="),
        (("--within", "x=0:1", "--within", "x=0:2"), "'x' is given twice"),
        (("--within", "x=9:8"), "Give others: --within x=LOW:HIGH"),
        (("--tolerance", "x=a"), many),
        (("--tolerance", "x"), many),
        (("--at", rows, "--tolerance", "x=0.1,colour=5"), many),
        (("--at", rows, "--tolerance", "q=1"), "--tolerance names 'q'"),
        (("--at", rows), "Write --at FILE --tolerance x=0.1"),
        (("--at", rows, "--tolerance", "1", "--within", "x=0:1"), "one of them out"),
        (("--rule", "high on the rihgt"), "Did you mean `high on the right`?"),
        (("--rule", "y <"), "--rule: cannot read the rule"),
        (("--rule", "a", "--rule", "b"), "--rule is given 2 times"),
        (("--boxes=3", "--boxes", "4"), "--boxes is given 2 times"),
        (("--verify", rows.parent / "none.json"), "no such certificate"),
        (("--verify", rows.parent), "this is a folder"),
        (("--verify", "none.json", "--rule", "x"), "takes no --rule"),
        (("--verify", "none.json", "--draws", "3"), "takes no --draws"),
    ):
        result = ocbnn("certify", fitted / "out", *options)
        assert result.code == 2, (options, result.err)
        assert said in result.err
        assert "within={" not in result.err


def test_whether_the_file_can_be_written_is_seen_before_anything_is_proved(
    fitted, ocbnn, rows, monkeypatch
):
    monkeypatch.setattr("ocbnn.projects.certificates.prove", None)
    for out, said in (
        (".", "this is a folder. Name a file in it: certificate.json"),
        ("/", "this is a folder"),
        ("", "this is a folder"),
        (rows.parent / "none" / "c.json", "Make it first: mkdir"),
        (rows, "is not a certificate. Name another one"),
        (fitted / "out" / "model.ocbnn", "is not a certificate. Name another one"),
    ):
        result = ocbnn("certify", fitted / "out", "--out", out)
        assert (result.code, said in result.err) == (2, True), result.err


def test_what_is_no_model_is_called_what_it_is(fitted, ocbnn):
    for name, said in (("rows.csv", "a table"), ("study.toml", "a study file")):
        result = ocbnn("certify", fitted / name)
        assert result.code == 2
        assert f"this is {said}, not a model" in result.err


def test_programs_read_what_went_wrong(fitted, ocbnn, tmp_path):
    result = ocbnn("certify", fitted / "out", "--rule", "nothing", "--json")
    assert result.code == 2
    assert json.loads(result.out)["error"] in result.err
    (tmp_path / "c.json").write_text("{}")
    asked = ("certify", fitted / "out", "--verify", tmp_path / "c.json", "--json")
    result = ocbnn(*asked)
    assert result.code == 1
    assert json.loads(result.out)["verified"] is False


def test_programs_read_that_it_was_stopped_before_anything_was_decided(
    fitted, ocbnn, monkeypatch
):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("ocbnn.cli.certify.opened", interrupted)
    monkeypatch.setattr("ocbnn.cli.exits.os._exit", sys.exit)
    result = ocbnn("certify", fitted / "out", "--json")
    assert result.code == 130
    assert json.loads(result.out) == {"error": "stopped. Nothing was written."}
    assert "stopped. Nothing was written." in result.err
    assert ocbnn("certify", fitted / "out").out == ""


def test_progress_is_told_beside_the_result(fitted, ocbnn):
    ask = ("certify", fitted / "out", "--draws", "8", "--least", "0")
    result = ocbnn(*ask)
    assert "certify: " in result.err
    assert "of 16 questions decided at first sight" in result.err
    assert "certify: " not in result.out
    assert json.loads(ocbnn(*ask, "--json").out)["stopped"] is False


def test_draws_are_a_number_or_all(fitted, ocbnn):
    ask = ("certify", fitted / "out", "--least", "0", "--json", "--draws")
    for rule in json.loads(ocbnn(*ask, "all").out)["rules"]:
        assert rule["draws"] == rule["available_draws"] == 60
    for wrong in ("0", "-3", "every", "2.5"):
        result = ocbnn(*ask, wrong)
        assert (result.code, "or `--draws all`" in result.err) == (2, True), result.err


def test_ctrl_c_leaves_what_was_decided_until_then(
    fitted, ocbnn, tmp_path, monkeypatch
):
    def interrupted(proofs, _):
        proofs[0].glance()  # and then a person had enough

    monkeypatch.setattr("ocbnn.certificates.certification.decide_all", interrupted)
    monkeypatch.setattr("ocbnn.cli.exits.os._exit", sys.exit)
    model, out = fitted / "out", tmp_path / "so far.json"
    result = ocbnn("certify", model, "--draws", "8", "--out", out, "--json")
    assert result.code == 130
    document = json.loads(result.out)
    assert (document["stopped"], document["holds"]) == (True, False)
    assert [rule["undecided"] for rule in document["rules"]][1] == 1
    assert "the results so far are above" in result.err
    again = ocbnn("certify", model, "--verify", out, "--least", "0")
    assert again.code == 3, again.err
    assert "8 remain undecided: it was stopped before." in " ".join(again.out.split())
