"""An estimator from a file, fitted as it was."""

from pathlib import Path
from typing import Any

import jax
import numpy as np

from ocbnn.core.warn import warn
from ocbnn.core.words import shorten
from ocbnn.errors import OcbnnError, StorageError, StorageWarning
from ocbnn.estimators.base import BaseOCBNN
from ocbnn.estimators.classifier import OCBNNClassifier
from ocbnn.estimators.regressor import OCBNNRegressor
from ocbnn.saving.reading import read_flag, read_model, read_settings
from ocbnn.saving.writing import KIND
from ocbnn.storage import Bundle, read_bundle

ESTIMATORS: dict[str, type[BaseOCBNN]] = {
    kind.__name__: kind for kind in (OCBNNRegressor, OCBNNClassifier)
}
_MOST_NAME, _MOST_SHOWN = 5000, 1000


def load(path: Any, **settings: Any) -> Any:
    """Load a model that `save` wrote. Nothing in the file is executed.

    Parameters
    ----------
    path
        The file or folder, or the folder of an `ocbnn fit`.
    **settings
        Settings that were left out when it was saved, such as `network=...`.

    Returns
    -------
    Any
        A fitted `OCBNNRegressor` or `OCBNNClassifier`, as it was saved.

    Raises
    ------
    StorageError
        When the file is missing, damaged or not a model, or needs a setting
        that was left out.
    """
    path = _model_path(Path(path))
    bundle = read_bundle(path)
    document = bundle.document
    if document.get("kind") != KIND:
        raise StorageError(
            f"{path} is a bundle of ocbnn, but not a model: it holds "
            f"{str(document.get('kind'))[:60]!r}."
        )
    _check_given(path, document, settings)
    try:
        return _model(bundle, settings)
    except (
        OcbnnError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise StorageError(f"{path} cannot be loaded: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        missing = shorten(str(error))
        return f"{missing} is missing. Take the file from a backup, or save again."
    # An error may quote text from the file, which can be of any length.
    return shorten(str(error), _MOST_SHOWN)


def _check_given(path: Any, document: dict[str, Any], settings: dict[str, Any]) -> None:
    left_out = document.get("left_out")
    left_out = left_out if isinstance(left_out, list) else []
    for name in left_out:
        if not isinstance(name, str) or len(name) > _MOST_NAME:
            raise StorageError(
                f"{path} cannot be loaded: 'left_out' holds names of settings, got "
                f"{shorten(repr(name), 40)}. Take the file from a backup."
            )
        if name not in settings:
            raise StorageError(
                f"{path} was saved without the setting {name!r}. Pass it: "
                f"ocbnn.load(path, {name}=...)."
            )
    for name in settings:
        if name not in left_out:
            raise StorageError(
                f"{name!r} is part of the file, so it cannot be passed as well. To "
                f"change it, load the model and write set_params({name}=...)."
            )


def _model_path(path: Path) -> Path:
    """The path of the model if `path` is the folder of a fit, else the path itself."""
    if not (path / "run.json").is_file():
        return path
    if not (path / "model.ocbnn").is_file():
        raise StorageError(
            f"{path} is the folder of a fit that has no model yet. `ocbnn resume "
            f"{path}` goes on with it."
        )
    return path / "model.ocbnn"


def _model(bundle: Bundle, left_out: dict[str, Any]) -> Any:
    document, arrays = bundle.document, bundle.arrays
    name = document["estimator"]
    if not isinstance(name, str) or name not in ESTIMATORS:
        raise StorageError(
            f"there is no estimator {str(name)[:40]!r} in this ocbnn. It may have been "
            "saved by a newer one: update ocbnn."
        )
    if read_flag(document, "double_precision") and not jax.config.read(
        "jax_enable_x64"
    ):
        warn(
            "this model was fitted in double precision, and JAX is set to single, so "
            "predictions will differ in the last digits. Write "
            'jax.config.update("jax_enable_x64", True) before loading it.',
            StorageWarning,
        )
    settings = read_settings(document, arrays)
    model = ESTIMATORS[name](**settings, **left_out)
    fitted = read_model(bundle, model.get_params(deep=False))
    model.n_features_in_ = len(fitted.schema.inputs)
    if fitted.given.columns is not None:
        model.feature_names_in_ = np.array(fitted.given.columns, dtype=object)
    model.fitted_ = fitted
    return model
