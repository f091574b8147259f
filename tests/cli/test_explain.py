"""`ocbnn explain`: what it advises are commands, and what it is given may be wrong."""

import shutil

import numpy as np
import pytest

import ocbnn as library
from ocbnn.analysis import explanation, rule_removal
from ocbnn.errors import StorageError
from tests.cli.conftest import STUDY


def test_advice_is_a_command_and_not_a_call(fitted, ocbnn, monkeypatch):
    nothing = rule_removal.RemovalWeights(np.zeros(60), np.inf, False)
    monkeypatch.setattr(explanation, "removal", lambda *_: nothing)
    name = "high on the right"
    result = ocbnn("explain", fitted / "out", "--rule", name, "--no-refit")
    text = " ".join(result.out.split())
    assert ": unknown" in text
    # The fixture's folder has a blank in its name.
    assert f"`ocbnn explain '{fitted / 'out'}' --rule '{name}' --refit`" in text
    assert "refit=True" not in text
    model = library.load(fitted / "out")
    sentence = model.explain(name, refit=False)[name].sentence
    assert f"explain('{name}', refit=True) shows what changes" in sentence


def test_a_report_of_the_command_line_advises_commands(tmp_path, ocbnn, fitted):
    shutil.copy(fitted / "rows.csv", tmp_path)
    odd = STUDY.replace("y >= 0.2", "y >= 9").replace('"if 2 <= x', '"if 1 <= x')
    (tmp_path / "study.toml").write_text(odd)
    out = tmp_path / "out"
    assert ocbnn("fit", tmp_path / "study.toml", "--out", out, "--quick").code == 0
    text = " ".join((out / "report.txt").read_text().split())
    assert f"`ocbnn explain {out}` names them" in text
    assert "conflicts" not in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rows.csv"], "rows.csv: this is a table, not a model."),
        (["study.toml"], "this is a study file, not a model. `ocbnn fit"),
        (["out", "--refit", "--no-refit"], "write one of them, or neither."),
    ],
)
def test_what_is_no_model_is_called_by_its_name(fitted, ocbnn, words, message):
    result = ocbnn("explain", fitted / words[0], *words[1:])
    assert result.code == 2
    assert message in result.err


def test_the_folder_of_a_fit_is_loaded_in_python_too(fitted, tmp_path):
    model = library.load(fitted / "out")
    assert len(model.rules_) == 2
    shutil.copy(fitted / "out" / "run.json", tmp_path)
    with pytest.raises(StorageError, match=r"has no model yet. `ocbnn resume"):
        library.load(tmp_path)
