"""A fitted model from a bundle, ready to predict as it did."""

import dataclasses
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ocbnn.core.errors import OcbnnError, RuleError, StorageError, StorageWarning
from ocbnn.core.units import Units
from ocbnn.core.words import shorten
from ocbnn.estimators.classifier import OCBNNClassifier
from ocbnn.estimators.holding import answering, hard_rules
from ocbnn.estimators.kept_terms import read_term, take
from ocbnn.estimators.refinement import RefinementRecord
from ocbnn.estimators.regressor import OCBNNRegressor
from ocbnn.estimators.rulebook import bind_rules
from ocbnn.estimators.saving import KIND, leaf_names
from ocbnn.inference import Choice, Draws, Plan, Verdict
from ocbnn.inference.naming import TAG as PLAN_TAG, plan_from_plain
from ocbnn.metrics.held import Held, HeldRule
from ocbnn.networks import MLP
from ocbnn.rules import Rule, Schema, parse_rule
from ocbnn.rules.schema import as_choices
from ocbnn.storage import Bundle, from_plain, read_bundle

ESTIMATORS = {one.__name__: one for one in (OCBNNRegressor, OCBNNClassifier)}
_MOST_NAME, _MOST_SAID = 5000, 1000
_DTYPE = re.compile(r"[<>|=][biufUO]\d*")


