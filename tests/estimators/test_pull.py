"""Rules pull where they are broken, from however far, and nowhere else."""

import numpy as np
import pytest

import ocbnn

pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
RNG = np.random.default_rng(0)
# No row lies where the rules speak, and all say that the function is near zero.
X = np.sort(RNG.uniform(2, 3, 20) * RNG.choice([-1, 1], 20))[:, None]
Y = 0.1 * RNG.standard_normal(20)
PLAN = ocbnn.NUTS(chains=2, warmup=200, draws=100)


def fitted(claim, x=X, y=Y, **settings):
    usual = {"hidden": (10,), "inference": PLAN, "random_state": 0, "progress": False}
    rule = f"lift: if -1 <= x <= 1 then {claim}"
    return ocbnn.OCBNNRegressor(rule, **{**usual, **settings}).fit(x, y)


@pytest.mark.parametrize("claim", ["y >= 0.6", "y >= 6", "not (-2 <= y <= 6)"])
def test_a_rule_far_from_all_rows_is_kept(claim):
    # In spreads of y the claims are 6, 60 and, from the nearer side, 20 away.
    assert fitted(claim).check_rules()[0].violation <= 0.01


def test_the_papers_indicator_is_flat_so_far_away_and_pulls_nothing():
    assert fitted("y >= 6 [form=indicator]").check_rules()[0].violation == 1.0


def test_a_gap_is_used_as_far_as_it_goes_and_not_beyond():
    x = np.array([[-2.0], [-1.8], [-1.0], [1.0], [1.8], [2.0]])
    y = (-(x**4) + 3 * x**2 + 1)[:, 0]
    papers = {"standardize": False, "weight_prior": "isotropic", "noise": 0.1}
    spread = {}
    for form in ("distance", "indicator"):
        model = fitted(f"2.5 <= y <= 3 [form={form}]", x, y, **papers)
        middle = model.sample_functions([[0.0]], 200)[:, 0]
        assert np.mean((middle < 2.5) | (middle > 3)) <= 0.01
        spread[form] = middle.std()
    # Evenly over the gap it would be 0.144; the indicator pushes to the middle.
    assert spread["indicator"] < 0.06
    assert 0.08 < spread["distance"] < 0.144
