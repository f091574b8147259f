"""scikit-learn's own checks, on settings small enough to run many times."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from ocbnn import SVGD, OCBNNClassifier, OCBNNRegressor

PLAN = SVGD(particles=10, iterations=300, learning_rate=0.3)

# Each fits tables of yet another shape, which take seconds to compile; tests of our own
# fit such tables, or another check looks at the same.
LONG = {
    "check_classifier_data_not_an_array",
    "check_classifiers_classes",
    "check_dtype_object",
    "check_estimators_dtypes",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_check_is_fitted",
    "check_fit_score_takes_y",
    "check_positive_only_tag_during_fit",
    "check_regressor_multioutput",
    "check_regressors_int",
    "check_regressors_no_decision_function",
}


def checks():
    """Those of both kinds; what they share, often for the regressor alone.

    Of checks that are offered in several variants, the first.
    """
    found, names = [], set()
    for kind in (OCBNNRegressor, OCBNNClassifier):
        # So few particles and steps do not learn scales, too.
        settings = {"hidden": (10,), "weight_prior": "fan-in", "random_state": 0}
        model = kind(inference=PLAN, **settings)
        for estimator, check in estimator_checks_generator(model):
            name = check.func.__name__
            marks = [pytest.mark.slow] if name in names | LONG else []
            label = f"{kind.__name__}-{name}"
            found.append(pytest.param(estimator, check, marks=marks, id=label))
            names.add(name)
    return found


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), checks())
def test_scikit_learns_common_checks_pass(estimator, check):
    check(estimator)
