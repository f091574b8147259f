"""Certificates of fitted models."""

import warnings

import numpy as np
import pytest

import ocbnn
from ocbnn.errors import (
    CertificateError,
    DataError,
    InferenceWarning,
    SettingError,
)
from tests.certificates.certified import certified_model

HIGH = "if 3 <= x <= 4 then y >= 0.3"


@pytest.fixture(scope="module")
def model():
    return certified_model()


@pytest.fixture(scope="module")
def high(model):
    """Of a rule that only some draws keep."""
    return ocbnn.certify(model, HIGH)


def test_draws_are_proved_to_hold_or_shown_to_break(model, high):
    result = high.rules[0]
    grid = np.linspace(3, 4, 1001)[:, None]
    lowest = model.sample_functions(grid, model.draws_.size).min(axis=1)
    status = result.status[0]
    assert 0.05 < result.holds < 0.95
    assert result.undecided < 0.02
    # Single precision is right to about a millionth.
    assert np.all(lowest[status == 1] > 0.3 - 1e-5)
    assert np.all(lowest[status == -1] < 0.3 + 1e-5)
    assert result.counterexamples
    for one in result.counterexamples:
        assert 3 <= one.x[0] <= 4
        assert one.y[0] < 0.3


def test_probability_is_a_binomial_bound_from_what_draws_are_worth(high):
    from scipy.stats import binomtest

    result = high.rules[0]
    trials = int(min(len(result.draws), result.effective))
    kept = int(np.floor(result.holds * trials + 1e-9))
    exact = binomtest(kept, trials).proportion_ci(0.90, "exact").low
    assert result.probability == pytest.approx(exact)
    assert result.probability < result.holds


@pytest.mark.parametrize("far", ["abs(x) >= 10", "x <= -10 or x >= 10"])
def test_nothing_is_proved_where_a_rule_does_not_speak(model, far):
    with pytest.raises(SettingError, match="has no input within the bounds"):
        ocbnn.certify(model, f"far: if {far} then y >= 100", draws=5)
    near = f"near: if {far} or abs(x - 1) <= 0.1 then y >= 100"
    around = ocbnn.certify(model, near, at=[[0.0], [1.0]], tolerance=0.05, draws=5)
    assert around["near"].around.outside == (1,)
    assert around["near"].broken == 1.0


def test_classes_that_are_masked_are_never_given():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (40, 1))
    model = ocbnn.OCBNNClassifier(
        "calm: if -1 <= x <= 1 then c not in {high} [strength=hard]",
        outputs="c",
        hidden=(4,),
        inference=ocbnn.NUTS(chains=2, warmup=50, draws=30, max_depth=4),
        random_state=0,
    )
    inside = np.abs(X[:, 0]) <= 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        model.fit(X, np.where(inside, "low", np.where(X[:, 0] > 0, "high", "mid")))
    rule_certificate = ocbnn.certify(model)["calm"]
    assert (rule_certificate.holds, "are masked" in rule_certificate.reading) == (
        1.0,
        True,
    )
    assert rule_certificate.probability == 1.0
    # The same words as a rule of one's own are about what the weights say.
    own = ocbnn.certify(model, "own: if -2 <= x <= 2 then c not in {high}")["own"]
    assert own.broken > 0
    ocbnn.verify(ocbnn.certify(model), model)


def test_draws_that_a_hard_rule_rules_out_are_worth_nothing():
    x = np.linspace(-2, 2, 20)[:, None]
    model = ocbnn.OCBNNRegressor(
        "wing: if 2 <= x <= 4 then y >= 0 [strength=hard, points=2]",
        hidden=(5,),
        noise=0.1,
        inference=ocbnn.NUTS(chains=2, warmup=200, draws=200, max_depth=5),
        random_state=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        model.fit(x, np.sin(x[:, 0]), refine=False)
    record = model.held_
    assert record.ess < record.draws
    rule_certificate = ocbnn.certify(model)["wing"]
    worth = min(
        model.verdict_.ess_min * record.ess / record.draws, len(rule_certificate.draws)
    )
    assert rule_certificate.effective == pytest.approx(worth)


def test_every_rule_of_the_model_is_looked_at_and_data_bound_what_rules_do_not(model):
    certificate = ocbnn.certify(model, draws=40)
    assert [rule.rule for rule in certificate] == ["up", "cap"]
    assert certificate["cap"].cut == ("x",)
    assert certificate["cap"].places[0].low == (-2.0,)
    text = " ".join(str(certificate).split())
    assert "does not bound x on both sides" in text
    assert "is unknown beyond" in text
    wider = ocbnn.certify(model, "cap", within={"x": (-1, 0.5)}, draws=40)
    assert (wider["cap"].places[0].low, wider["cap"].places[0].high) == ((-1,), (0.5,))


def test_rows_are_certified_with_a_tolerance(model):
    rows = np.array([[2.95], [3.5], [0.0]])
    rule_certificate = ocbnn.certify(
        model, "up", at=rows, tolerance={"x": 0.1}, draws=40
    )["up"]
    # The first row's box reaches into the region, the last one's does not.
    assert [place.row for place in rule_certificate.places] == [1, 2]
    assert rule_certificate.places[0].low == (3.0,)
    assert rule_certificate.status.shape == (2, 40)
    assert "around 2 of 3 rows" in str(rule_certificate)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"at": [[1.0]]}, "at and tolerance belong together"),
        (
            {"rule": "up", "at": [[1.0]], "tolerance": {"z": 1}},
            "which is not an input: x",
        ),
        ({"rule": "up", "at": [[1.0]], "tolerance": -1}, "zero or more"),
        ({"rule": "cap", "within": {"q": (0, 1)}}, "which is not an input: x"),
        ({"rule": "cap", "within": {"x": (3, 1)}}, "leave nothing of the region"),
        ({"rule": "up", "within": {"x": (5, 6)}}, "leave nothing of the region"),
        ({"rule": "cap", "within": {"x": 5}}, "must be two finite numbers, got 5"),
        ({"rule": "cap", "within": {"x": (0, np.inf)}}, "must be two finite numbers"),
        ({"at": [[1.0]], "tolerance": [1, 2]}, "one for each of the 1 inputs"),
        ({"at": [[1.0]], "tolerance": {"x": "a"}}, "got {'x': 'a'}. Write"),
        ({"at": [[1.0]], "tolerance": 1, "within": {"x": (0, 1)}}, "one of them out"),
        ({"draws": 0}, "draws must be a whole number above zero, got 0"),
        ({"rule": "upp"}, "is called 'upp'. Did you mean `up`. It has 'up', 'cap'"),
        ({"boxes": 0}, "boxes must be a whole number"),
        ({"confidence": 2.0}, "between 0 and 1"),
        ({"rule": 3}, "the name of a rule"),
    ],
)
def test_what_cannot_be_asked_is_said(model, asked, message):
    with pytest.raises(SettingError, match=message):
        ocbnn.certify(model, **asked)


