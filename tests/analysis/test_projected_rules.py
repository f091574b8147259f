"""What rules do in projected models: the draws are moved onto all of them but one."""

import json

import numpy as np
import pytest

from ocbnn import HMC, OCBNNRegressor, Refinement, inputs
from ocbnn.analysis.projected_rules import left_out, rules_alone
from ocbnn.errors import RuleError, SettingError
from ocbnn.metrics.loo import leave_one_out
from ocbnn.predictive.pointwise import pointwise_log_likelihood
from ocbnn.rules import custom

pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")

X = np.linspace(-2.0, 2.0, 12)[:, None]
Y = X[:, 0] + 0.5 * np.sin(4.0 * X[:, 0])
PLAN = HMC(chains=2, warmup=120, draws=24, steps=10, step_size=0.02, climb=200)
SEARCH = Refinement(rounds=4, starts=16, steps=20, test_points=50)
RISING = "rising: if -2 <= x <= 2 then d(y, x) >= 0"
# The last observations are 1.77 and 2.49.
CAP = "cap: if 1 <= x <= 2 then y <= 1.5"
WIDE = "wide: if -2 <= x <= 2 then -9 <= y <= 9"


@pytest.fixture(scope="module")
def free():
    model = OCBNNRegressor(
        hidden=(8,),
        noise=0.1,
        weight_prior="fan-in",
        inference=PLAN,
        random_state=0,
        progress=False,
    )
    return model.fit(X, Y)


@pytest.fixture(scope="module")
def capped(free):
    return free.obey(CAP, refine=SEARCH)


@pytest.fixture(scope="module")
def both(free):
    return free.obey([CAP, WIDE], refine=SEARCH)


def broken(model, low=1.0, high=2.0):
    """The share of draws and points of the region that break the cap."""
    grid = np.linspace(low, high, 401)[:, None]
    return float((model.sample_functions(grid, 48) > 1.5).mean())


def test_without_its_only_rule_a_projected_model_is_what_it_was_before(free, capped):
    (alone,) = rules_alone(capped.fitted_, capped.fitted_.terms, progress=False)
    grid = np.linspace(-2.0, 2.0, 50)[:, None]
    pair = [alone.without, alone.with_rule]
    for ours, theirs in zip(pair, [free, capped], strict=True):
        np.testing.assert_array_equal(
            ours.predictive.functions(grid)[..., 0], theirs.sample_functions(grid, 48)
        )


def test_a_rule_of_a_projection_is_explained_by_the_draws_before_it(free, capped):
    explanation = capped.explain()["cap"]
    assert (explanation.how, explanation.pareto_k) == ("projected", None)
    assert explanation.binding.pairs == pytest.approx(broken(free), abs=0.02)
    assert explanation.violation == pytest.approx(broken(capped), abs=0.01)
    assert explanation.status == "pulls"
    above = Y[(X[:, 0] >= 1) & (Y > 1.5 + 2 * 0.1)]
    assert [row.observed["y"] for row in explanation.against] == above.tolist()
    text = " ".join(str(capped.explain("cap")).split())
    assert "The functions without it are the original draws." in text
    json.dumps(capped.explain().to_dict())


def test_with_several_rules_each_is_left_out_of_the_projection(both):
    explanations = both.explain()
    assert explanations["wide"].status == "idle"
    assert explanations["cap"].binding.pairs > 0.3
    sentences = explanations["cap"].sentences()
    assert sentences[-1] == (
        "The functions without it are the original draws, moved onto the other rules "
        "only."
    )
    unknown = both.explain(refit=False)["cap"]
    assert (unknown.status, unknown.how) == ("pulls", "unknown")
    assert both.explain("wide", refit=False)["wide"].status == "unknown"


def test_a_rule_that_fights_a_row_is_found_and_a_harmless_one_agrees(both):
    report = both.conflicts()
    cap, wide = report["cap"], report["wide"]
    assert (cap.status, wide.status) == ("pulls", "agrees")
    assert cap.held_out.how == "projected"
    # The last row alone is ten standard deviations of the noise above the cap.
    assert cap.held_out.change < -10
    # Another rule takes other random points, so the draws end up a little elsewhere.
    assert abs(wide.held_out.change) < 1.0
    assert wide.distances[0].quantiles[1] < 0.01
    # The functions leave the last rows by the half of their distance and more.
    assert cap.distances[0].quantiles[1] > 0.1
    assert cap.losing[0].observed["y"] == pytest.approx(Y[-1])
    text = " ".join(str(report).split())
    assert "Because of it, y moved by" in text
    assert "share of the log density" not in text
    assert json.loads(json.dumps(report.to_dict()))["cap"]["log_g"] is None


def test_a_proposed_rule_is_tried_on_top_of_the_others(both, free):
    report = both.conflicts(RISING)
    rising = report["rising"]
    assert not rising.is_fitted
    assert rising.held_out.how == "projected"
    assert rising.distances[0].quantiles[1] > 0
    assert "rising: " in str(report)
    assert "(proposed)" in str(report)
    with pytest.raises(SettingError, match="already"):
        both.conflicts(CAP)
    right = inputs("x").between(0, 1)
    own = custom(lambda x, y: -(y**2).sum(), name="mine", where=right)
    with pytest.raises(RuleError, match="'mine' cannot be searched"):
        both.conflicts(own)


def test_left_out_rows_are_predicted_by_moved_functions_with_weights_of_the_drawn(
    free, capped
):
    logs = [
        pointwise_log_likelihood(model.target_, model.draws_.stacked())
        for model in (free, capped)
    ]
    ours = left_out(capped.fitted_)
    np.testing.assert_array_equal(
        ours.rows, leave_one_out(logs[0], scored=logs[1]).rows
    )
    np.testing.assert_array_equal(ours.pareto_k, left_out(free.fitted_).pareto_k)
    np.testing.assert_array_equal(
        left_out(free.fitted_).rows, leave_one_out(logs[0]).rows
    )
