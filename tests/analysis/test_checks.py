"""Rules checked on rows that a model was not fitted to."""

import numpy as np
import pytest

import ocbnn
from ocbnn.errors import DataError
from tests.estimators.usual import CHAINS, X


@pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
def test_rules_are_checked_on_rows_of_ones_own():
    labels = np.where(X[:, 0] > 0, "treat", "rest")
    model = ocbnn.OCBNNClassifier(
        "up: if 0.5 <= x <= 2 then y in {treat} [weight=1]",
        hidden=(3,),
        inference=CHAINS,
        random_state=0,
    ).fit(X, labels)
    rows = np.array([[0.0], [0.6], [0.7], [0.8]])
    (check,) = model.check_rules(X=rows, y=["rest", "rest", "treat", "treat"])
    assert check.rows_in_region == 3
    assert check.data_violation == pytest.approx(1 / 3)
    (check,) = model.check_rules(X=rows)
    assert check.data_violation is None
    assert check.prediction_violation == 0
    with pytest.raises(DataError, match="It knows rest, treat"):
        model.check_rules(X=rows, y=["middle"] * 4)
