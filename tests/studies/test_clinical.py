"""Table 1: patients are never on both sides, and numbers mean what they say."""

import json

import numpy as np
import pytest

from ocbnn.datasets.clinical import clinical_windows
from ocbnn.errors import DataError, SettingError
from ocbnn.inference import SVGD
from ocbnn.rules import Schema, bind, parse_rule
from ocbnn.studies import clinical, reproduce
from ocbnn.studies.base import summed_up
from ocbnn.studies.clinical import SETTINGS, _fold, _patient_folds, _scores
from ocbnn.studies.clinical_report import PAPER

pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")


@pytest.fixture(scope="module")
def table():
    return clinical_windows()


@pytest.fixture(scope="module")
def bound(table):
    schema = Schema(table.names, ("action",), ("act", "not"))
    return bind(parse_rule(SETTINGS["best"].rule), schema)


def test_every_patient_is_tested_once_and_never_trained_on_then(table):
    tested = []
    for train, test in _patient_folds(table, 0):
        assert not set(table.subjects[train]) & set(table.subjects[test])
        tested += sorted(set(table.subjects[test]))
    assert sorted(tested) == sorted(set(table.subjects))


@pytest.mark.parametrize("is_filtered", [True, False])
def test_folds_are_balanced_and_filtered_of_training_rows_only(
    table, bound, is_filtered
):
    fold = _fold(table, bound, 0, 1, is_filtered=is_filtered)
    for _, y in (fold.train, fold.test):
        assert (y == "act").mean() == 0.5
    assert bound.applies(fold.train[0]).any() != is_filtered
    assert bound.applies(fold.test[0]).any()
    assert np.isfinite(fold.train[0]).all()
    assert np.isfinite(fold.test[0]).all()


def test_both_cases_are_tested_on_the_same_rows(table, bound):
    filtered, whole = (
        _fold(table, bound, 3, 2, is_filtered=flag).test for flag in (True, False)
    )
    assert (filtered[1] == whole[1]).all()
    assert (filtered[0][:, 0] == whole[0][:, 0]).all()


def test_scores_by_hand(table, bound):
    X = np.tile(np.nanmedian(table.X, axis=0), (5, 1))
    X[:, 0] = [50, 64.9, 65, 80, 90]
    y = np.array(["act", "not", "act", "not", "act"])
    says = np.array(["act", "not", "act", "act", "not"])
    result = _scores(says, bound, X, y)
    # Acted and right: rows 0 and 2; acted in all three times, done three times.
    assert result["f1"] == pytest.approx(2 * 2 / (3 + 3))
    assert result["acc"] == pytest.approx(3 / 5)
    assert result["viol"] == pytest.approx(1 / 5)
    assert result["viol_inside"] == pytest.approx(1 / 2)
    assert result["acc_inside"] == 1.0
    assert result["acc_outside"] == pytest.approx(1 / 3)
    assert result["f1_outside"] == pytest.approx(2 * 1 / (2 + 2))
    assert (result["rows"], result["rows_inside"]) == (5, 2)
    outside = _scores(says[2:], bound, X[2:], y[2:])
    assert outside["viol"] is outside["viol_inside"] is None


def test_means_and_spreads_over_folds():
    splits = [{"test": {"acc": 0.4, "viol": None}}, {"test": {"acc": 0.6, "viol": 1}}]
    result = summed_up(splits)["test"]
    assert result["acc"] == pytest.approx(0.5)
    assert result["acc_sd"] == pytest.approx(np.std([0.4, 0.6], ddof=1))
    assert result["viol"] is result["viol_sd"] is None


def test_the_papers_columns_are_given_in_both_readings():
    printed, described = PAPER["as_printed"], PAPER["as_described"]
    assert printed["ocbnn"]["unfiltered"]["test"]["viol"] == 0.039
    assert described["ocbnn"]["filtered"]["test"]["viol"] == 0.039
    assert described["bnn"]["filtered"]["train"]["viol"] is None


def test_a_small_run_keeps_the_contract(tmp_path, monkeypatch):
    small = lambda **_: SVGD(particles=4, iterations=3, learning_rate=0.01)
    monkeypatch.setattr(clinical, "SVGD", small)
    monkeypatch.setattr(clinical, "_HIDDEN", (5,))
    monkeypatch.setattr(clinical, "QUICK_FOLDS", 1)
    (result,) = reproduce("table1", preset="paper", quick=True, out=tmp_path)
    for model in ("bnn", "ocbnn"):
        for case in ("filtered", "unfiltered"):
            for side in ("train", "test"):
                outcome = result["models"][model][case][side]
                assert {"acc", "acc_sd", "f1", "f1_sd", "viol", "viol_sd"} <= set(
                    outcome
                )
            assert 0 <= result["models"][model][case]["test"]["viol"] <= 1
        assert result["models"][model]["filtered"]["train"]["viol"] is None
    assert result["data"]["rows"] == 3347
    json.dumps(result, allow_nan=False)
    folder = tmp_path / "table1"
    assert r"\begin{tabular}" in (folder / "table.tex").read_text()
    text = (folder / "table.md").read_text()
    assert "as its table prints them" in text
    assert "0.117" in text
    page = (tmp_path / "index.html").read_text()
    assert 'src="table1/table1.png"' in page
    assert "VIOL inside" in page


def test_a_folder_that_is_no_mimic_is_named(tmp_path):
    with pytest.raises(DataError, match=str(tmp_path / "nothing")):
        reproduce("table1", data=tmp_path / "nothing", out=tmp_path / "out")
    with pytest.raises(SettingError, match="'toys' does not read recordings"):
        reproduce("toys", data=tmp_path, out=tmp_path / "out")