def load(path: Any, **settings: Any) -> Any:
    """Read a model that `save` wrote. Nothing in the file is run.

    Args:
        path: The file or folder, or the folder of an `ocbnn fit`.
        **settings: What was left out when it was saved, such as `network=...`.

    Raises:
        StorageError: When the file is missing, damaged or no model, or needs a setting
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
    if _flag(document, "double_precision") and not jax.config.read("jax_enable_x64"):
        warnings.warn(
            "this model was fitted in double precision, and JAX is set to single, so "
            "predictions will differ in the last digits. Write "
            'jax.config.update("jax_enable_x64", True) before loading it.',
            StorageWarning,
            stacklevel=4,
        )
    model = ESTIMATORS[name](**_settings(document, arrays), **given)
    model.schema_ = _schema(model, _part(document, "schema"))
    model.rules_ = bind_rules(model.rules, model.schema_)
    model._X, model._Y = _data(model, document, arrays)
    model._stored_rows = _stored_rows(document)
    model._row_names = _row_names(
        document, arrays, 0 if model._X is None else len(model._X)
    )
    model.choice_ = _choice(model, document)
    _restore_target(model, document, arrays)
    model.draws_ = _draws(model, _part(document, "draws"), arrays)
    model._predictive = model._predict_with(model.draws_)
    model.verdict_ = _record(Verdict, _part(document, "verdict"))
    model.held_, model._kept = _held(model, document, arrays)
    model._answering = answering(model, model._predictive, model._kept)
    model.refinement_ = _refinement(document)
    if isinstance(model, OCBNNRegressor):
        model.noise_ = model._predictive.noise()
    return model


def _refinement(document: dict[str, Any]) -> RefinementRecord | None:
    # Not in files of ocbnn before rules were refined.
    said = document.get("refinement")
    if said is None:
        return None
    return RefinementRecord.from_dict(from_plain(said, "refinement"))


def _part(document: dict[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(document[name], dict):
        shown = shorten(repr(document[name]), 40)
        raise StorageError(f"{name!r} must be an object of names, got {shown}.")
    return document[name]


def _flag(document: dict[str, Any], name: str) -> bool:
    if type(document[name]) is not bool:
        raise StorageError(f"{name!r} must be true or false.")
    return document[name]


def _settings(
    document: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> dict[str, Any]:
    def rule(said: Any) -> Rule:
        made = parse_rule(said["text"])
        if "points" not in said:
            return made
        return dataclasses.replace(made, sampler=arrays[said["points"]])

    def mlp(said: Any) -> MLP:
        inputs, hidden, outputs, activation = said
        return MLP(int(inputs), tuple(hidden), int(outputs), activation)

    makers = {
        PLAN_TAG: plan_from_plain,
        "$rule": rule,
        "$array": lambda name: arrays[name],
        "$mlp": mlp,
    }
    said = _part(document, "settings").items()
    return {name: from_plain(value, name, makers) for name, value in said}


def _schema(model: Any, said: dict[str, Any]) -> Schema:
    for key in ("inputs", "outputs", "columns", "classes"):
        for name in said.get(key) or ():
            if isinstance(name, str) and len(name) > _MOST_NAME:
                raise StorageError(
                    f"{key!r} has a name of {len(name):,} characters, and at most "
                    f"{_MOST_NAME:,} are read: {shorten(name, 40)!r}."
                )
    inputs, outputs = tuple(said["inputs"]), tuple(said["outputs"])
    model.n_features_in_ = len(inputs)
    choices = as_choices(model.choices, inputs)
    if said["columns"] is not None:
        model.feature_names_in_ = np.array(said["columns"], dtype=object)
    if isinstance(model, OCBNNRegressor):
        model._y_ndim = 1 if said["y_ndim"] == 1 else 2
        return Schema(inputs, outputs, choices=choices)
    labels, dtype = from_plain(said["classes"], "classes"), str(said["classes_dtype"])
    if not _DTYPE.fullmatch(dtype):
        raise StorageError(f"classes cannot be of type {dtype[:40]!r}.")
    # The longest label decides how wide the text is, whatever the file says.
    model.classes_ = np.array(labels, object if dtype[1] == "O" else None)
    if dtype[1] not in "OU":
        model.classes_ = model.classes_.astype(dtype)
    return Schema(inputs, outputs, tuple(labels), choices)


def _data(
    model: Any, document: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> tuple[Any, Any]:
    if not _flag(document, "data"):
        return None, None
    schema = model.schema_
    X = take(arrays, "data/X", (None, len(schema.inputs)))
    if schema.classes is None:
        return X, take(arrays, "data/Y", (len(X), len(schema.outputs)))
    codes = take(arrays, "data/Y", (len(X),), kinds="iu")
    if codes.min() < 0 or codes.max() >= len(schema.classes):
        raise StorageError("the array 'data/Y' names classes that are not there.")
    return X, codes


def _stored_rows(document: dict[str, Any]) -> int | None:
    # Not in files of ocbnn before rows were read from files.
    rows = document.get("stored_rows")
    if not (rows is None or (type(rows) is int and rows > 0)):
        raise StorageError("'stored_rows' is a whole number above zero, or nothing.")
    return rows


def _row_names(
    document: dict[str, Any], arrays: Mapping[str, np.ndarray], rows: int
) -> list[str | int] | None:
    # Not in files of ocbnn before labels were kept.
    names = document.get("row_names")
    numbers = arrays.get("data/row_names")
    if names is None and numbers is not None and numbers.dtype.kind in "iu":
        names = numbers.tolist()
    if names is None:
        return None
    plain = isinstance(names, list) and all(type(n) in (str, int) for n in names)
    if not plain or len(names) != rows:
        raise StorageError(
            f"'row_names' needs a text or number for each of {rows} rows."
        )
    return names


def _restore_target(
    model: Any, document: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    said = document["rules"]
    texts = [str(bound.rule) for bound in model.rules_]
    if texts != [one["text"] for one in said]:
        raise RuleError(
            "the rules are not those that the model was fitted to, which were: "
            f"{[one['text'] for one in said]}."
        )
    schema = model.schema_
    outputs = len(schema.outputs if schema.classes is None else schema.classes)
    if isinstance(model, OCBNNRegressor):
        model.limits_ = model._limits(schema)
    units = None
    if _flag(document, "units"):
        units = _units(arrays, len(schema.inputs), outputs)
    terms = tuple(
        read_term(f"rules/{number}", one["points"], bound, arrays, units)
        for number, (one, bound) in enumerate(zip(said, model.rules_, strict=True))
        if one["points"] is not None
    )
    # Some rows of a file say nothing about the likelihood of all of them.
    data = None
    if model._X is not None and model._stored_rows is None:
        data = (model._X, model._Y)
    model.target_ = model._assemble(terms, data, units)


def _units(arrays: Mapping[str, np.ndarray], inputs: int, outputs: int) -> Units:
    (x_mean, x_rest), (y_mean, y_rest) = (
        _mean(arrays, f"units/{axis}_mean", width)
        for axis, width in (("x", inputs), ("y", outputs))
    )
    x_scale = take(arrays, "units/x_scale", (inputs,))
    y_scale = take(arrays, "units/y_scale", (outputs,))
    if not ((x_scale > 0).all() and (y_scale > 0).all()):
        raise StorageError("the scales of its units are not all above zero.")
    return Units(x_mean, x_scale, y_mean, y_scale, x_rest, y_rest)


def _mean(arrays: Mapping[str, np.ndarray], name: str, width: int) -> np.ndarray:
    """A mean and what rounding took from it, which was not kept once."""
    if name in arrays and arrays[name].ndim == 1:
        mean = take(arrays, name, (width,))
        return np.stack([mean, np.zeros_like(mean)])
    return take(arrays, name, (2, width))


def _draws(model: Any, said: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Draws:
    shapes = model.target_.shapes()
    specs, pattern = jax.tree.flatten(shapes)
    names = [f"draws/{name}" for name in leaf_names(shapes)]
    first = arrays[names[0]].shape[:2]
    leaves = [
        take(arrays, name, (*first, *spec.shape))
        for name, spec in zip(names, specs, strict=True)
    ]
    if len(first) < 2 or 0 in first:
        raise StorageError("there are no draws in it.")
    kept = {f"draws/{name}" for name in leaf_names(shapes)}
    other = sorted(n for n in arrays if n.startswith("draws/") and n not in kept)
    if other:
        raise StorageError(f"the network has no weights {other[0]!r}.")
    seconds = said["seconds"]
    if type(seconds) not in (int, float) or seconds < 0:
        shown = shorten(repr(seconds), 40)
        raise StorageError(f"'seconds' must be a number, not negative, got {shown}.")
    rest = {k: v for k, v in said.items() if k not in ("plan", "algorithm")}
    return _record(
        Draws,
        rest,
        positions=jax.tree.unflatten(pattern, leaves),
        stats=_trace("stats/", first[0], arrays),
        warmup=_trace("warmup/", first[0], arrays),
        plan=model.choice_.plan,
    )


def _held(
    model: Any, document: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> tuple[Held | None, np.ndarray]:
    # Not in files of ocbnn before rules could be hard.
    said, size = document.get("held"), model.draws_.size
    if said is None:
        if hard_rules(model.rules_):
            raise StorageError("it does not say which draws keep its hard rules.")
        return None, np.arange(size)
    kept = take(arrays, "held/kept", (None,), kinds="iu").astype(int)
    if not kept.size or kept.min() < 0 or kept.max() >= size:
        raise StorageError("the array 'held/kept' names draws that are not there.")
    rules = tuple(_record(HeldRule, rule) for rule in said["rules"])
    rest = {name: value for name, value in said.items() if name != "rules"}
    # Not in files of ocbnn before those that answer were counted.
    rest.setdefault("answering", len(np.unique(kept)))
    return _record(Held, rest, rules=rules), kept


def _trace(
    head: str, chains: int, arrays: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    found = {n.removeprefix(head): a for n, a in arrays.items() if n.startswith(head)}
    for name, array in found.items():
        if array.ndim < 2 or array.shape[0] != chains:
            raise StorageError(
                f"the array {head + name!r} needs one row for each of {chains} chains, "
                f"and has shape {array.shape}."
            )
        if name == "divergent" and not np.isfinite(array).all():
            raise StorageError(f"the array {head + name!r} must hold finite numbers.")
    return found


def _choice(model: Any, document: dict[str, Any]) -> Choice:
    # Written since models choose for themselves; before, the settings said it all.
    said = document.get("choice", {})
    size, reason = said.get("batch_size", model.batch_size), said.get("reason", "")
    if not (size is None or type(size) is int) or not isinstance(reason, str):
        raise StorageError("a choice has a reason in words and a whole batch_size.")
    return Choice(_plan(model, _part(document, "draws")), reason, size)


def _plan(model: Any, said: dict[str, Any]) -> Plan:
    plan = (
        model.inference
        if said["plan"] is None
        else from_plain(said["plan"], "the plan", {PLAN_TAG: plan_from_plain})
    )
    if not isinstance(plan, Plan) or type(plan).__name__ != said["algorithm"]:
        raise StorageError(
            f"the draws were made by {str(said['algorithm'])[:40]}, not by "
            f"{type(plan).__name__}."
        )
    return plan


def _record(kind: Any, said: dict[str, Any], **values: Any) -> Any:
    """A data class from what is known of it; what a newer one added is left alone."""
    known = {field.name for field in dataclasses.fields(kind)}
    plain = {k: from_plain(v, k) for k, v in said.items() if k in known}
    return kind(**plain, **values)
