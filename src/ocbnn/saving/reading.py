"""A fitted model from a bundle, ready to predict as it did."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jax
import numpy as np

from ocbnn.core.types import Position
from ocbnn.core.units import Units
from ocbnn.core.words import shorten
from ocbnn.errors import RuleError, StorageError
from ocbnn.fitted import FittedModel, Rows
from ocbnn.fitted.record import Given
from ocbnn.inference import Choice, Draws, Plan, Verdict
from ocbnn.inference.plan_names import TAG as PLAN_TAG, plan_from_plain
from ocbnn.language.schema import as_choices
from ocbnn.metrics.hard_rules import HardRuleEntry, HardRuleRecord
from ocbnn.networks import MLP, LearnedScales
from ocbnn.posterior import Target
from ocbnn.priors import RuleTerm
from ocbnn.priors.rulebook import bind_rules
from ocbnn.refinement.hard import hard_rules
from ocbnn.refinement.projected import ProjectionRecord
from ocbnn.refinement.record import RefinementRecord
from ocbnn.rules import BoundRule, Rule, Schema, parse_rule
from ocbnn.saving.terms import read_term, take
from ocbnn.saving.writing import leaf_names
from ocbnn.storage import Bundle, from_plain

_MOST_NAME = 5000
_DTYPE = re.compile(r"[<>|=][biufUO]\d*")


# Makes the log density of names, rules, their terms, data, units and a batch size.
Assemble: TypeAlias = Callable[..., Target]


def read_model(
    bundle: Bundle, settings: Mapping[str, Any], assemble: Assemble
) -> FittedModel:
    """A fitted model from a bundle that `save_model` wrote.

    Parameters
    ----------
    bundle
        What was read from disk.
    settings
        Those of the estimator that fitted it.
    assemble
        What makes the log density of that estimator.

    Raises
    ------
    StorageError
        When something in it cannot be.
    """
    document, arrays = bundle.document, bundle.arrays
    schema, given = _schema(_part(document, "schema"), settings, document["estimator"])
    rules = bind_rules(settings["rules"], schema)
    rows = _rows(schema, document, arrays)
    choice = _choice(document, settings)
    units = _units(document, arrays, schema)
    terms = _terms(document["rules"], rules, arrays, units)
    # Some rows of a file say nothing about the likelihood of all of them.
    data = None if rows is None or rows.stored is not None else (rows.X, rows.Y)
    target = assemble(schema, rules, terms, data, units, choice.batch_size)
    draws = _draws(target, choice.plan, _part(document, "draws"), arrays)
    held, kept = _held(rules, draws.size, document, arrays)
    projection, free = _projection(target, draws, document, arrays)
    return FittedModel(
        schema=schema,
        rules=rules,
        target=target,
        draws=draws,
        choice=choice,
        verdict=_record(Verdict, _part(document, "verdict")),
        held=held,
        kept=kept,
        data=rows,
        given=given,
        refinement=_refinement(document),
        projection=projection,
        free=free,
        scales=settings["scales"],
        random_state=settings["random_state"],
        devices=settings["devices"],
    )


def _refinement(document: dict[str, Any]) -> RefinementRecord | None:
    said = document["refinement"]
    if said is None:
        return None
    return RefinementRecord.from_dict(from_plain(said, "refinement"))


def _projection(
    target: Target,
    draws: Draws,
    document: dict[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> tuple[ProjectionRecord | None, Position | None]:
    """What a projection did, and positions before it; older files say nothing."""
    said = document.get("projection")
    if said is None:
        return None, None
    record = ProjectionRecord.from_dict(from_plain(said, "projection"))
    shapes = target.shapes().weights
    specs, pattern = jax.tree.flatten(shapes)
    lead = draws.chains, draws.draws
    leaves = [
        take(arrays, f"free/{name}", (*lead, *spec.shape))
        for name, spec in zip(leaf_names(shapes), specs, strict=True)
    ]
    weights = jax.tree.unflatten(pattern, leaves)
    return record, draws.positions._replace(weights=weights)


def _part(document: dict[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(document[name], dict):
        shown = shorten(repr(document[name]), 40)
        raise StorageError(f"{name!r} must be an object of names, got {shown}.")
    return document[name]


def read_flag(document: dict[str, Any], name: str) -> bool:
    """What a document says is true or false."""
    if type(document[name]) is not bool:
        raise StorageError(f"{name!r} must be true or false.")
    return document[name]


def read_settings(
    document: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> dict[str, Any]:
    """The settings of the estimator, those that were left out excepted."""

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
        "$learned": lambda said: _record(LearnedScales, said),
    }
    said = _part(document, "settings").items()
    return {name: from_plain(value, name, makers) for name, value in said}


def _schema(
    said: dict[str, Any], settings: Mapping[str, Any], estimator: str
) -> tuple[Schema, Given]:
    for key in ("inputs", "outputs", "columns", "classes"):
        for name in said.get(key) or ():
            if isinstance(name, str) and len(name) > _MOST_NAME:
                raise StorageError(
                    f"{key!r} has a name of {len(name):,} characters, and at most "
                    f"{_MOST_NAME:,} are read: {shorten(name, 40)!r}."
                )
    inputs, outputs = tuple(said["inputs"]), tuple(said["outputs"])
    choices = as_choices(settings["choices"], inputs)
    columns = None if said["columns"] is None else tuple(map(str, said["columns"]))
    if estimator == "OCBNNRegressor":
        ndim = 1 if said["y_ndim"] == 1 else 2
        return Schema(inputs, outputs, choices=choices), Given(columns, ndim)
    labels, dtype = from_plain(said["classes"], "classes"), str(said["classes_dtype"])
    if not _DTYPE.fullmatch(dtype):
        raise StorageError(f"classes cannot be of type {dtype[:40]!r}.")
    # The longest label decides how wide the text is, whatever the file says.
    known = np.array(labels, object if dtype[1] == "O" else None)
    if dtype[1] not in "OU":
        known = known.astype(dtype)
    return Schema(inputs, outputs, tuple(labels), choices), Given(columns, 1, known)


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
        raise StorageError("the array 'data/Y' names classes that are not there.")
    return codes


def _stored_rows(document: dict[str, Any]) -> int | None:
    rows = document["stored_rows"]
    if not (rows is None or (type(rows) is int and rows > 0)):
        raise StorageError("'stored_rows' is a whole number above zero, or nothing.")
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
    plain = isinstance(names, list) and all(type(n) in (str, int) for n in names)
    if not plain or len(names) != rows:
        raise StorageError(
            f"'row_names' needs a text or number for each of {rows} rows."
        )
    return names


def _terms(
    said: list[dict[str, Any]],
    rules: tuple[BoundRule, ...],
    arrays: Mapping[str, np.ndarray],
    units: Units | None,
) -> tuple[RuleTerm, ...]:
    texts = [str(bound.rule) for bound in rules]
    if texts != [one["text"] for one in said]:
        raise RuleError(
            "the rules are not those that the model was fitted to, which were: "
            f"{[one['text'] for one in said]}."
        )
    return tuple(
        read_term(f"rules/{number}", one["points"], bound, arrays, units)
        for number, (one, bound) in enumerate(zip(said, rules, strict=True))
        if one["points"] is not None
    )


def _units(
    document: dict[str, Any], arrays: Mapping[str, np.ndarray], schema: Schema
) -> Units | None:
    if not read_flag(document, "units"):
        return None
    inputs = len(schema.inputs)
    outputs = len(schema.outputs if schema.classes is None else schema.classes)
    # A mean, and what rounding took from it.
    x_mean, x_rest = take(arrays, "units/x_mean", (2, inputs))
    y_mean, y_rest = take(arrays, "units/y_mean", (2, outputs))
    x_scale = take(arrays, "units/x_scale", (inputs,))
    y_scale = take(arrays, "units/y_scale", (outputs,))
    if not ((x_scale > 0).all() and (y_scale > 0).all()):
        raise StorageError("the scales of its units are not all above zero.")
    return Units(x_mean, x_scale, y_mean, y_scale, x_rest, y_rest)


def _draws(
    target: Target,
    plan: Plan,
    said: dict[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> Draws:
    shapes = target.shapes()
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
        plan=plan,
    )


def _held(
    rules: tuple[BoundRule, ...],
    size: int,
    document: dict[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> tuple[HardRuleRecord | None, np.ndarray]:
    said = document["held"]
    if said is None:
        if hard_rules(rules):
            raise StorageError("it does not say which draws keep its hard rules.")
        return None, np.arange(size)
    kept = take(arrays, "held/kept", (None,), kinds="iu").astype(int)
    if not kept.size or kept.min() < 0 or kept.max() >= size:
        raise StorageError("the array 'held/kept' names draws that are not there.")
    rules = tuple(_record(HardRuleEntry, rule) for rule in said["rules"])
    rest = {name: value for name, value in said.items() if name != "rules"}
    return _record(HardRuleRecord, rest, rules=rules), kept


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


def _choice(document: dict[str, Any], settings: Mapping[str, Any]) -> Choice:
    said = _part(document, "choice")
    size, reason = said["batch_size"], said["reason"]
    if not (size is None or type(size) is int) or not isinstance(reason, str):
        raise StorageError("a choice has a reason in words and a whole batch_size.")
    plan = _plan(_part(document, "draws"), settings["inference"])
    return Choice(plan, reason, size)


def _plan(said: dict[str, Any], given: object) -> Plan:
    plan = (
        given
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
