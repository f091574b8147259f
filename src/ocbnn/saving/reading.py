"""A fitted model from a bundle, with the same predictions as before."""

import dataclasses
import functools
import re
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from ocbnn.core.types import Position
from ocbnn.core.units import Units
from ocbnn.core.words import shorten
from ocbnn.errors import RuleError, StorageError
from ocbnn.fitted import FittedModel, Rows
from ocbnn.fitted.record import Given
from ocbnn.fitted.target import TargetSettings, make_target
from ocbnn.inference import Choice, Draws, Plan, Verdict
from ocbnn.inference.plan_names import TAG as PLAN_TAG, plan_from_plain
from ocbnn.language.schema import as_choices
from ocbnn.metrics.hard_rules import HardRuleEntry, HardRuleRecord
from ocbnn.networks import MLP
from ocbnn.posterior import Target
from ocbnn.priors import RuleTerm
from ocbnn.priors.rulebook import bind_rules
from ocbnn.refinement.hard import hard_rules
from ocbnn.refinement.projected import ProjectionRecord
from ocbnn.refinement.record import RefinementRecord
from ocbnn.rules import BoundRule, Rule, Schema, parse_rule
from ocbnn.saving.tags import PRIOR_TAGS
from ocbnn.saving.terms import read_term, take
from ocbnn.saving.writing import leaf_names
from ocbnn.storage import Bundle, from_plain, record_from_dict

_MAX_NAME = 5000
_DTYPE = re.compile(r"[<>|=][biufUO]\d*")


def read_model(bundle: Bundle, settings: Mapping[str, Any]) -> FittedModel:
    """A fitted model from a bundle that `save_model` wrote.

    Parameters
    ----------
    bundle
        The content of the file.
    settings
        The settings of the estimator that fitted it.

    Raises
    ------
    StorageError
        When a value in it is not valid.
    """
    document, arrays = bundle.document, bundle.arrays
    schema, given = _schema(_part(document, "schema"), settings, document["estimator"])
    rules = bind_rules(settings["rules"], schema)
    rows = _rows(schema, document, arrays)
    choice = _choice(document, settings)
    units = _units(document, arrays, schema)
    terms = _terms(document["rules"], rules, arrays, units)
    # A sample of rows in a file does not give the likelihood of all of them.
    data = None if rows is None or rows.stored is not None else (rows.X, rows.Y)
    is_projected = document.get("projection") is not None
    priced = () if is_projected else terms
    target = make_target(
        TargetSettings.of(settings),
        schema,
        rules,
        priced,
        data,
        units,
        choice.batch_size,
    )
    draws = _draws(target, choice.plan, _part(document, "draws"), arrays)
    hard_record, kept = _hard_rules(rules, draws.size, document, arrays)
    projection, free = _projection(target, draws, document, arrays)
    return FittedModel(
        schema=schema,
        rules=rules,
        target=target,
        draws=draws,
        choice=choice,
        verdict=_record(Verdict, _part(document, "verdict")),
        hard_rules=hard_record,
        kept=kept,
        data=rows,
        given=given,
        refinement=_refinement(document),
        projection=projection,
        free=free,
        projected_onto=terms if is_projected else (),
        scales=settings["scales"],
        random_state=settings["random_state"],
        devices=settings["devices"],
    )


def _refinement(document: dict[str, Any]) -> RefinementRecord | None:
    entry = document["refinement"]
    if entry is None:
        return None
    return RefinementRecord.from_dict(from_plain(entry, "refinement"))


