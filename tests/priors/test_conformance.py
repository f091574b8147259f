"""The check that anyone can run on a prior: it passes ours, and catches faults."""

import jax
import pytest

from ocbnn.errors import SettingError
from ocbnn.networks import MLP
from ocbnn.priors import LayerScales, StudentT, WeightPrior
from ocbnn.testing import check_weight_prior
from tests.priors import own_priors


@pytest.mark.parametrize(
    "prior",
    [
        WeightPrior("fan-in", 2.0),
        LayerScales((1.0, 2.0), (0.5, 1.0)),
        StudentT(df=1),
        StudentT(df=4, scale=0.3),
        own_priors.Laplacian(),
    ],
    ids=["fan-in", "layers", "Cauchy", "Student-t", "own"],
)
def test_a_sound_prior_passes_and_its_integral_is_one(prior):
    check = check_weight_prior(prior)
    assert check.integral == pytest.approx(1, abs=6 * check.integral_error)
    assert check.integral_error < 0.1
    assert f"{type(prior).__name__} keeps its promises: 10000 draws" in str(check)


def test_the_integral_over_many_weights_is_told_as_undecided():
    check = check_weight_prior(StudentT(df=2.0), MLP(4, (20,), 2), draws=1000)
    assert check.integral_error > 0.2
    assert "does not decide" in str(check)


@pytest.mark.parametrize(
    ("faulty", "reason"),
    [
        (own_priors.TooWide, "disagree about its (width|tails)"),
        (own_priors.Shifted, "disagree about its place"),
        (own_priors.OtherShape, "disagree about its (width|tails)"),
        (own_priors.Unnormalised, r"integral of its density is 0\.3"),
        (own_priors.Stuck, "slope of its log density is 0, but differences give"),
        (own_priors.Columns, r"shape \(1, 2, 2\)"),
        (own_priors.EachArray, "not one number"),
        (own_priors.Restless, "the same key gave other draws"),
    ],
)
def test_a_fault_is_found(faulty, reason):
    with pytest.raises(SettingError, match=rf"{faulty.__name__} breaks.*{reason}"):
        check_weight_prior(faulty())


def test_single_precision_stays_the_default_afterwards():
    check_weight_prior(WeightPrior("fan-in"), draws=100)
    assert not jax.config.read("jax_enable_x64")
