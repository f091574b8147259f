"""Rules say where they bind, what they removed, and which rows contradict them."""

import dataclasses
import json

import jax
import numpy as np
import pandas as pd
import pytest

from ocbnn import OCBNNClassifier, OCBNNRegressor, load
from ocbnn.analysis import explanation, rule_effect, rule_removal
from ocbnn.analysis.explanation_page import Spread
from ocbnn.errors import DataError, SettingError
from ocbnn.metrics.binding import Binding
from ocbnn.priors import make_term
from ocbnn.rules import Schema, bind, parse_rule
from tests.estimators.usual import CHAINS, X

pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")

x = X[:, 0]
DATA = pd.DataFrame(
    {"dose": x, "effect": np.sin(x)}, index=[f"p{i}" for i in range(20)]
)
PLANE = Schema(("a", "b"), ("y",))


@pytest.fixture(scope="module")
def model():
    return OCBNNRegressor(
        [
            "wide: if -2 <= dose <= 2 then -9 <= effect <= 9",
            "cap: if 1 <= dose <= 2 then effect <= 0.5",
        ],
        hidden=(4,),
        noise=0.05,
        inference=CHAINS,
        random_state=0,
    ).fit(DATA[["dose"]], DATA["effect"])


@pytest.fixture(scope="module")
def explanations(model):
    return model.explain()


def test_a_rule_that_data_keep_by_themselves_is_idle(explanations):
    wide = explanations["wide"]
    assert (wide.status, wide.how) == ("idle", "reweighted")
    assert wide.binding.anywhere == 0
    assert wide.ranges == wide.places == ()
    assert wide.sentence == (
        "Rule 'wide' is idle: the data and the other rules keep it."
    )
    assert "All 20 rows in its region keep it." in wide.sentences()
    assert wide.spreads[0].removed == pytest.approx(0.0, abs=0.01)


def test_a_rule_that_binds_elsewhere_too_is_said_to(explanations):
    cap = dataclasses.replace(explanations["cap"], binding=Binding(0.6, 0.5, 0.4, 0.3))
    sentences = lambda share: dataclasses.replace(cap, elsewhere=share).sentences()
    assert any("the other rules keep it" in one for one in sentences(0.01))
    assert any("at 40 % of the points elsewhere" in one for one in sentences(0.4))
    assert not any("the other rules keep it" in one for one in sentences(0.4))


def test_a_rule_that_contradicts_rows_names_them_and_says_where_it_binds(explanations):
    cap = explanations["cap"]
    assert (cap.status, cap.how) == ("pulls", "refitted")
    assert [row.name for row in cap.against] == [f"p{i}" for i in range(15, 20)]
    # The sine is above one half between 0.52 and 2, so everywhere in the region.
    assert cap.binding.mostly > 0.95
    assert cap.violation < 0.2
    (place,) = cap.ranges
    assert (place.input, place.low, place.high) == ("dose", 1.0, 2.0)
    sentences = " ".join(cap.sentences())
    assert (
        "pulls against 5 rows: p15, p16, p17, p18, p19, and does the work" in sentences
    )
    assert "It binds everywhere in its region." in sentences
    assert "second fit" in sentences


def test_a_second_fit_is_kept_for_all_who_ask_about_the_rule(
    model, explanations, monkeypatch
):
    monkeypatch.setattr(rule_removal, "sample_from_data", None)
    again = model.explain("cap", refit=True)
    assert again["cap"].binding == explanations["cap"].binding
    with pytest.raises(TypeError):
        model.explain("wide", refit=True)


def test_without_a_second_fit_what_draws_cannot_tell_is_unknown(model):
    cap = model.explain("cap", refit=False)["cap"]
    assert (cap.how, cap.binding, cap.spreads) == ("unknown", None, ())
    assert cap.status == "pulls"
    assert len(cap.against) == 5


def test_second_fits_that_no_one_asked_for_end_with_ones_patience(model, monkeypatch):
    monkeypatch.setattr(explanation, "PATIENCE", 0.0)
    assert model.explain("cap")["cap"].how == "unknown"


def test_each_rule_reports_its_own_share_of_the_log_density(model):
    parts = model.log_density_parts()
    assert set(parts) == {"weights", "rule 'wide'", "rule 'cap'", "data"}
    assert parts["rule 'cap'"] < parts["rule 'wide'"]
    draw = jax.tree.map(lambda a: jax.numpy.asarray(a[0]), model.draws_.stacked())
    whole = model.target_.logdensity(draw)
    assert np.isclose(whole, sum(model.target_.parts(draw).values()), rtol=1e-4)


def test_the_page_is_narrow_and_the_dictionary_is_json(explanations):
    assert len(explanations) == 2
    assert max(map(len, str(explanations).split("\n"))) <= 80
    plain = json.loads(json.dumps(explanations.to_dict()))
    assert plain["contradiction"] is None
    cap = plain["rules"]["cap"]
    assert cap["status"] == "pulls"
    assert cap["binding"]["mostly"] > 0.95
    assert cap["spreads"][0]["near_with"] > 0
    assert cap["against"][0]["observed"]["effect"] == pytest.approx(0.916, abs=1e-3)
    with pytest.raises(KeyError, match="no rule is called 'x'"):
        explanations["x"]


def test_a_name_that_no_rule_has_is_refused(model):
    with pytest.raises(SettingError, match=r"got 'cup'. It has 'wide', 'cap'"):
        model.explain("cup")


def test_a_model_saved_without_its_data_cannot_explain(model, tmp_path):
    model.save(tmp_path / "m.ocbnn", data=False)
    with pytest.raises(DataError, match="explain needs the data"):
        load(tmp_path / "m.ocbnn").explain()


