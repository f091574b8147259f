"""No prediction breaks a firm rule that draws keep, however much they differ."""

import csv
import dataclasses
import warnings

import jax
import numpy as np
import pytest

from ocbnn import SVGD, OCBNNClassifier, OCBNNRegressor
from ocbnn.errors import RuleWarning
from ocbnn.predictive.feasible_predictions import feasible_classes
from ocbnn.projects.columns import Rows
from ocbnn.projects.data_split import DataSplit
from ocbnn.projects.predictions import predict_table
from ocbnn.projects.scores import score
from ocbnn.rules import Schema, bind
from ocbnn.studio.document import View
from ocbnn.studio.function_summaries import predictions_in_view
from ocbnn.studio.viewport import window

pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")

SPREAD = SVGD(particles=8, iterations=2)
X = np.stack([np.linspace(-2, 2, 24), np.tile([0.0, 1.0, 2.0], 8)], axis=1)
LABELS = np.tile(["a", "b", "c"], 8)
# Half of the draws say a and half say b; all of them say that c is nearly as likely.
TORN = np.log([[0.5, 0.01, 0.49], [0.01, 0.5, 0.49]])
NEW = np.array([[-1.0, 0.0], [0.0, 0.5], [1.0, 1.0]])


def saying(model, values):
    """The model, whose draws are functions that are the same at every input."""
    draws = model.draws_
    zero = jax.tree.map(np.zeros_like, draws.positions)
    last = zero.weights[-1]
    last = last._replace(bias=np.resize(np.asarray(values), last.bias.shape))
    positions = zero._replace(weights=(*zero.weights[:-1], last))
    model.fitted_ = dataclasses.replace(
        model.fitted_, draws=dataclasses.replace(draws, positions=positions)
    )
    return model


def classifier(*rules):
    model = OCBNNClassifier(
        rules,
        hidden=(2,),
        weight_prior="fan-in",
        inference=SPREAD,
        random_state=0,
        standardize=False,
        inputs=["x", "z"],
    )
    return saying(model.fit(X, LABELS, refine=False), TORN)


@pytest.fixture(scope="module")
def torn():
    return classifier(
        "either: if x >= 0 then y in {a, b} [strength=firm, sampler=like-data]"
    )


def test_the_most_probable_class_that_a_firm_rule_allows_is_predicted(torn):
    assert torn.predict_proba(NEW).argmax(axis=1).tolist() == [2, 2, 2]
    np.testing.assert_allclose(torn.predict_proba(NEW)[0], [0.255, 0.255, 0.49], 1e-5)
    assert torn.predict(NEW).tolist() == ["c", "a", "a"]
    (check,) = torn.check_rules(X=NEW)
    assert check.prediction_violation == 0.0


def test_a_soft_rule_has_no_say_in_what_the_draws_say(torn):
    soft = classifier("either: if x >= 0 then y in {a, b} [sampler=like-data]")
    assert soft.predict(NEW).tolist() == ["c", "c", "c"]


def test_scores_tables_and_pictures_tell_the_class_that_is_predicted(torn, tmp_path):
    predicted = torn.predict(X)
    right = float(np.mean(predicted == LABELS))
    assert 0 < right == torn.score(X, LABELS)
    parts = DataSplit(torn.schema_, (X, LABELS), (X, LABELS), 0, 0, np.arange(24))
    said = score(torn, parts)["outputs"]["y"]["accuracy"]
    assert said == pytest.approx(right)
    table = tmp_path / "new.csv"
    table.write_text("x,z\n" + "".join(f"{a},{b}\n" for a, b in NEW))
    predict_table(torn, table, tmp_path / "out.csv", 0.9)
    with open(tmp_path / "out.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["y_predicted"] for row in rows] == ["c", "a", "a"]
    assert float(rows[2]["y_probability_c"]) == pytest.approx(0.49, abs=1e-5)
    shown = Rows(X, LABELS, torn.schema_, 0, np.arange(24))
    viewport = window(View(along=["x", "z"]), shown)
    result = predictions_in_view(torn, viewport)
    inside = np.broadcast_to(viewport.axes[0] >= 0, np.shape(result["predicted"]))
    assert (np.array(result["predicted"]) == np.where(inside, 0, 2)).all()


def test_a_picture_of_the_classes_is_painted_with_those_that_are_predicted(torn):
    ax = torn.plot()
    paint = np.asarray(ax.collections[0].get_array()).reshape(81, 81, 3)
    left, right = paint[40, 5], paint[40, -5]
    assert not np.allclose(left, right)


def test_firm_class_rules_join():
    some = "one: if x >= 0 then y in {a, b} [strength=firm, sampler=like-data]"
    other = "two: if z >= 1 then y in {b, c} [strength=firm, sampler=like-data]"
    model = classifier(some, other)
    assert model.predict(NEW).tolist() == ["c", "a", "b"]


def test_where_firm_rules_leave_no_class_the_most_probable_is_told_with_a_warning():
    schema = Schema(("x", "z"), ("y",), ("a", "b", "c"))
    texts = [
        "if x > 0 then y in {a} [strength=firm]",
        "if x + z > 1 then y in {b} [strength=firm]",
    ]
    bounds = [bind(text, schema) for text in texts]
    chances = np.tile([0.2, 0.3, 0.5], (3, 1))
    with pytest.warns(RuleWarning, match=r"at 1 of 3 rows.*At x = 1, z = 1 these"):
        assert feasible_classes(bounds, NEW, chances).tolist() == [2, 2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert feasible_classes(bounds, NEW[:1], chances[:1]).tolist() == [2]


@pytest.fixture(scope="module")
def sided():
    rules = "gap: if x >= 0 then not (-1 <= y <= 1) [strength=firm, sampler=like-data]"
    model = OCBNNRegressor(
        rules,
        hidden=(2,),
        noise=0.1,
        weight_prior="fan-in",
        inference=SPREAD,
        random_state=0,
        standardize=False,
        inputs=["x", "z"],
    )
    return saying(model.fit(X, X[:, 0], refine=False), [[2.0], [3.0], [-6.0]])


def test_a_mean_between_both_sides_of_a_firm_rule_is_not_predicted(sided):
    mean, sd = sided.predict(NEW, return_std=True)
    # Of eight draws three are 2, three are 3 and two are -6.
    np.testing.assert_allclose(mean, [0.375, 2.5, 2.5], rtol=1e-6)
    np.testing.assert_array_equal(sided.predict_summary(NEW).mean, mean)
    np.testing.assert_allclose(sd, sd[0])
    assert sided.check_rules(X=NEW)[0].prediction_violation == 0.0


def test_the_studio_shows_the_mean_that_is_predicted(sided):
    shown = Rows(X, X[:, :1], sided.schema_, 0, np.arange(24))
    viewport = window(View(along=["x", "z"]), shown)
    told = np.array(predictions_in_view(sided, viewport)["z"])
    expected = sided.predict(viewport.inputs).reshape(told.shape)
    np.testing.assert_allclose(told, expected, rtol=1e-4)


def test_where_no_draw_keeps_a_firm_rule_the_mean_stays(sided):
    model = saying(sided, [[0.5], [-0.5]])
    np.testing.assert_allclose(model.predict(NEW), 0.0, atol=1e-6)
