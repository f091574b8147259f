"""Fitted models under hard rules: what answers, what is refused, what is kept."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import ocbnn
from ocbnn import HMC, NUTS, SVGD, OCBNNClassifier, OCBNNRegressor
from ocbnn.errors import DataError, InferenceError, RuleError, StorageError
from ocbnn.fitted.streams import open_stream
from ocbnn.refinement.hard import refuse_rows
from ocbnn.rules import Schema, bind
from ocbnn.storage import read_bundle, write_bundle
from tests.estimators.usual import X

pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")

Y = np.sin(X[:, 0])
# Hardly moved from the prior, so that some draws break a rule.
SPREAD = SVGD(particles=60, iterations=2)
NEW = np.sort(np.append(np.linspace(1.0, 5.0, 40), [3.0, 4.0]))[:, None]
INSIDE = (NEW[:, 0] >= 3) & (NEW[:, 0] <= 4)
HARD = "wing: if 3 <= x <= 4 then y > 0.5 [strength=hard]"
CLASS = "safe: if 1 <= x <= 4 then y in {high} [strength=hard]"


def regressor(rules=HARD, **settings):
    usual = {"hidden": (3,), "noise": 0.1, "inference": SPREAD, "random_state": 0}
    return OCBNNRegressor(rules, **{**usual, **settings})


@pytest.fixture(scope="module")
def model():
    return regressor().fit(X, Y)


@pytest.fixture(scope="module")
def classifier():
    labels = np.where(X[:, 0] > 0, "high", "low")
    model = OCBNNClassifier(CLASS, hidden=(3,), inference=SPREAD, random_state=0)
    return model.fit(X, labels)


def test_nothing_that_a_regressor_answers_breaks_its_hard_rule(model):
    summary = model.predict_summary(NEW)
    told = [model.predict(NEW), *model.predict_interval(NEW), summary.lower]
    told += [summary.mean, *model.predict_interval(NEW, observation=False)]
    told += list(model.sample_functions(NEW, 50))
    for values in told:
        assert (values[INSIDE] > 0.5).all()
    (check,) = model.check_rules(X=NEW)
    assert (check.violation, check.prediction_violation) == (0.0, 0.0)


def test_draws_stay_as_the_sampler_left_them_and_some_of_them_answer(model):
    record = model.held_
    assert record.draws == model.draws_.size == model.fitted_.predictive.size
    assert 20 <= record.holding < record.draws
    assert model.fitted_.answering.size == len(model.fitted_.kept) == record.holding
    assert record.rules[0].rule == "wing"
    assert record.answering == len(np.unique(model.fitted_.kept))
    assert "draws keep the hard rules" in str(model.report())
    assert model.report().to_dict()["held"]["holding"] == record.holding


def test_soft_rules_leave_every_draw_and_every_answer_as_they_were():
    model = regressor("wing: if 3 <= x <= 4 then y > 0.5").fit(X, Y)
    assert model.held_ is None
    assert model.fitted_.answering is model.fitted_.predictive


def test_a_saved_model_answers_with_the_same_draws(model, tmp_path):
    model.save(tmp_path / "m.ocbnn")
    loaded = ocbnn.load(tmp_path / "m.ocbnn")
    assert loaded.held_ == model.held_
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    np.testing.assert_array_equal(loaded.fitted_.kept, model.fitted_.kept)


def test_a_file_that_does_not_say_which_draws_answer_is_refused(model, tmp_path):
    model.save(tmp_path / "m.ocbnn")
    bundle = read_bundle(tmp_path / "m.ocbnn")
    write_bundle(tmp_path / "n.ocbnn", {**bundle.document, "held": None}, bundle.arrays)
    with pytest.raises(StorageError, match="which draws keep its hard rules"):
        ocbnn.load(tmp_path / "n.ocbnn")
    arrays = {**bundle.arrays, "held/kept": np.array([0, 10**6])}
    write_bundle(tmp_path / "o.ocbnn", bundle.document, arrays)
    with pytest.raises(StorageError, match="names draws that do not exist"):
        ocbnn.load(tmp_path / "o.ocbnn")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ess": "many"}, "record of the hard rules is damaged: the value of 'ess'"),
        ({"weights": "heavy"}, "the value of 'weights' is not valid"),
        ({"rules": [{"rule": "wing"}]}, r"it lacks 'rules\.0\.way'"),
    ],
)
def test_a_damaged_record_of_hard_rules_is_refused(model, tmp_path, changes, message):
    model.save(tmp_path / "m.ocbnn")
    bundle = read_bundle(tmp_path / "m.ocbnn")
    held = {**bundle.document["held"], **changes}
    write_bundle(tmp_path / "m.ocbnn", {**bundle.document, "held": held}, bundle.arrays)
    with pytest.raises(StorageError, match=message):
        ocbnn.load(tmp_path / "m.ocbnn")


def test_a_classifier_never_answers_with_a_forbidden_class(classifier):
    inside = (NEW[:, 0] >= 1) & (NEW[:, 0] <= 4)
    assert (classifier.predict(NEW)[inside] == "high").all()
    assert (classifier.predict_proba(NEW)[inside, 1] == 0.0).all()
    assert classifier.held_.rules[0].way == "masked"
    assert classifier.held_.holding == classifier.held_.draws
    assert np.isneginf(classifier.sample_functions(NEW, 5)[:, inside, 1]).all()
    assert classifier.check_rules()[0].violation == 0.0


def test_forbidden_classes_are_left_out_of_the_likelihood(classifier):
    target = classifier.target_
    outputs = jnp.zeros((len(X), 2))
    logs = target.likelihood.loglik({}, target.X, outputs, target.Y)
    only_one = X[:, 0] >= 1
    np.testing.assert_allclose(np.exp(logs), np.where(only_one, 1.0, 0.5), 1e-6)


def test_data_that_break_a_hard_rule_are_refused_by_name():
    rule = "low: if 0 <= x <= 2 then y <= 0.9 [strength=hard]"
    table = pd.DataFrame({"x": X[:, 0]}, index=[f"r{i}" for i in range(len(X))])
    message = r"5 of 20 rows violate the hard rule 'low'.*r16"
    with pytest.raises(DataError, match=message):
        regressor(rule).fit(table, Y)
    labels = np.where(X[:, 0] > -1.9, "high", "low")
    labels[-1] = "low"
    said = r"'safe'.*row 19 \(counted from 0\)\. Correct.*strength=firm"
    with pytest.raises(DataError, match=said):
        OCBNNClassifier(CLASS, hidden=(3,), inference=SPREAD).fit(X, labels)


def test_rows_in_files_are_judged_block_by_block(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    stream = open_stream(mapped, Y, classes=False, inference=regressor().inference)
    rules = [bind("low: y <= 0.9 [strength=hard]", Schema(("x",), ("y",)))]
    with pytest.raises(DataError, match=r"5 of 20 rows violate the hard rule 'low'"):
        refuse_rows(rules, stream.blocks(), None)
    labels = np.where(Y > 0.9, "high", "low")
    stream = open_stream(mapped, labels, classes=True, inference=regressor().inference)
    rules = [
        bind("y in {low} [strength=hard]", Schema(("x",), ("y",), ("high", "low")))
    ]
    with pytest.raises(DataError, match=r"19 \(counted from 0\)\. Correct"):
        refuse_rows(rules, stream.blocks(), None)


def test_too_few_draws_are_refused_with_numbers_and_the_model_is_not_fitted():
    model = regressor("wing: if 3 <= x <= 4 then y > 50 [strength=hard]")
    with pytest.raises(InferenceError, match=r"0 of 60, worth 0\.0 of equal"):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(NEW)


@pytest.mark.parametrize(
    "claim", ["abs(d(y, x)) <= 1", "d(y, x) > 1 or d(y, x) < 0", "d(y, x) * y >= 0"]
)
def test_hard_slopes_must_lie_between_straight_limits(claim):
    with pytest.raises(RuleError, match=r"between straight limits.*strength=firm"):
        bind(f"if 0 <= x <= 1 then {claim} [strength=hard]", Schema(("x",), ("y",)))


def test_hard_slopes_may_lie_between_limits_that_vary():
    rule = "if 0 <= x <= 1 then 0 <= d(y, x) and 2 * d(y, x) <= 3 - x [strength=hard]"
    bound = bind(rule, Schema(("x",), ("y",)))
    assert bound.slopes == ((0,),)


@pytest.mark.slow
def test_a_slope_rule_that_is_hard_holds_for_the_mean():
    plan = NUTS(chains=2, warmup=300, draws=200)
    rule = "if -1 <= x <= 1 then d(y, x) >= 0.3 [strength=hard]"
    model = regressor(rule, inference=plan, hidden=(5,)).fit(X, Y)
    (check,) = model.check_rules(X=np.linspace(-1, 1, 99)[:, None])
    assert (check.violation, check.prediction_violation) == (0.0, 0.0)


def test_hard_slopes_choose_draws_and_leave_values_alone():
    rule = "if -1 <= x <= 1 then d(y, x) >= -0.2 [strength=hard]"
    model = regressor(rule).fit(X, Y, refine=False)
    assert 20 <= model.held_.holding < model.held_.draws
    (check,) = model.check_rules(X=NEW)
    assert check.violation == 0.0
    assert model.predict(NEW).shape == (len(NEW),)


POSITIVE = "if 3 <= x <= 4 then y > 0 [strength=hard]"


@pytest.mark.slow
def test_functions_of_the_prior_keep_hard_rules():
    functions = regressor(POSITIVE).sample_prior(NEW)
    assert (functions[:, INSIDE] > 0).all()


def test_a_model_that_was_never_fitted_keeps_hard_rules_in_its_prior():
    plan = HMC(chains=1, steps=5, warmup=50, draws=60)
    functions = regressor(POSITIVE, inference=plan).sample_prior(NEW, count=20)
    assert functions.shape == (20, len(NEW))
    assert (functions[:, INSIDE] > 0).all()
    assert (functions[:, ~INSIDE] < 0).any()


def test_a_forbidden_class_has_no_probability_in_the_prior():
    plan = HMC(chains=1, steps=5, warmup=50, draws=60)
    model = OCBNNClassifier(CLASS, hidden=(3,), inference=plan, random_state=0)
    chances = model.sample_prior(NEW, np.where(INSIDE, "high", "low"), count=20)
    inside = NEW[:, 0] <= 4
    assert (chances[:, inside, 1] == 0).all()
    assert (chances[:, ~inside, 1] > 0).all()
