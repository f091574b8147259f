"""`ocbnn certify` as a person runs it."""

import json

import numpy as np


def test_a_certificate_is_printed_written_and_checked_again(fitted, ocbnn, tmp_path):
    out = tmp_path / "proof.json"
    ask = ("certify", fitted / "out", "--rule", "high on the right", "--draws", "20")
    shown = ocbnn(*ask, "--least", "0", "--out", out)
    assert shown.code == 0, shown.err
    assert "of 20 draws keep it at every such input: proved." in shown.out
    assert "sets no bounds for colour=blue, colour=red" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80 + len(str(out))
    again = ocbnn("certify", "--verify", out, fitted / "out", "--least", "0", "--json")
    assert again.code == 0, again.err
    (rule,) = json.loads(again.out)["rules"]
    assert rule["draws"] == 20
    assert np.isclose(rule["holds"] + rule["broken"] + rule["undecided"], 1)


def test_a_rule_that_is_not_proved_ends_with_code_3(fitted, ocbnn):
    shown = ocbnn(
        "certify", fitted / "out", "--draws", "8", "--rule", "if 2 <= x <= 3 then y > 9"
    )
    assert shown.code == 3
    assert "8 break it: proved." in shown.out


def test_rows_of_a_table_are_certified(fitted, ocbnn, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("x,colour\n2.5,red\n0.1,blue\n")
    ask = ("certify", fitted / "out", "--rule", "high on the right", "--at", rows)
    shown = ocbnn(*ask, "--tolerance", "x=0.1", "--draws", "8", "--least", "0")
    assert shown.code == 0, shown.err
    assert "around 1 row," in shown.out


def test_wrong_options_are_named(fitted, ocbnn, tmp_path):
    model = fitted / "out"
    for options, said in (
        (("--within", "x"), "name the column first"),
        (("--within", "x=3"), "its least and its greatest value"),
        (("--tolerance", "x=a"), "'a' is no number"),
        (("--verify", tmp_path / "none.json"), "no such certificate"),
        (("--verify", tmp_path / "none.json", "--rule", "x"), "leave the other"),
    ):
        shown = ocbnn("certify", model, *options)
        assert shown.code == 2, shown.err
        assert said in shown.err
