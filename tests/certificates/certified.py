"""A model that several files of tests certify."""

import warnings

import numpy as np

import ocbnn
from ocbnn.errors import InferenceWarning
from tests.estimators.usual import CHAINS, X

RULES = ("up: if 3 <= x <= 4 then y >= 0", "cap: y <= 3 [sampler=like-data]")


def certified_model():
    """Of two rules, one with a region and one without."""
    model = ocbnn.OCBNNRegressor(
        rules=list(RULES), hidden=(5,), noise=0.1, inference=CHAINS, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        return model.fit(X, np.sin(X[:, 0]))
