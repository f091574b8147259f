"""Inputs with scales of their own: functions may turn at the edge of a rule."""

import numpy as np
import pytest

import ocbnn
from ocbnn import NUTS, OCBNNClassifier, OCBNNRegressor
from ocbnn.errors import SettingError

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.uniform(65, 100, 40), RNG.normal(size=40)])
Y = np.where(X[:, 1] > 1, 1.0, 0.0) + 0.05 * RNG.normal(size=40)
NAMES = {"inputs": ["pressure", "lactate"], "random_state": 0, "progress": False}
FEW = NUTS(chains=1, warmup=20, draws=10)
pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")


def test_named_inputs_are_measured_from_where_they_are_said_to_begin():
    scales = {"pressure": (65, 0.5)}
    model = OCBNNRegressor(hidden=(3,), scales=scales, inference=FEW, **NAMES)
    units = model.fit(X, Y).target_.units
    assert (units.x_mean[0], units.x_scale[0]) == (65, 0.5)
    np.testing.assert_allclose(units.x_mean[1], X[:, 1].mean())
    np.testing.assert_allclose(units.y_scale, Y.std())
    assert "pressure from 65 in steps of 0.5" in str(model.report())


def test_scales_go_without_standardised_columns():
    classes = np.where(Y > 0.5, "act", "wait")
    settings = {"standardize": False, "hidden": (3,), "inference": FEW}
    scales = {"pressure": [65, 2]}
    model = OCBNNClassifier(scales=scales, **settings, **NAMES).fit(X, classes)
    assert model.target_.units.x_mean.tolist() == [65, 0]
    assert model.target_.units.x_scale.tolist() == [2, 1]
    bare = OCBNNClassifier(**settings, **NAMES).fit(X, classes)
    assert bare.target_.units is None


def test_a_loaded_model_keeps_its_scales(tmp_path):
    scales = {"pressure": (65, 0.5)}
    model = OCBNNRegressor(hidden=(3,), scales=scales, inference=FEW, **NAMES)
    model.fit(X, Y).save(tmp_path / "model.ocbnn")
    loaded = ocbnn.load(tmp_path / "model.ocbnn")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert {k: tuple(v) for k, v in loaded.scales.items()} == scales


def test_prior_functions_turn_near_the_edge_with_a_small_step():
    at = np.column_stack([[64.0, 66.0, 90.0, 92.0], np.zeros(4)])

    def changes(**settings):
        model = OCBNNRegressor(activation="tanh", **settings, **NAMES)
        near, _, far = np.abs(np.diff(model.sample_prior(at, count=300), axis=1)).T
        return np.median(near), np.median(far)

    near, far = changes(scales={"pressure": (65, 1)}, standardize=False)
    assert near > 4 * far


@pytest.mark.parametrize(
    ("scales", "words"),
    [
        ({"presure": (65, 1)}, ["'presure'", "pressure"]),
        ({"pressure": (65, 0)}, ["'pressure'", "above zero", "(65, 0)"]),
        ({"pressure": (65, np.inf)}, ["above zero"]),
        ({"pressure": 65}, ["two numbers", "got 65"]),
        ({"pressure": "65"}, ["two numbers", "'65'"]),
        (65, ["by name", "got 65", "{'pressure': (65.0, 1.0)}"]),
    ],
)
def test_a_scale_that_is_none_is_refused_with_what_to_write(scales, words):
    model = OCBNNRegressor(scales=scales, inference=FEW, **NAMES)
    with pytest.raises(SettingError) as caught:
        model.fit(X, Y)
    assert all(word in str(caught.value) for word in words)
