"""A fitted model as a value: what follows from it, and what takes it."""

import dataclasses
import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import ocbnn
from ocbnn import OCBNNClassifier, OCBNNRegressor
from ocbnn.analysis import check_rules, conflicts, explain
from ocbnn.errors import DataError, RuleError, SettingError
from ocbnn.fitted import FittedModel, obey, refine
from tests.estimators.usual import CHAINS, X

LOW = "low: if 2 <= x <= 3 then y <= 0.5"
Y = np.sin(X[:, 0])

pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")


@pytest.fixture(scope="module")
def model():
    model = OCBNNRegressor(
        LOW,
        hidden=(4,),
        noise=0.1,
        inference=CHAINS,
        random_state=0,
        progress=False,
    )
    return model.fit(X, Y)


@pytest.fixture(scope="module")
def fitted(model):
    return model.fitted_


def test_a_record_does_not_change(fitted):
    assert isinstance(fitted, FittedModel)
    with pytest.raises(dataclasses.FrozenInstanceError):
        fitted.draws = None


def test_an_estimators_attributes_are_the_records(model, fitted):
    for name in ("draws", "verdict", "rules", "target", "schema", "choice"):
        assert getattr(model, f"{name}_") is getattr(fitted, name)
    assert model.held_ is fitted.hard_rules
    np.testing.assert_array_equal(model.noise_, fitted.predictive.noise())
    with pytest.raises(NotFittedError):
        OCBNNRegressor().report()


def test_attributes_of_what_is_not_fitted_say_so_in_the_usual_sentence():
    attributes = [
        (kind, name)
        for kind in (OCBNNRegressor, OCBNNClassifier)
        for name, value in inspect.getmembers(kind)
        if not name.startswith("_") and name.endswith("_")
        if isinstance(value, property)
    ]
    assert (OCBNNRegressor, "relevance_") in attributes
    assert (OCBNNClassifier, "classes_") in attributes
    for kind, name in attributes:
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            getattr(kind(), name)
        assert not hasattr(kind(), name)


def test_analyses_take_the_record_as_the_estimator_does(model, fitted):
    assert check_rules(fitted) == check_rules(model) == model.check_rules()
    assert check_rules(fitted, rules=model) == model.check_rules(rules=fitted)
    rows = pd.DataFrame({"x": [2.5, 0.0]})
    assert check_rules(fitted, X=rows) == model.check_rules(X=rows.to_numpy())
    for given in (model, fitted):
        explanations = explain(given, "low", refit=False)
        assert str(explanations) == str(model.explain("low", refit=False))
        assert str(conflicts(given, progress=False)) == str(model.conflicts())
    options = {"draws": 5, "boxes": 64}
    proofs = [
        ocbnn.certify(given, "low", progress=False, **options)
        for given in (model, fitted)
    ]
    proofs.append(model.certify("low", **options))
    first, *others = ({**p.to_dict()["rules"][0], "seconds": 0} for p in proofs)
    assert all(other == first for other in others)
    assert ocbnn.verify(proofs[0], fitted) is proofs[0]


@pytest.mark.parametrize("function", [check_rules, conflicts, explain, refine, obey])
def test_what_is_not_a_fitted_model_is_refused_in_a_sentence(function):
    with pytest.raises(SettingError, match="must be a fitted model, got str"):
        function("model.ocbnn")
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        function(OCBNNRegressor())


def test_second_fits_belong_to_the_draws_that_they_are_compared_with(fitted):
    fitted.second_fits["low"] = fitted.draws
    other = dataclasses.replace(fitted, draws=dataclasses.replace(fitted.draws))
    assert other.second_fits == {}
    fitted.second_fits.clear()


def test_rows_are_told_by_the_names_that_a_fit_is_given(model):
    named = OCBNNRegressor(**model.get_params(deep=False))
    names = [f"day {number}" for number in range(len(X))]
    assert named.fit(X, Y, row_names=names).fitted_.rows.name(3) == "day 3"
    with pytest.raises(DataError, match="must name each of 20 rows, got 1 names"):
        named.fit(X, Y, row_names=["day 0"])


def test_inputs_are_found_by_name_and_counted(fitted):
    frame = pd.DataFrame({"z": [9.0], "x": [1.0]})
    np.testing.assert_array_equal(fitted.inputs_of(frame), [[1.0]])
    with pytest.raises(DataError, match="no column 'x'"):
        fitted.inputs_of(frame[["z"]])
    with pytest.raises(DataError, match="X has 2 columns, and rows of the model's"):
        fitted.inputs_of([[1.0, 2.0]])


def test_a_model_whose_fit_failed_is_not_the_one_before(model):
    again = OCBNNRegressor(**model.get_params(deep=False)).fit(X, Y)
    with pytest.raises(RuleError):
        again.set_params(rules=[LOW, LOW]).fit(X, Y)
    with pytest.raises(NotFittedError):
        again.predict(X)


def test_classes_are_told_as_they_were_given():
    labels = np.where(X[:, 0] > 0, 7, 3)
    model = OCBNNClassifier(hidden=(4,), inference=CHAINS, random_state=0)
    fitted = model.fit(X, labels).fitted_
    assert fitted.given.labels.tolist() == [3, 7]
    assert fitted.observed([7, 3, 7]).tolist() == [1, 0, 1]
    with pytest.raises(DataError, match="does not know, '5'"):
        fitted.observed([5])
