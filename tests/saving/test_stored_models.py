"""Stored model files keep their numbers: these are of format version 1."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import ocbnn

MODELS = Path(__file__).parent / "stored_models"
ANSWERS = json.loads((MODELS / "answers.json").read_text())
NEW = np.linspace(-3, 3, 7)[:, None]
PATIENTS = np.array([[30.0, 45.0], [60.0, 66.0], [75.0, 88.0]])
# Sums of single precision are taken in another order by other versions and processors.
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(scope="module")
def regressor():
    return ocbnn.load(MODELS / "regressor.ocbnn")


@pytest.fixture(scope="module")
def classifier():
    return ocbnn.load(MODELS / "classifier.ocbnn")


def test_a_stored_regressor_predicts_as_it_did(regressor):
    mean, sd = regressor.predict(NEW, return_std=True)
    np.testing.assert_allclose(mean, ANSWERS["mean"], **CLOSE)
    np.testing.assert_allclose(sd, ANSWERS["sd"], **CLOSE)
    low, high = regressor.predict_interval(NEW, 0.9)
    # These answers are of a sample; ends are now those of the mixture itself.
    np.testing.assert_allclose(low, ANSWERS["low"], atol=0.02)
    np.testing.assert_allclose(high, ANSWERS["high"], atol=0.02)
    functions = regressor.sample_functions(NEW, count=10_000)
    noise = regressor.sample_noise(NEW, count=10_000)
    for end, share in ((low, 0.05), (high, 0.95)):
        result = norm.cdf(end, functions, noise).mean(axis=0)
        np.testing.assert_allclose(result, share, atol=1e-3)


def test_a_stored_classifier_predicts_as_it_did(classifier):
    probabilities = classifier.predict_proba(PATIENTS)
    np.testing.assert_allclose(probabilities, ANSWERS["probabilities"], **CLOSE)
    assert classifier.predict(PATIENTS).tolist() == ANSWERS["classes"]


def test_stored_models_know_their_rules_and_verdicts(regressor, classifier):
    checks = [*regressor.check_rules(), *classifier.check_rules()]
    result = [check.violation for check in checks]
    np.testing.assert_allclose(result, ANSWERS["violation"], atol=0.002)
    assert [str(one.verdict_) for one in (regressor, classifier)] == ANSWERS["verdicts"]
    parts = regressor.log_density_parts()
    assert parts == pytest.approx(ANSWERS["parts"], rel=1e-3)
