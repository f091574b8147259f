"""scikit-learn's own checks, on settings small enough to run many times."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ocbnn import SVGD, OCBNNClassifier, OCBNNRegressor

PLAN = SVGD(particles=10, iterations=300, learning_rate=0.3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        OCBNNRegressor(hidden=(10,), inference=PLAN, random_state=0),
        OCBNNClassifier(hidden=(10,), inference=PLAN, random_state=0),
    ]
)
def test_scikit_learns_common_checks_pass(estimator, check):
    check(estimator)
