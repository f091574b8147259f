"""A log density follows from settings, rules and data, without an estimator."""

import pytest

import ocbnn
from ocbnn.core.units import Units
from ocbnn.errors import SettingError
from ocbnn.fitted.target import TargetSettings, make_likelihood, make_target
from ocbnn.posterior import Categorical, GaussianNoise, TruncatedGaussian
from ocbnn.rules import Schema, bind

NUMBERS = Schema(("x",), ("y",))
CLASSES = Schema(("x",), ("y",), ("low", "mid", "high"))


def settings(estimator=ocbnn.OCBNNRegressor, **given):
    return TargetSettings.of(estimator(hidden=(3,), **given).get_params(deep=False))


def test_a_regressor_has_noise_and_a_classifier_a_logit_for_each_class():
    target = make_target(settings(noise=0.5), NUMBERS, (), (), None, None, None)
    assert isinstance(target.likelihood, GaussianNoise)
    assert (target.network.inputs, target.network.outputs) == (1, 1)
    given = settings(ocbnn.OCBNNClassifier)
    target = make_target(given, CLASSES, (), (), None, None, None)
    assert isinstance(target.likelihood, Categorical)
    assert target.network.outputs == 3


def test_rules_without_a_region_limit_truncated_observations():
    given, units = settings(noise=0.5, truncate=True), Units.plain(1, 1)
    bound = bind("y >= 0 [sampler=like-data]", NUMBERS)
    likelihood = make_likelihood(given, NUMBERS, (bound,), units)
    assert isinstance(likelihood, TruncatedGaussian)
    with pytest.raises(SettingError, match="there are none"):
        make_likelihood(given, NUMBERS, (), units)