def test_rows_far_from_the_region_have_nothing_to_prove(model):
    with pytest.raises(CertificateError, match="nothing to prove"):
        ocbnn.certify(model, "up", at=[[0.0]], tolerance=0.1)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0], [np.nan]], "row 2 has nan in column 1. Leave such rows out"),
        ([["a"]], "rows of the model's inputs"),
        ([[1.0, 2.0]], "rows of the model's inputs"),
    ],
)
def test_rows_that_are_none_are_refused(model, rows, message):
    with pytest.raises(DataError, match=message):
        ocbnn.certify(model, "up", at=rows, tolerance=0.1)


def test_a_path_is_no_model():
    with pytest.raises(SettingError, match="got str: 'results'"):
        ocbnn.certify("results")


def test_draws_are_worth_no_more_than_were_looked_at(model):
    one = ocbnn.certify(model, "up", draws=1)["up"]
    assert one.effective == 1
    assert one.probability <= 0.05 + 1e-9
    page = " ".join(str(one).split())
    assert "Examined 1 of the model's 200 draws" in page
    assert "from 1 effective draw)" in page


def test_a_part_of_a_region_is_called_a_part(model):
    certificate = ocbnn.certify(model, "up", within={"x": (3.2, 9)}, draws=8)
    rule = certificate["up"]
    assert rule.places[0].low == (3.2,)
    assert rule.places[0].high == (4.0,)
    assert rule.narrowed == ("x",)
    assert rule.to_dict()["narrowed"] == ["x"]
    assert "only a part of the rule's region, which was restricted along x" in " ".join(
        str(rule).split()
    )
    ocbnn.verify(certificate, model)
    assert (
        ocbnn.certify(model, "up", within={"x": (0, 9)}, draws=8)["up"].narrowed == ()
    )


def test_the_page_says_what_was_asked_and_how_good_the_fit_is(model, high):
    page = " ".join(str(high).split())
    assert "given as text, which the model may not have" in page
    assert f"The verdict of the fit is {model.verdict_.status!r}." in page
    assert high.to_dict()["verdict"] == model.verdict_.status
    named = " ".join(str(ocbnn.certify(model, "up", draws=8)).split())
    assert "About rule 'up' only; the model may have others." in named
    assert "given as text" not in named


def test_the_bound_that_draws_can_bear_comes_first(high):
    page = " ".join(str(high).split())
    bound = page.index("keeps the rule at all these inputs with probability")
    assert bound < page.index("By these draws alone")


def test_counterexamples_are_plain_values(high):
    first = high.to_dict()["rules"][0]["counterexamples"][0]
    assert first["row"] is None
    assert 3 <= first["x"]["x"] <= 4
    assert first["y"]["y"] < 0.3


def test_rows_left_out_are_counted_and_tolerances_named(model):
    rows = np.array([[2.95], [3.5], [0.0]])
    rule_certificate = ocbnn.certify(model, "up", at=rows, tolerance={}, draws=8)["up"]
    assert rule_certificate.to_dict()["rows"] == {
        "asked": 3,
        "looked_at": 1,
        "outside": [1, 3],
        "missing": [],
        "tolerance": {"x": 0.0},
    }
    page = " ".join(str(rule_certificate).split())
    assert "around 1 of 3 rows" in page
    assert "even with their tolerance: rows 1, 3." in page
    assert "Without a tolerance, exactly as in the row: x." in page


def test_classes_are_judged_by_the_most_probable_one():
    model = ocbnn.OCBNNClassifier(
        rules="low: if -2 <= x <= -1 then y in {0}",
        hidden=(3,),
        inputs=["x"],
        outputs=["y"],
        inference=ocbnn.NUTS(chains=2, warmup=30, draws=20, max_depth=3),
        random_state=0,
    )
    X = np.linspace(-2, 2, 20)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        model.fit(X, (X[:, 0] > 0).astype(int))
    proved = ocbnn.certify(model)
    assert "most probable class is one that the rule" in str(proved)
    assert proved["low"].outputs == ("0", "1")
    ocbnn.verify(proved, model)
