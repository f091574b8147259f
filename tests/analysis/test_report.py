"""The report of a fitted model: what it says, and where chains disagree."""

import copy
import dataclasses
import json

import jax
import numpy as np
import pytest

from ocbnn import SVGD, OCBNNClassifier, OCBNNRegressor
from ocbnn.errors import SettingError
from tests.estimators.usual import CHAINS, POPULATIONS, X

Y = np.sin(X[:, 0])
LOW = "low: if 2 <= x <= 3 then y <= 0.5"

pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")


def regressor(*rules, **settings):
    usual = {"hidden": (4,), "noise": 0.1, "inference": CHAINS, "random_state": 0}
    usual["weight_prior"] = "fan-in"  # its weights are moved below
    return OCBNNRegressor(rules=list(rules), **{**usual, **settings})


@pytest.fixture(scope="module")
def model():
    return regressor(LOW).fit(X, Y)


def moved(model, weight):
    """The model with its second chain at other weights."""
    positions = jax.tree.map(np.array, model.draws_.positions)
    positions.weights[-1].weight[1] += weight
    moved = copy.copy(model)
    draws = dataclasses.replace(model.draws_, positions=positions)
    moved.fitted_ = dataclasses.replace(model.fitted_, draws=draws)
    return moved


def test_a_report_is_a_page_of_text_and_a_dictionary(model):
    report = model.report()
    text = str(report)
    assert max(map(len, text.split("\n"))) <= 80
    for words in ("20 rows and 1 rule", "MLP 1-4-1", "NUTS: 2 chains", "Verdict:"):
        assert words in text
    for words in ("R-hat of f(x)", "tail ESS", "E-BFMI", "divergent", "acceptance"):
        assert words in text
    assert "Pareto k" in text
    assert "&lt;=" in report._repr_html_()
    answer = json.loads(json.dumps(report.to_dict()))
    assert answer["fitted"]["rows"] == 20
    assert answer["verdict"]["status"] == model.verdict_.status
    assert answer["numbers"]["rhat_max"] == pytest.approx(model.verdict_.rhat_max)
    assert answer["rules"]["low"]["check"]["violation"] < 0.1


def test_only_where_the_density_has_rules_is_their_tolerance_advised(model):
    fitted = model.fitted_
    divergent = np.ones((fitted.draws.chains, fitted.draws.draws))
    stats = {**fitted.draws.stats, "divergent": divergent}
    ruled = copy.copy(model)
    ruled.fitted_ = dataclasses.replace(
        fitted, draws=dataclasses.replace(fitted.draws, stats=stats)
    )
    assert "a larger tolerance" in " ".join(ruled.report().advice)
    # As after a projection.
    unruled = copy.copy(ruled)
    unruled.fitted_ = dataclasses.replace(
        ruled.fitted_,
        target=dataclasses.replace(fitted.target, rules=()),
        projected_onto=fitted.target.rules,
    )
    advice = " ".join(unruled.report().advice)
    assert "Moves diverge" in advice
    assert "tolerance" not in advice


def test_every_number_that_is_not_good_comes_with_advice(model):
    report = model.report()
    bad = [number for number in report.numbers if number.is_good is False]
    assert bad
    assert all(number.advice in report.advice for number in bad)


def test_chains_that_disagree_are_told_where_in_the_users_units(model):
    apart = moved(model, 3.0).report()
    assert apart.verdict.status == "poor"
    assert any("The chains disagree" in place for place in apart.places)
    assert any("SMC" in advice for advice in apart.advice)


def test_the_share_of_each_rule_has_its_own_r_hat(model):
    (rule,) = model.report().rules
    assert rule.rule == "low"
    assert rule.rhat > 0.9
    assert rule.ess > 5
    (apart,) = moved(model, 30.0).report().rules
    assert apart.rhat > 1.05


def test_diagnostics_can_be_drawn(model):
    mixing = model.plot_diagnostics()
    assert [ax.get_ylabel() for ax in mixing.axes] == ["R-hat", "effective sample size"]
    trace = model.plot_diagnostics("trace", at=[0.5])
    assert (trace.get_suptitle(), trace.axes[0].get_ylabel()) == ("y at x = 0.5", "y")
    named = model.plot_diagnostics("trace", at={"x": 0.5})
    assert named.get_suptitle() == "y at x = 0.5"
    assert model.plot_diagnostics("trace").get_suptitle().startswith("y at x =")
    assert len(model.plot_diagnostics("energy").axes) == 1
    assert model.plot_diagnostics("progress").axes[0].get_ylabel() == "log density"
    with pytest.raises(SettingError, match="kind is one of 'mixing'"):
        model.plot_diagnostics("rhat")
    for wrong in ([0.5, 1.0], {"z": 0.5}, "x"):
        with pytest.raises(
            SettingError, match=r"one number for each of 1 inputs \(x\)"
        ):
            model.plot_diagnostics("trace", at=wrong)


def test_particles_report_their_distance_and_no_r_hat():
    stein = regressor(LOW, inference=SVGD(particles=12, iterations=100)).fit(X, Y)
    report = stein.report()
    keys = {number.key for number in report.numbers}
    assert {"spread", "logdensity"} <= keys
    assert "rhat_max" not in keys
    with pytest.raises(SettingError, match='kind="progress"'):
        stein.plot_diagnostics("mixing")
    with pytest.raises(SettingError, match="did not store the energy"):
        stein.plot_diagnostics("energy")
    assert any("cannot check itself" in advice for advice in report.advice)
    assert report.rules[0].rhat is None


@pytest.fixture(scope="module")
def without_rules():
    return regressor(inference=POPULATIONS).fit(X, Y)


def test_without_rules_nothing_can_pull(without_rules):
    assert "no rules" in str(without_rules.conflicts())


def test_populations_report_their_evidence_and_temperature(without_rules):
    report = without_rules.report()
    numbers = {number.key: number for number in report.numbers}
    assert len(numbers["log_evidence"].value) == 2
    assert numbers["temperature"].value == 1
    assert report.rules == ()


def test_a_classifier_reports_each_class():
    clinic = OCBNNClassifier(
        "if 3 <= x <= 4 then y in {low} [weight=1]",
        hidden=(3,),
        inference=CHAINS,
        random_state=0,
    ).fit(X, np.where(Y > 0, "high", "low"))
    text = str(clinic.report())
    assert "classes high, low" in text
    assert max(map(len, text.split("\n"))) <= 80
