"""A rule about slopes is felt by a model and reported for its draws."""

import numpy as np
import pytest

from ocbnn import NUTS, OCBNNRegressor
from ocbnn.errors import RuleError, SettingError
from ocbnn.rules import parse_rule

RNG = np.random.default_rng(1)
X = np.stack([np.linspace(0, 4, 12), RNG.uniform(0, 100, 12)], axis=1)
# Hardly more than chance, around something that only grows.
Y = 0.05 * X[:, 0] + RNG.normal(0, 0.3, 12)
RULE = "grows: if 0 <= x0 <= 4 and 0 <= x1 <= 100 then {} [strength=1000]"


def fitted(claim):
    model = OCBNNRegressor(
        RULE.format(claim),
        hidden=(4,),
        activation="tanh",
        noise=0.3,
        inference=NUTS(chains=2, warmup=300, draws=200),
        random_state=0,
        progress=False,
    )
    return model.fit(X, Y)


@pytest.fixture(scope="module")
def follows():
    return fitted("y rises with x0")


def share_rising(model):
    grid = np.stack([np.linspace(0, 4, 50), np.full(50, 50.0)], axis=1)
    return np.mean(np.diff(model.sample_functions(grid, 200), axis=1) >= 0)


def test_functions_rise_where_a_rule_says_so(follows):
    assert share_rising(follows) > 0.99
    # A rule that asks for nothing compiles to the same program as one that does.
    assert share_rising(fitted("d(y, x0) >= -1000")) < 0.9


def test_a_fit_refuses_rules_whose_slopes_contradict_each_other():
    within = "if {} <= x0 <= {} and 0 <= x1 <= 100 then {}"
    parts = (0, 1, "y >= 2"), (3, 4, "y <= 1"), (0, 4, "y rises with x0")
    rules = [within.format(*part) for part in parts]
    with pytest.raises(RuleError, match=r"from x0 = 1 to x0 = 3, at x1 = ") as caught:
        OCBNNRegressor(rules).fit(X, Y)
    assert all(str(parse_rule(rule)) in str(caught.value) for rule in rules)


def test_the_check_counts_draws_whose_slopes_break_the_rule(follows):
    (check,) = follows.check_rules()
    assert check.violation < 0.01
    assert check.prediction_violation == 0.0
    assert (check.rows_in_region, check.data_violation) == (12, None)
    assert "rows of data do not" in check.remark


def test_slopes_of_draws_are_exact_and_in_a_persons_units(follows):
    xs, step = X[:5], np.array([[0.0, 0.5]])
    ends = [follows.sample_functions(xs + s * step, 20) for s in (1, -1)]
    exact = follows.sample_slopes(xs, "x1", count=20)
    np.testing.assert_allclose(exact, ends[0] - ends[1], atol=1e-3)
    curved = follows.sample_slopes(xs, "x1", 0, count=20)
    assert curved.shape == (20, 5)
    np.testing.assert_array_equal(curved, follows.sample_slopes(xs, 0, 1, count=20))
    with pytest.raises(SettingError, match="one input, or two"):
        follows.sample_slopes(xs)
