"""What people use on small tables: baselines from scikit-learn.

Every model gives a distribution of new observations. A Gaussian process has its own;
the others have none, and get a normal around their prediction, as wide as the residuals
of five-fold cross-validation. A Gaussian process chooses its settings by likelihood,
the others theirs by five-fold cross-validation.
"""

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import norm
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
)
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, WhiteKernel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from ocbnn.metrics import coverage, rmse
from ocbnn.studies.base import Result

BASELINES = {
    "gp": "Gaussian process",
    "forest": "random forest",
    "boosting": "monotone boosting",
    "linear": "linear",
}
_FOLDS = 5
_TREES = 200
# The usual twenty rows in each leaf would leave fifteen rows without a split.
_FOREST = {"min_samples_leaf": (1, 3, 5)}
_BOOSTING = {"max_iter": (10, 30, 100, 300), "min_samples_leaf": (2, 5, 15)}


def make_regressor(
    name: str, rows: int, inputs: int, signs: Sequence[int], seed: int
) -> Any:
    """A baseline for numbers, not yet fitted.

    `signs` says with which inputs the target rises (1) or falls (-1).
    """
    folds = KFold(min(_FOLDS, rows), shuffle=True, random_state=seed)
    search = partial(GridSearchCV, scoring="neg_mean_squared_error", cv=folds)
    if name == "gp":
        # Without a least noise, fifteen rows are often fitted exactly.
        kernel = _kernel(inputs) + WhiteKernel(0.1, (1e-3, 1e1))
        model = GaussianProcessRegressor(
            kernel, normalize_y=True, n_restarts_optimizer=2, random_state=seed
        )
        return make_pipeline(StandardScaler(), model)
    if name == "forest":
        return search(RandomForestRegressor(_TREES, random_state=seed), _FOREST)
    if name == "boosting":
        return search(HistGradientBoostingRegressor(**_told(signs, seed)), _BOOSTING)
    model = make_pipeline(StandardScaler(), Ridge())
    return search(model, {"ridge__alpha": np.logspace(-3, 3, 13)})


def make_classifier(
    name: str, labels: Int[np.ndarray, " rows"], inputs: int, signs: Sequence[int],
    seed: int,
) -> Any:  # fmt: skip
    """A baseline for classes, not yet fitted."""
    folds = StratifiedKFold(
        min(_FOLDS, int(np.bincount(labels).min())), shuffle=True, random_state=seed
    )
    search = partial(GridSearchCV, scoring="neg_log_loss", cv=folds)
    if name == "gp":
        model = GaussianProcessClassifier(
            _kernel(inputs), n_restarts_optimizer=2, random_state=seed
        )
        return make_pipeline(StandardScaler(), model)
    if name == "forest":
        return search(RandomForestClassifier(_TREES, random_state=seed), _FOREST)
    if name == "boosting":
        return search(HistGradientBoostingClassifier(**_told(signs, seed)), _BOOSTING)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return search(model, {"logisticregression__C": np.logspace(-4, 2, 13)})


def _told(signs: Sequence[int], seed: int) -> dict[str, Any]:
    return {"monotonic_cst": list(signs), "random_state": seed}


def _kernel(inputs: int) -> Kernel:
    # A length for each input.
    lengths: Any = np.ones(inputs)
    return ConstantKernel(1.0, (1e-2, 1e3)) * RBF(lengths, (1e-1, 1e3))


def predict_values(
    name: str,
    X: Float[np.ndarray, "rows inputs"],
    y: Float[np.ndarray, " rows"],
    new: Float[np.ndarray, "new inputs"],
    signs: Sequence[int],
    seed: int,
) -> tuple[Float[np.ndarray, " new"], Float[np.ndarray, " new"]]:
    """Means and standard deviations of new observations."""
    model = make_regressor(name, len(y), X.shape[1], signs, seed)
    with _quietly():
        model.fit(X, y)
        if name == "gp":
            return model.predict(new, return_std=True)
        residuals = cross_val_predict(model.best_estimator_, X, y, cv=model.cv) - y
        return model.predict(new), np.full(len(new), np.sqrt(np.mean(residuals**2)))


def predict_classes(
    name: str,
    X: Float[np.ndarray, "rows inputs"],
    y: Int[np.ndarray, " rows"],
    new: Float[np.ndarray, "new inputs"],
    signs: Sequence[int],
    seed: int,
) -> Float[np.ndarray, "new classes"]:
    """Probabilities of the classes, which are 0, 1 and so on."""
    model = make_classifier(name, y, X.shape[1], signs, seed)
    with _quietly():
        return model.fit(X, y).predict_proba(new)


def value_scores(
    mean: Float[np.ndarray, " rows"],
    sd: Float[np.ndarray, " rows"],
    y: Float[np.ndarray, " rows"],
    level: float,
) -> Result:
    """Scores of normal distributions."""
    half = norm.ppf((1 + level) / 2) * sd
    inside = coverage((mean - half)[:, None], (mean + half)[:, None], y[:, None])
    return {
        "rmse": rmse(mean, y),
        "log_likelihood": float(norm.logpdf(y, mean, sd).mean()),
        "coverage": inside,
    }


def class_scores(
    probabilities: Float[np.ndarray, "rows classes"], y: Int[np.ndarray, " rows"]
) -> Result:
    """Scores of probabilities of classes."""
    # As scikit-learn's: a certainty that is wrong costs much, but not everything.
    right = np.clip(probabilities[np.arange(len(y)), y], np.finfo(float).eps, 1.0)
    return {
        "log_loss": float(-np.log(right).mean()),
        "accuracy": float(np.mean(probabilities.argmax(axis=1) == y)),
    }


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without warnings of convergence, and on one core.

    A length at the end of its range means an input that does not matter. Tables are so
    small that threads wait for each other most of the time, for minutes on busy cores.
    """
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
