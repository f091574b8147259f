"""Noise that depends on the inputs, from the fit to the file and back."""

import numpy as np
import pytest

import ocbnn
from ocbnn import MCLMC, OCBNNRegressor, WarmStart
from ocbnn.errors import SettingError

PLAN = WarmStart(
    sampler=MCLMC(chains=2, warmup=1500, draws=200, thin=10), iterations=2000
)
pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")


def true_noise(x):
    return 0.05 * np.exp(1.2 * x)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 300)
    return x[:, None], np.sin(2 * x) + true_noise(x) * rng.standard_normal(300)


@pytest.fixture(scope="module")
def model(data):
    model = OCBNNRegressor(
        "y <= 3 [sampler=like-data]",
        hidden=(8,),
        activation="tanh",
        noise="varies",
        inference=PLAN,
        random_state=0,
        progress=False,
    )
    return model.fit(*data)


def test_the_noise_is_found_where_it_is_small_and_where_it_is_large(model):
    ends = np.array([[-0.8], [0.0], [0.8]])
    noise = model.sample_noise(ends, 400).mean(axis=0)
    assert noise.shape == (3,)
    np.testing.assert_allclose(noise, true_noise(ends[:, 0]), rtol=0.35)
    assert model.noise_ is None


def test_intervals_are_wide_where_the_noise_is(model):
    xs = np.linspace(-0.95, 0.95, 4000)
    rng = np.random.default_rng(1)
    y = np.sin(2 * xs) + true_noise(xs) * rng.standard_normal(4000)
    low, high = model.predict_interval(xs[:, None], 0.9)
    inside = (y >= low) & (y <= high)
    # One width for all would hold nearly every observation here and too few there.
    for half in (xs < 0, xs > 0):
        assert abs(inside[half].mean() - 0.9) < 0.05
    assert (high - low)[-1] > 3 * (high - low)[0]


def test_it_comes_back_from_a_file(model, data, tmp_path):
    model.save(tmp_path / "model.ocbnn")
    again = ocbnn.load(tmp_path / "model.ocbnn")
    X = data[0][:20]
    assert np.array_equal(model.sample_noise(X), again.sample_noise(X))
    for mine, theirs in zip(
        model.predict(X, return_std=True),
        again.predict(X, return_std=True),
        strict=True,
    ):
        assert np.array_equal(mine, theirs)
    assert again.noise_ is None


def test_arviz_sees_the_noise_at_the_reference_inputs(model):
    posterior = model.to_arviz().posterior
    assert posterior["noise"].dims == posterior["f"].dims


def test_other_words_are_refused_with_advice(data, as_users_run_it):
    with pytest.raises(
        SettingError, match=r'"infer", "varies", or a number above zero'
    ):
        OCBNNRegressor(noise="variable").fit(*data)