def _projection(
    target: Target,
    draws: Draws,
    document: dict[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> tuple[ProjectionRecord | None, Position | None]:
    """The record of a projection, and positions before it; older files have none."""
    entry = document.get("projection")
    if entry is None:
        return None, None
    record = ProjectionRecord.from_dict(from_plain(entry, "projection"))
    shapes = target.shapes()
    specs, structure = jax.tree.flatten(shapes)
    by_draw = draws.chains, draws.draws
    leaves = [
        take(arrays, f"free/{name}", (*by_draw, *spec.shape))
        for name, spec in zip(leaf_names(shapes), specs, strict=True)
    ]
    return record, jax.tree.unflatten(structure, leaves)


def _part(document: dict[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(document[name], dict):
        shown = shorten(repr(document[name]), 40)
        raise StorageError(f"{name!r} must be an object of names, got {shown}.")
    return document[name]


def read_flag(document: dict[str, Any], name: str) -> bool:
    """A value of a document that must be true or false."""
    if type(document[name]) is not bool:
        raise StorageError(f"{name!r} must be true or false.")
    return document[name]


def read_settings(
    document: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> dict[str, Any]:
    """The settings of the estimator, except for those that were left out."""

    def rule(entry: Any) -> Rule:
        rule = parse_rule(entry["text"])
        if "points" not in entry:
            return rule
        return dataclasses.replace(rule, sampler=arrays[entry["points"]])

    def mlp(entry: Any) -> MLP:
        inputs, hidden, outputs, activation = entry
        return MLP(int(inputs), tuple(hidden), int(outputs), activation)

    makers = {
        PLAN_TAG: plan_from_plain,
        "$rule": rule,
        "$array": lambda name: arrays[name],
        "$mlp": mlp,
        **{tag: functools.partial(_record, kind) for kind, tag in PRIOR_TAGS.items()},
    }
    settings = _part(document, "settings").items()
    return {name: from_plain(value, name, makers) for name, value in settings}


def _schema(
    document: dict[str, Any], settings: Mapping[str, Any], estimator: str
) -> tuple[Schema, Given]:
    for key in ("inputs", "outputs", "columns", "classes"):
        for name in document.get(key) or ():
            if isinstance(name, str) and len(name) > _MAX_NAME:
                raise StorageError(
                    f"{key!r} has a name of {len(name):,} characters, and at most "
                    f"{_MAX_NAME:,} are read: {shorten(name, 40)!r}."
                )
    inputs, outputs = tuple(document["inputs"]), tuple(document["outputs"])
    choices = as_choices(settings["choices"], inputs)
    columns = (
        None if document["columns"] is None else tuple(map(str, document["columns"]))
    )
    if estimator == "OCBNNRegressor":
        ndim = 1 if document["y_ndim"] == 1 else 2
        return Schema(inputs, outputs, choices=choices), Given(columns, ndim)
    labels, dtype = (
        from_plain(document["classes"], "classes"),
        str(document["classes_dtype"]),
    )
    if not _DTYPE.fullmatch(dtype):
        raise StorageError(f"classes cannot be of type {dtype[:40]!r}.")
    # The longest label decides the width of the text type, not the file.
    classes = np.array(labels, object if dtype[1] == "O" else None)
    if dtype[1] not in "OU":
        classes = classes.astype(dtype)
    return Schema(inputs, outputs, tuple(labels), choices), Given(columns, 1, classes)


def _rows(
    schema: Schema, document: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> Rows | None:
    stored = _stored_rows(document)
    X = Y = None
    if read_flag(document, "data"):
        X = take(arrays, "data/X", (None, len(schema.inputs)))
        Y = _outputs(schema, arrays, len(X))
    names = _row_names(document, arrays, 0 if X is None else len(X))
    return None if X is None or Y is None else Rows(X, Y, names, stored)


def _outputs(schema: Schema, arrays: Mapping[str, np.ndarray], rows: int) -> np.ndarray:
    if schema.classes is None:
        return take(arrays, "data/Y", (rows, len(schema.outputs)))
    codes = take(arrays, "data/Y", (rows,), kinds="iu")
    if codes.min() < 0 or codes.max() >= len(schema.classes):
        raise StorageError("the array 'data/Y' names classes that do not exist.")
    return codes


def _stored_rows(document: dict[str, Any]) -> int | None:
    rows = document["stored_rows"]
    if not (rows is None or (type(rows) is int and rows > 0)):
        raise StorageError("'stored_rows' must be a whole number above zero, or null.")
    return rows


def _row_names(
    document: dict[str, Any], arrays: Mapping[str, np.ndarray], rows: int
) -> list[str | int] | None:
    names = document["row_names"]
    numbers = arrays.get("data/row_names")
    if names is None and numbers is not None and numbers.dtype.kind in "iu":
        names = numbers.tolist()
    if names is None:
        return None
    is_valid = isinstance(names, list) and all(type(n) in (str, int) for n in names)
    if not is_valid or len(names) != rows:
        raise StorageError(
            f"'row_names' needs a text or number for each of {rows} rows."
        )
    return names


def _terms(
    entries: list[dict[str, Any]],
    rules: tuple[BoundRule, ...],
    arrays: Mapping[str, np.ndarray],
    units: Units | None,
) -> tuple[RuleTerm, ...]:
    texts = [str(bound.rule) for bound in rules]
    if texts != [entry["text"] for entry in entries]:
        raise RuleError(
            "the rules are not those that the model was fitted to, which were: "
            f"{[entry['text'] for entry in entries]}."
        )
    return tuple(
        read_term(f"rules/{number}", entry["points"], bound, arrays, units)
        for number, (entry, bound) in enumerate(zip(entries, rules, strict=True))
        if entry["points"] is not None
    )


def _units(
    document: dict[str, Any], arrays: Mapping[str, np.ndarray], schema: Schema
) -> Units | None:
    if not read_flag(document, "units"):
        return None
    inputs = len(schema.inputs)
    outputs = len(schema.outputs if schema.classes is None else schema.classes)
    # A mean, and its rounding error.
    x_mean, x_rest = take(arrays, "units/x_mean", (2, inputs))
    y_mean, y_rest = take(arrays, "units/y_mean", (2, outputs))
    x_scale = take(arrays, "units/x_scale", (inputs,))
    y_scale = take(arrays, "units/y_scale", (outputs,))
    if not ((x_scale > 0).all() and (y_scale > 0).all()):
        raise StorageError("the scales of its units must all be above zero.")
    return Units(x_mean, x_scale, y_mean, y_scale, x_rest, y_rest)


def _draws(
    target: Target,
    plan: Plan,
    document: dict[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> Draws:
    shapes = target.shapes()
    specs, structure = jax.tree.flatten(shapes)
    names = [f"draws/{name}" for name in leaf_names(shapes)]
    by_draw = arrays[names[0]].shape[:2]
    leaves = [
        take(arrays, name, (*by_draw, *spec.shape))
        for name, spec in zip(names, specs, strict=True)
    ]
    if len(by_draw) < 2 or 0 in by_draw:
        raise StorageError("there are no draws in it.")
    expected = {f"draws/{name}" for name in leaf_names(shapes)}
    unknown = sorted(n for n in arrays if n.startswith("draws/") and n not in expected)
    if unknown:
        raise StorageError(f"the network has no weights {unknown[0]!r}.")
    seconds = document["seconds"]
    if type(seconds) not in (int, float) or seconds < 0:
        shown = shorten(repr(seconds), 40)
        raise StorageError(f"'seconds' must be a number, not negative, got {shown}.")
    fields = {k: v for k, v in document.items() if k not in ("plan", "algorithm")}
    return _record(
        Draws,
        fields,
        positions=jax.tree.unflatten(structure, leaves),
        stats=_trace("stats/", by_draw[0], arrays),
        warmup=_trace("warmup/", by_draw[0], arrays),
        plan=plan,
    )


def _hard_rules(
    rules: tuple[BoundRule, ...],
    size: int,
    document: dict[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> tuple[HardRuleRecord | None, np.ndarray]:
    entry = document["held"]
    if entry is None:
        if hard_rules(rules):
            raise StorageError("it does not say which draws keep its hard rules.")
        return None, np.arange(size)
    kept = take(arrays, "held/kept", (None,), kinds="iu").astype(int)
    if not kept.size or kept.min() < 0 or kept.max() >= size:
        raise StorageError("the array 'held/kept' names draws that do not exist.")
    fields = {name: value for name, value in entry.items() if name != "rules"}
    entries = [_values(HardRuleEntry, rule) for rule in entry["rules"]]
    held = {**_values(HardRuleRecord, fields), "rules": entries}
    return record_from_dict(HardRuleRecord, held, "hard rules"), kept


def _trace(
    head: str, chains: int, arrays: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    traces = {n.removeprefix(head): a for n, a in arrays.items() if n.startswith(head)}
    for name, array in traces.items():
        if array.ndim < 2 or array.shape[0] != chains:
            raise StorageError(
                f"the array {head + name!r} needs one row for each of {chains} chains, "
                f"and has shape {array.shape}."
            )
        if name == "divergent" and not np.isfinite(array).all():
            raise StorageError(f"the array {head + name!r} must hold finite numbers.")
    return traces


def _choice(document: dict[str, Any], settings: Mapping[str, Any]) -> Choice:
    entry = _part(document, "choice")
    size, reason = entry["batch_size"], entry["reason"]
    if not (size is None or type(size) is int) or not isinstance(reason, str):
        raise StorageError(
            "'choice' must have a text as reason, and a whole number or null as "
            "batch_size."
        )
    plan = _plan(_part(document, "draws"), settings["inference"])
    return Choice(plan, reason, size)


def _plan(document: dict[str, Any], given: object) -> Plan:
    plan = (
        given
        if document["plan"] is None
        else from_plain(document["plan"], "the plan", {PLAN_TAG: plan_from_plain})
    )
    if not isinstance(plan, Plan) or type(plan).__name__ != document["algorithm"]:
        raise StorageError(
            f"the draws were made by {str(document['algorithm'])[:40]}, not by "
            f"{type(plan).__name__}."
        )
    return plan


def _record(kind: Any, document: dict[str, Any], **values: Any) -> Any:
    """A data class from its stored fields."""
    return kind(**_values(kind, document), **values)


def _values(kind: Any, document: dict[str, Any]) -> dict[str, Any]:
    """The values of a data class's stored fields, without fields of newer versions."""
    names = {field.name for field in dataclasses.fields(kind)}
    return {k: from_plain(v, k) for k, v in document.items() if k in names}
