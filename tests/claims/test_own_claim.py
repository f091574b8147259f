"""A kind of claim that a user adds goes through everything that a model does."""

import numpy as np
import pytest

import ocbnn
from ocbnn.claims import registry
from ocbnn.errors import StorageError
from tests.claims.closeness import Near
from tests.estimators.usual import X

NEAR = "close: if 1 <= x <= 2 then y near 0.2 - x within 0.5"
PLAN = ocbnn.NUTS(chains=1, warmup=100, draws=30, max_depth=5)


@pytest.fixture(scope="module")
def model():
    model = ocbnn.OCBNNRegressor(
        NEAR,
        hidden=(3,),
        noise=0.1,
        inference=PLAN,
        random_state=0,
        progress=False,
    )
    with pytest.warns(ocbnn.errors.InferenceWarning):  # one chain cannot agree
        return model.fit(X, -X[:, 0])


def test_draws_are_checked_against_a_new_kind_of_claim(model):
    (check,) = model.check_rules()
    assert check.rule == "close"
    assert check.draws_violating < 0.5
    (opposite,) = model.check_rules(rules=NEAR.replace("0.2", "9"))
    assert opposite.draws_violating == 1.0


def test_a_model_with_a_new_kind_of_claim_is_read_back(model, tmp_path, monkeypatch):
    model.save(tmp_path / "close.ocbnn")
    back = ocbnn.load(tmp_path / "close.ocbnn")
    assert back.rules_ == model.rules_
    assert back.check_rules() == model.check_rules()
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    monkeypatch.delitem(registry._SIGNS, Near.sign)
    with pytest.raises(StorageError, match="near"):
        ocbnn.load(tmp_path / "close.ocbnn")


def test_a_new_kind_of_claim_is_proved_of_draws_or_refuted(model):
    certificate = model.certify(draws=10, boxes=256)
    assert certificate.rules[0].holds > 0
    assert ocbnn.verify(certificate, model) is certificate
    (opposite,) = model.certify(NEAR.replace("0.2", "9"), draws=10).rules
    assert opposite.broken == 1.0
