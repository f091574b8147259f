"""scikit-learn's own checks, on settings small enough to run many times."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from ocbnn import SVGD, OCBNNClassifier, OCBNNRegressor

PLAN = SVGD(particles=10, iterations=300, learning_rate=0.3)


def checks():
    """Those of both kinds; what they share, often for the regressor alone."""
    found, names = [], set()
    for kind in (OCBNNRegressor, OCBNNClassifier):
        made = kind(hidden=(10,), inference=PLAN, random_state=0)
        offered = list(estimator_checks_generator(made))
        for estimator, check in offered:
            name = check.func.__name__
            marks = [pytest.mark.slow] if name in names else []
            label = f"{kind.__name__}-{name}"
            found.append(pytest.param(estimator, check, marks=marks, id=label))
        names |= {check.func.__name__ for _, check in offered}
    return found


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), checks())
def test_scikit_learns_common_checks_pass(estimator, check):
    check(estimator)
