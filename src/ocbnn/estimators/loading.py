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
    one.__name__: one for one in (OCBNNRegressor, OCBNNClassifier)
}
_MOST_NAME, _MOST_SAID = 5000, 1000


def load(path: Any, **settings: Any) -> Any:
    """Read a model that `save` wrote. Nothing in the file is run.

    Parameters
    ----------
    path
        The file or folder, or the folder of an `ocbnn fit`.
    **settings
        What was left out when it was saved, such as `network=...`.

    Raises
    ------
    StorageError
        When the file is missing, damaged or no model, or needs a setting
        that was left out.
    """
    path = _of_fit(Path(path))
    bundle = read_bundle(path)
    document = bundle.document
    if document.get("kind") != KIND:
        raise StorageError(
            f"{path} is a bundle of ocbnn, but no model: it holds "
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
        raise StorageError(f"{path} cannot be loaded: {_said(error)}") from error


def _said(error: Exception) -> str:
    if isinstance(error, KeyError):
        missing = shorten(str(error))
        return f"{missing} is missing. Take the file from a backup, or save again."
    # An error may quote what the file says, which may be of any length.
    return shorten(str(error), _MOST_SAID)


def _check_given(path: Any, document: dict[str, Any], given: dict[str, Any]) -> None:
    left = document.get("left_out")
    left = left if isinstance(left, list) else []
    for name in left:
        if not isinstance(name, str) or len(name) > _MOST_NAME:
            raise StorageError(
                f"{path} cannot be loaded: 'left_out' holds names of settings, got "
                f"{shorten(repr(name), 40)}. Take the file from a backup."
            )
        if name not in given:
            raise StorageError(
                f"{path} was saved without the setting {name!r}. Hand it over: "
                f"ocbnn.load(path, {name}=...)."
            )
    for name in given:
        if name not in left:
            raise StorageError(
                f"{name!r} is part of the file, so it cannot be handed over as well. "
                f"To change it, load the model and write set_params({name}=...)."
            )


def _of_fit(path: Path) -> Path:
    """The model in the folder of a fit, which holds much else; else the path itself."""
    if not (path / "run.json").is_file():
        return path
    if not (path / "model.ocbnn").is_file():
        raise StorageError(
            f"{path} is the folder of a fit that has no model yet. `ocbnn resume "
            f"{path}` goes on with it."
        )
    return path / "model.ocbnn"


def _model(bundle: Bundle, given: dict[str, Any]) -> Any:
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
    model = ESTIMATORS[name](**settings, **given)
    fitted = read_model(bundle, model.get_params(deep=False), model._assemble)
    model.n_features_in_ = len(fitted.schema.inputs)
    if fitted.given.columns is not None:
        model.feature_names_in_ = np.array(fitted.given.columns, dtype=object)
    model.fitted_ = fitted
    return model
