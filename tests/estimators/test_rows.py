"""Rules checked on rows that a model was not fitted to."""

import numpy as np
import pytest

import ocbnn
from ocbnn.core.errors import DataError


@pytest.mark.filterwarnings("ignore::ocbnn.core.errors.InferenceWarning")
def test_rules_are_checked_on_rows_of_ones_own():
    X = np.linspace(-1, 1, 12)[:, None]
    labels = np.where(X[:, 0] > 0, "high", "low")
    model = ocbnn.OCBNNClassifier(
        "up: if 0.5 <= x <= 2 then y in {high}",
        hidden=(2,),
        inference=ocbnn.NUTS(chains=1, warmup=40, draws=10, max_depth=4),
        random_state=0,
    ).fit(X, labels)
    rows = np.array([[0.0], [0.6], [0.7], [0.8]])
    (check,) = model.check_rules(X=rows, y=["low", "low", "high", "high"])
    assert check.rows_in_region == 3
    assert check.data_violation == pytest.approx(1 / 3)
    (check,) = model.check_rules(X=rows)
    assert check.data_violation is None
    assert check.prediction_violation == 0
    with pytest.raises(DataError, match="It knows high, low"):
        model.check_rules(X=rows, y=["middle"] * 4)