def test_a_saved_model_explains_as_it_did(model, explanations, tmp_path):
    model.save(tmp_path / "m.ocbnn")
    again = load(tmp_path / "m.ocbnn").explain("wide")
    assert again["wide"].binding == explanations["wide"].binding


def test_the_report_says_in_a_sentence_what_draws_alone_can_tell(model, explanations):
    report = model.report()
    wide, cap = report.rules
    assert wide.role == explanations["wide"].sentence
    assert cap.role is None
    assert "Rule 'wide' is idle" in str(report)


def test_a_rule_that_is_never_broken_but_moves_functions_is_not_idle(explanations):
    wide = explanations["wide"]
    moved = dataclasses.replace(wide, spreads=(Spread("effect", 0.1, 0.5),))
    assert (moved.status, wide.status) == ("works", "idle")
    assert "changes the functions in its region, which would keep it" in moved.sentence
    assert "(400 % added)" in " ".join(moved.sentences())


def term_of(text):
    bound = bind(parse_rule(text), Schema(("x",), ("y",)))
    return make_term(bound, jax.random.key(0))


@pytest.mark.parametrize(
    ("text", "log_g", "is_trusted"),
    [
        ("if 0 <= x <= 1 then y < 3", np.zeros(500), True),
        # Two draws in a hundred are at the edge, and who knows what is beyond it.
        ("if 0 <= x <= 1 then y < 3", -0.2 * (np.arange(500) % 50 == 0), False),
        # A mild rule keeps nothing away.
        ("if 0 <= x <= 1 then y < 3 [strength=1]", -np.arange(500) / 500, True),
        ("if 0 <= x <= 1 then y < 3 or y > 4", np.zeros(500), False),
        ("if 0 <= x <= 1 then y < 3 [strength=hard]", np.zeros(500), False),
        # Draws pay differently for what they expect, so others would come back.
        ("if 0 <= x <= 1 then y ~ Normal(0, 1)", -np.arange(500) / 250, False),
    ],
)
def test_weights_are_trusted_only_where_no_function_can_have_been_kept_away(
    text, log_g, is_trusted
):
    assert rule_removal.removal(term_of(text), log_g).is_trusted is is_trusted


def test_points_just_outside_are_moved_along_the_inputs_that_bound_the_region():
    bound = bind(parse_rule("if 0 <= a <= 1 then y > 0"), PLANE)
    xs = np.random.default_rng(0).random((60, 2))
    outside = rule_effect.just_outside(bound, xs, xs)
    assert not bound.applies(outside).any()
    assert (outside[:, 1] == xs[:, 1]).all()
    assert -0.51 < outside[:, 0].min() < -0.4
    assert 1.4 < outside[:, 0].max() < 1.51
    everywhere = bind(parse_rule("y > 0"), PLANE)
    assert len(rule_effect.just_outside(everywhere, xs, xs)) == 0


def test_among_several_inputs_the_one_that_tells_where_it_binds_is_named():
    xs = np.random.default_rng(0).random((400, 2))
    (place,) = rule_effect._places(xs, xs[:, 1] > 0.7, ("a", "b"))
    assert (place.input, place.high) == ("b", xs[:, 1].max())
    assert 0.7 < place.low < 0.72
    assert place.share == 1.0


def test_classes_have_probabilities_that_a_rule_narrows():
    clinic = OCBNNClassifier(
        [
            "odd: if 3 <= x <= 4 then y in {low} [weight=1]",
            "same: if 3.2 <= x <= 3.5 then y in {low} [weight=1]",
        ],
        hidden=(3,),
        inference=CHAINS,
        random_state=0,
    ).fit(X, np.where(x > 0, "high", "low"))
    explanations = clinic.explain(refit=True)
    assert explanations["odd"].spreads[0].output == "P(y in low)"
    assert explanations["odd"].binding is not None
    assert "follows from 'odd' (proved)" in explanations["same"].follows


def test_a_change_of_uncertainty_is_told_with_its_size(explanations):
    def said(spread):
        return " ".join(
            dataclasses.replace(explanations["cap"], spreads=(spread,)).sentences()
        )

    small = said(Spread("effect", 0.566, 0.511))
    assert "hardly changes: 0.566 without it, 0.511 with it (10 % removed)" in small
    assert "stays: 0.605 without it, 0.605 with it." in said(Spread("y", 0.605, 0.605))


def test_a_rule_that_binds_nowhere_claims_no_place(explanations):
    few = Binding(pairs=0.02, points=0.0, mostly=0.0, anywhere=0.3)
    rule = dataclasses.replace(explanations["wide"], binding=few, follows="It follows.")
    assert rule.status == "works"
    assert "does a little: 2 % of cases would violate it." in rule.sentence
    assert "It only adds to the penalty" in " ".join(rule.sentences())
    many = Binding(pairs=0.2, points=0.3, mostly=0.0875, anywhere=0.5)
    rule = dataclasses.replace(explanations["wide"], binding=many)
    assert "; at 8.75 % of its points, most functions would." in rule.sentences()[1]


def test_a_rule_that_binds_in_one_category_alone_says_which():
    rng = np.random.default_rng(0)
    level = rng.integers(3, size=300)
    xs = np.column_stack([rng.random(300), np.eye(3)[level]])
    names = ("dose", "clinic=east", "clinic=north", "clinic=west")
    binds = (level == 2) & (rng.random(300) < 0.5)
    (place,) = rule_effect._places(xs, binds, names, ((1, 2, 3),))
    assert str(place).startswith("at clinic = west")
