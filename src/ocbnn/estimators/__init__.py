"""The scikit-learn interface of the library."""

from ocbnn.certificates.certification import certify as certify
from ocbnn.certificates.verification import verify as verify
from ocbnn.estimators.classifier import OCBNNClassifier as OCBNNClassifier
from ocbnn.estimators.loading import load as load
from ocbnn.estimators.regressor import OCBNNRegressor as OCBNNRegressor
from ocbnn.priors.factor import (
    RuleFactor as RuleFactor,
    rule_factor as rule_factor,
)
from ocbnn.refinement.settings import Refinement as Refinement
