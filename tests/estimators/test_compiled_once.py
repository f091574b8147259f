"""What was compiled for one model serves the next, and says the right names."""

import contextlib

import jax
import numpy as np
import pytest

from ocbnn import OCBNNRegressor
from ocbnn.predictive.pointwise import log_parts
from tests.estimators.usual import CHAINS, X


@contextlib.contextmanager
def compilations():
    """How often XLA is asked for code, be it compiled or read from a folder."""
    asked = []
    listen = lambda event, seconds, **_: (
        asked.append(event) if event.endswith("backend_compile_duration") else None
    )
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield asked
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def fitted(rule, seed=0):
    model = OCBNNRegressor(
        rule, hidden=(10,), noise=0.1, inference=CHAINS, random_state=seed,
        progress=False,
    )  # fmt: skip
    return model.fit(X, np.sin(X[:, 0]))


def used(model):
    model.predict(X)
    model.predict_interval(X)
    return log_parts(model.target_, model.draws_.stacked())


# Few draws, because compiling is what is looked at.
@pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
def test_another_threshold_compiles_nothing_and_changes_the_fit():
    first = fitted("if 2 <= x <= 3 then y >= 0.5")
    before = used(first)
    with compilations() as compiled:
        second = fitted("top: if 2.5 <= x <= 4 then y >= 2 [tolerance=0.2]")
        after = used(second)
    assert compiled == []
    at = np.array([[3.0]])
    assert first.predict(at) < 2.0 < second.predict(at) + 0.2
    assert "rule 'top'" in after
    assert "rule 'top'" not in before
    assert np.all(after["rule 'top'"] > -5000.0)


def test_compilations_are_counted():
    with compilations() as compiled:
        jax.jit(lambda x: x + 1.234)(np.float32(1.0))
    assert compiled
