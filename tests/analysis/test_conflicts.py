"""Rules that pull against data are found, with the rows they pull against."""

import json

import numpy as np
import pandas as pd
import pytest

from ocbnn import OCBNNClassifier, OCBNNRegressor
from ocbnn.errors import SettingError
from tests.estimators.usual import CHAINS, POPULATIONS, X

pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")

x = X[:, 0]
DATA = pd.DataFrame(
    {"dose": x, "effect": np.sin(x)}, index=[f"p{i}" for i in range(20)]
)


def fitted(*rules, **settings):
    usual = {"hidden": (4,), "noise": 0.05, "inference": CHAINS, "random_state": 0}
    usual["weight_prior"] = "fan-in"  # whose chains agree after few moves
    model = OCBNNRegressor(list(rules), **{**usual, **settings})
    return model.fit(DATA[["dose"]], DATA["effect"])


@pytest.fixture(scope="module")
def model():
    return fitted(
        "wide: if -2 <= dose <= 2 then -9 <= effect <= 9",
        "cap: if 1 <= dose <= 2 then effect <= 0.5",
    )


@pytest.fixture(scope="module")
def report(model):
    return model.conflicts(["floor: if -2 <= dose <= 0 then effect >= 0"])


def test_a_rule_that_contradicts_rows_names_them_with_their_values(report):
    cap = report["cap"]
    assert cap.status == "pulls"
    names = [row.name for row in cap.against]
    assert names == ["p15", "p16", "p17", "p18", "p19"]
    sentence = cap.sentences()[0]
    assert "Rule 'cap' pulls against 5 rows: p15" in sentence
    assert "effect = 0.916" in sentence
    assert "but the rule says effect <= 0.5" in sentence


def test_a_rule_that_agrees_says_so_plainly(report):
    wide = report["wide"]
    assert wide.status == "agrees"
    assert wide.sentences()[:2] == [
        "Rule 'wide' agrees with the data.",
        "All 20 rows in its region keep it.",
    ]
    assert wide.best == 0.0
    assert wide.held_out.change == pytest.approx(0.0, abs=0.1)
    assert wide.pareto_k < 0.5


def test_a_proposed_rule_is_set_against_draws_that_never_met_it(report):
    floor = report["floor"]
    assert not floor.is_fitted
    assert floor.status == "pulls"
    assert {"p2", "p5", "p8"} <= {row.name for row in floor.against}
    assert "(proposed)" in str(report)


def test_the_page_is_narrow_and_the_dictionary_is_json(report):
    assert len(report) == 3
    assert max(map(len, str(report).split("\n"))) <= 80
    answer = json.loads(json.dumps(report.to_dict()))
    assert answer["cap"]["status"] == "pulls"
    assert answer["cap"]["against"][0]["observed"] == {
        "effect": pytest.approx(0.916, abs=1e-3)
    }
    with pytest.raises(KeyError, match="no rule is called 'x'"):
        report["x"]


def test_a_second_fit_tells_what_weights_cannot(model):
    plain = model.conflicts()["cap"]
    assert plain.held_out is None
    again = model.conflicts(refit=True)["cap"]
    assert again.held_out.how == "refitted"
    assert again.held_out.is_worse
    assert again.losing
    assert {row.name for row in again.losing} <= {f"p{i}" for i in range(12, 20)}
    assert "lower with it" in " ".join(again.sentences())


def test_evidence_is_even_for_a_rule_that_says_nothing():
    model = fitted("wide: if -2 <= dose <= 2 then -900 <= effect <= 900", hidden=(2,))
    factor = model.conflicts(evidence=POPULATIONS)["wide"].evidence
    assert abs(factor.log_bayes_factor) < 4 * max(factor.error, 1.0)
    assert factor.error > 0


def test_a_name_that_is_taken_is_refused(model):
    with pytest.raises(SettingError, match="fitted with a rule called 'cap'"):
        model.conflicts("cap: if 0 <= dose <= 1 then effect >= 0")


def test_classes_and_expectations_have_rows_too():
    clinic = OCBNNClassifier(
        "odd: if 1 <= x <= 2 then y in {low} [weight=1]",
        hidden=(3,),
        inference=CHAINS,
        random_state=0,
    ).fit(X, np.where(x > 0, "high", "low"))
    odd = clinic.conflicts()["odd"]
    assert (odd.against + odd.within_noise)[0].observed == {"y": "high"}
