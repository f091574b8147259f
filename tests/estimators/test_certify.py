"""Certificates of fitted models, and files of them."""

import json
import warnings

import numpy as np
import pytest

import ocbnn
from ocbnn.core.errors import CertificateError, InferenceWarning, SettingError
from ocbnn.estimators.certificate_file import read, verify
from tests.estimators.usual import CHAINS, X

RULES = ["up: if 3 <= x <= 4 then y >= 0", "cap: y <= 3 [sampler=like-data]"]
HIGH = "if 3 <= x <= 4 then y >= 0.3"


@pytest.fixture(scope="module")
def model():
    found = ocbnn.OCBNNRegressor(
        rules=RULES, hidden=(5,), noise=0.1, inference=CHAINS, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        return found.fit(X, np.sin(X[:, 0]))


@pytest.fixture(scope="module")
def high(model):
    """Of a rule that only some draws keep."""
    return ocbnn.certify(model, HIGH)


def test_draws_are_proved_to_hold_or_shown_to_break(model, high):
    found = high.rules[0]
    grid = np.linspace(3, 4, 1001)[:, None]
    lowest = model.sample_functions(grid, model.draws_.size).min(axis=1)
    status = found.status[0]
    assert 0.05 < found.holds < 0.95
    assert found.undecided < 0.02
    # Single precision is right to about a millionth.
    assert np.all(lowest[status == 1] > 0.3 - 1e-5)
    assert np.all(lowest[status == -1] < 0.3 + 1e-5)
    for one in found.counterexamples:
        assert 3 <= one.x[0] <= 4
        assert one.y[0] < 0.3


def test_probability_is_a_binomial_bound_from_what_draws_are_worth(high):
    from scipy.stats import binomtest

    found = high.rules[0]
    trials = int(min(len(found.draws), found.effective))
    kept = int(np.floor(found.holds * trials + 1e-9))
    exact = binomtest(kept, trials).proportion_ci(0.90, "exact").low
    assert found.probability == pytest.approx(exact)
    assert found.probability < found.holds


def test_every_rule_of_the_model_is_looked_at_and_data_bound_what_rules_do_not(model):
    found = ocbnn.certify(model, draws=40)
    assert [rule.rule for rule in found] == ["up", "cap"]
    assert found["cap"].cut == ("x",)
    assert found["cap"].places[0].low == (-2.0,)
    assert "is unknown beyond" in str(found)
    wider = ocbnn.certify(model, "cap", within={"x": (-1, 0.5)}, draws=40)
    assert (wider["cap"].places[0].low, wider["cap"].places[0].high) == ((-1,), (0.5,))


def test_rows_are_certified_with_a_tolerance(model):
    rows = np.array([[2.95], [3.5], [0.0]])
    found = ocbnn.certify(model, "up", at=rows, tolerance={"x": 0.1}, draws=40)["up"]
    # The first row's box reaches into the region, the last one's does not.
    assert [place.row for place in found.places] == [0, 1]
    assert found.places[0].low == (3.0,)
    assert found.status.shape == (2, 40)
    assert "around 2 rows" in str(found)


def test_a_certificate_is_checked_again_from_its_file(model, high, tmp_path):
    path = tmp_path / "certificate.json"
    high.save(path)
    again = read(path)
    verify(again, model)
    assert str(again) == str(high)
    assert np.array_equal(again.rules[0].status, high.rules[0].status)


def _claim_that_all_hold(rule):
    rule["status"] = ["h" * len(rule["draws"])]
    rule["splits"] = {f"0 {draw}": "." for draw in rule["draws"]}
    rule["counterexamples"] = []


def _claim_a_smaller_region(rule):
    rule["places"][0]["low"] = [3.5]


def _claim_a_break(rule):
    draw = rule["draws"].index(next(iter(map(_draw, rule["splits"]))))
    row = list(rule["status"][0])
    row[draw] = "b"
    rule["status"] = ["".join(row)]


def _draw(where):
    return int(where.split()[1])


def _move_a_counterexample(rule):
    rule["counterexamples"][0]["x"] = [99.0]


def _cut_a_proof(rule):
    rule["splits"][next(iter(rule["splits"]))] = "0 ."


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (_claim_that_all_hold, "do not prove that it holds"),
        (_claim_a_smaller_region, "leaves out a part of the region along x"),
        (_claim_a_break, "no input shows that"),
        (_move_a_counterexample, "does not break it at"),
        (_cut_a_proof, "has no proof"),
    ],
)
def test_a_statement_that_is_not_true_does_not_stand(
    model, high, tmp_path, tamper, said
):
    path = tmp_path / "certificate.json"
    high.save(path)
    content = json.loads(path.read_text())
    tamper(content["rules"][0])
    path.write_text(json.dumps(content))
    with pytest.raises(CertificateError, match=said):
        verify(read(path), model)


def test_a_certificate_of_another_model_is_refused(model, high, tmp_path):
    path = tmp_path / "certificate.json"
    high.save(path)
    content = json.loads(path.read_text())
    content["model"] = "0" * 64
    path.write_text(json.dumps(content))
    with pytest.raises(CertificateError, match="another model"):
        verify(read(path), model)
    path.write_text('{"kind": "ocbnn certificate"}')
    with pytest.raises(CertificateError, match="no certificate that can be read"):
        read(path)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"at": [[1.0]]}, "at and tolerance belong together"),
        ({"rule": "up", "at": [[1.0]], "tolerance": {"z": 1}}, "which is no input: x"),
        ({"rule": "up", "at": [[1.0]], "tolerance": -1}, "zero or more"),
        ({"rule": "cap", "within": {"q": (0, 1)}}, "which is no input: x"),
        ({"rule": "cap", "within": {"x": (3, 1)}}, "leave nothing of the region"),
        ({"boxes": 0}, "boxes must be a whole number"),
        ({"confidence": 2.0}, "between 0 and 1"),
        ({"rule": 3}, "the name of a rule"),
    ],
)
def test_what_cannot_be_asked_is_said(model, asked, said):
    with pytest.raises(SettingError, match=said):
        ocbnn.certify(model, **asked)


def test_rows_far_from_the_region_have_nothing_to_prove(model):
    with pytest.raises(CertificateError, match="nothing to prove"):
        ocbnn.certify(model, "up", at=[[0.0]], tolerance=0.1)
