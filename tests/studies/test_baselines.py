"""Baselines: their numbers beside direct calculations, and what they are told."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, log_loss

from ocbnn.studies.baselines import (
    BASELINES,
    class_scores,
    make_classifier,
    make_regressor,
    predict_classes,
    predict_values,
    value_scores,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (40, 2))
# Falls with the first input in the data.
y = -X[:, 0] + 0.5 * np.sin(3 * X[:, 0]) + 0.3 * RNG.normal(size=40)
labels = (y > 0).astype(int)
new = RNG.uniform(-2, 2, (25, 2))


def along_first(low=-2.0, high=2.0):
    return np.column_stack([np.linspace(low, high, 200), np.zeros(200)])


@pytest.mark.parametrize(("sign", "rises"), [(1, True), (-1, False)])
def test_boosting_is_monotone_in_the_direction_it_is_told(sign, rises):
    # Only ever one way, also against the data.
    mean, _ = predict_values("boosting", X, y, along_first(), [sign, 0], 0)
    assert (sign * np.diff(mean) >= 0).all()
    probability = predict_classes("boosting", X, labels, along_first(), [sign, 0], 0)
    assert (sign * np.diff(probability[:, 1]) >= -1e-12).all()
    # It does follow the data where it may.
    assert (np.ptp(mean) > 1) == (not rises)


def test_boosting_is_not_monotone_if_it_is_told_nothing():
    wave = np.sin(3 * X[:, 0])
    mean, _ = predict_values("boosting", X, wave, along_first(), [0, 0], 0)
    assert np.diff(mean).min() < 0 < np.diff(mean).max()


def test_the_gaussian_process_has_a_normal_of_its_own_and_a_length_for_each_input():
    model = make_regressor("gp", len(y), 2, [0, 0], 0).fit(X, y)
    kernel = model[-1].kernel_
    assert len(kernel.k1.k2.length_scale) == 2
    mean, sd = predict_values("gp", X, y, new, [0, 0], 0)
    # In closed form, in standard units, from the kernel that it has found.
    scale = lambda rows: (rows - X.mean(0)) / X.std(0)
    inner = kernel.k1(scale(X)) + kernel.k2.noise_level * np.eye(len(y))
    cross = kernel.k1(scale(new), scale(X))
    weights = np.linalg.solve(inner, cross.T).T
    expected = y.mean() + y.std() * weights @ ((y - y.mean()) / y.std())
    np.testing.assert_allclose(mean, expected, rtol=1e-5, atol=1e-6)
    total = kernel.k1.k1.constant_value + kernel.k2.noise_level
    variance = total - np.sum(weights * cross, axis=1)
    np.testing.assert_allclose(sd, y.std() * np.sqrt(variance), rtol=1e-5)


def test_ridge_is_ridge_and_as_sure_as_its_residuals_in_cross_validation():
    mean, sd = predict_values("linear", X, y, new, [0, 0], 3)
    model = make_regressor("linear", len(y), 2, [0, 0], 3).fit(X, y)
    alpha = model.best_params_["ridge__alpha"]
    scale = lambda rows, of: (rows - of.mean(0)) / of.std(0)
    direct = Ridge(alpha).fit(scale(X, X), y)
    np.testing.assert_allclose(mean, direct.predict(scale(new, X)))
    residuals = []
    for train, test in model.cv.split(X):
        fold = Ridge(alpha).fit(scale(X[train], X[train]), y[train])
        residuals.extend(fold.predict(scale(X[test], X[train])) - y[test])
    np.testing.assert_allclose(sd, np.sqrt(np.mean(np.square(residuals))))


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_learns_from_fifteen_rows(name):
    mean, sd = predict_values(name, X[:15], y[:15], new, [0, 0], 0)
    assert mean.shape == sd.shape == (25,)
    assert (sd > 0).all()
    share = predict_classes(name, X[:15], labels[:15], new, [0, 0], 0)
    np.testing.assert_allclose(share.sum(axis=1), 1.0)
    # Better than the mean of the rows, on the rows themselves.
    fitted, _ = predict_values(name, X[:15], y[:15], X[:15], [0, 0], 0)
    assert np.mean((fitted - y[:15]) ** 2) < np.var(y[:15])


def test_folds_hold_every_class_if_one_is_rare():
    rare = np.array([0] * 12 + [1] * 3)
    model = make_classifier("linear", rare, 2, [0, 0], 0)
    assert model.cv.n_splits == 3
    assert make_classifier("linear", labels, 2, [0, 0], 0).cv.n_splits == 5


def test_scores_are_those_of_the_distributions():
    mean, sd, truth = np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([0.5, 9.0])
    scores = value_scores(mean, sd, truth, 0.9)
    assert scores["rmse"] == pytest.approx(np.sqrt((0.25 + 64) / 2))
    logs = norm(0, 1).logpdf(0.5) + norm(1, 2).logpdf(9.0)
    assert scores["log_likelihood"] == pytest.approx(logs / 2)
    # 1.645 standard deviations to either side: 0.5 is inside, 9 is four away.
    assert scores["coverage"] == 0.5
    probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    found = class_scores(probabilities, np.array([0, 1, 1]))
    assert found["log_loss"] == pytest.approx(log_loss([0, 1, 1], probabilities))
    guesses = probabilities.argmax(axis=1)
    assert found["accuracy"] == pytest.approx(accuracy_score([0, 1, 1], guesses))
    sure = np.array([[1.0, 0.0]])
    assert np.isfinite(class_scores(sure, np.array([1]))["log_loss"])
