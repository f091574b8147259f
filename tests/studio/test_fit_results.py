"""What the page says about a fit: in its own words, and of the fit without rules."""

import numpy as np
import pytest

import ocbnn
from ocbnn.core.advice import Advice, Kind
from ocbnn.studio.fit_results import conflicts_between
from ocbnn.studio.page_advice import on_page

# How good these rough fits are is beside the point.
pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
rng = np.random.default_rng(0)
X = np.linspace(-2, 2, 30)[:, None]
Y = X[:, 0] + 0.1 * rng.normal(size=30)
PLAN = ocbnn.Laplace(chains=1, iterations=1000, draws=100, learning_rate=0.03)


def fitted(*rules):
    model = ocbnn.OCBNNRegressor(
        rules=list(rules), hidden=(5,), noise=0.1, inference=PLAN, random_state=0
    )
    return model.fit(X, Y)


@pytest.fixture(scope="module")
def bare():
    return fitted()


# No row above 1 keeps it, and every function pays for it.
WRONG = "wrong: if 1 <= x <= 2 then y <= 0"


def test_the_fit_without_rules_says_what_the_only_rule_changed(bare):
    said = conflicts_between(fitted(WRONG), bare)
    assert "Held-out log likelihood" in said
    assert "lower with it" in " ".join(said.split())
    assert "refit" not in said


def test_of_several_rules_it_says_what_all_of_them_changed(bare):
    said = conflicts_between(fitted(WRONG, "if -2 <= x <= -1 then y <= 3"), bare)
    flat = " ".join(said.split())
    assert "All rules together" in flat
    assert "lower with them than without" in flat
    assert "refit" not in flat


@pytest.mark.parametrize(
    "advice",
    [
        Advice(Kind.FIT_IN_FULL),
        Advice(Kind.HOLD_OUT),
        Advice(Kind.SEE_CONFLICTS, "a"),
        Advice(Kind.NAME_ROWS, "a"),
        Advice(Kind.COMPARE_AGAIN, "a", {"do": "without it", "pareto_k": 0.87}),
    ],
)
def test_nothing_speaks_of_code_or_files(advice):
    page = on_page(advice)
    for word in ("--quick", "holdout", "conflicts(", "[fit]", "refit"):
        assert word not in page
