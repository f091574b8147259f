"""The scikit-learn face of the library."""

from ocbnn.estimators.certificates.certifying import certify as certify
from ocbnn.estimators.certificates.checking import verify as verify
from ocbnn.estimators.classifier import OCBNNClassifier as OCBNNClassifier
from ocbnn.estimators.factor import (
    RuleFactor as RuleFactor,
    rule_factor as rule_factor,
)
from ocbnn.estimators.loading import load as load
from ocbnn.estimators.refinement import Refinement as Refinement
from ocbnn.estimators.regressor import OCBNNRegressor as OCBNNRegressor
