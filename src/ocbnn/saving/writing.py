"""A fitted model as a bundle: its settings and everything that was learned."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ocbnn.core.units import Units
from ocbnn.core.versions import library_versions
from ocbnn.errors import RuleError, StorageError
from ocbnn.fitted import FittedModel, Rows
from ocbnn.fitted.record import Given
from ocbnn.inference import Draws
from ocbnn.inference.plan_names import plan_to_plain, tell as tell_plan
from ocbnn.networks import MLP
from ocbnn.refinement.record import RefinementRecord
from ocbnn.rules import Rule, Schema, parse_rule
from ocbnn.saving.tags import PRIOR_TAGS
from ocbnn.saving.terms import write_term
from ocbnn.storage import NotPlainError, read_bundle, to_plain, write_bundle
from ocbnn.storage.arrays import KINDS

KIND = "ocbnn model"


def save_model(
    model: FittedModel,
    settings: Mapping[str, Any],
    path: Any,
    *,
    data: bool = True,
    leave_out: Sequence[str] = (),
) -> None:
    """Write a fitted model; see `save` of an estimator.

    Parameters
    ----------
    model
        The fitted model.
    settings
        The settings of the estimator that fitted it.
    path
        Where to write it.
    data
        Whether its rows are written, too.
    leave_out
        Settings that are not written.

    Raises
    ------
    StorageError
        When something of the model cannot be written.
    """
    left_out = _left_out(settings, leave_out)
    rows = model.data if data else None
    arrays: dict[str, Any] = {}
    document = {
        "kind": KIND,
        "estimator": model.estimator,
        "versions": library_versions(),
        "double_precision": bool(jax.config.read("jax_enable_x64")),
        "settings": _settings(settings, left_out, arrays),
        "left_out": sorted(left_out),
        "schema": _schema(model.schema, model.given),
        "rules": _rules(model, arrays, data=data),
        "data": bool(data),
        "stored_rows": None if model.data is None else model.data.stored,
        "row_names": None if rows is None else _row_names(rows, arrays),
        "units": _units(model.target.units, arrays),
        "choice": _fields(model.choice, "choice_", without=("plan",)),
        "draws": _draws(model.draws, left_out, arrays),
        "verdict": _fields(model.verdict, "verdict_"),
        "held": _held(model, arrays),
        "refinement": _refinement(model.refinement),
        "projection": _projection(model, arrays),
    }
    if data and rows is None:
        raise StorageError(
            "this model was itself loaded without its data, so they cannot be saved. "
            "Write save(path, data=False)."
        )
    if rows is not None:
        arrays |= {"data/X": rows.X, "data/Y": rows.Y}
    _refuse_other_kinds(Path(path))
    write_bundle(path, document, arrays)


def leaf_names(positions: Any) -> list[str]:
    """A name for every array of a position: `weights/0/weight`."""
    paths, _ = jax.tree_util.tree_flatten_with_path(positions)
    return ["/".join(map(_step, path)) for path, _ in paths]


def _step(step: Any) -> str:
    for kind in ("name", "key", "idx"):
        if hasattr(step, kind):
            return str(getattr(step, kind))
    return str(step)


def _left_out(settings: Mapping[str, Any], names: Sequence[str]) -> frozenset[str]:
    chosen = (names,) if isinstance(names, str) else tuple(names)
    for name in chosen:
        if name not in settings:
            raise StorageError(
                f"leave_out must name settings of the model, got {name!r}. Choose "
                f"among {', '.join(settings)}."
            )
    return frozenset(chosen)


def _settings(
    settings: Mapping[str, Any], left_out: frozenset[str], arrays: dict[str, Any]
) -> dict[str, Any]:
    def tell(value: object, place: str) -> dict[str, Any] | None:
        if isinstance(value, Rule):
            return {"$rule": _rule(value, place, arrays)}
        if isinstance(value, np.ndarray) and value.dtype.name in KINDS:
            arrays[f"settings/{place}"] = value
            return {"$array": f"settings/{place}"}
        if type(value) is MLP:
            sizes = [value.inputs, list(value.hidden), value.outputs]
            return {"$mlp": [*sizes, value.activation]}
        if type(value) in PRIOR_TAGS:
            return {PRIOR_TAGS[type(value)]: _fields(value, place)}
        return tell_plan(value, place)

    plain = {}
    # Folders and devices of the run are not part of the model.
    not_saved = {"checkpoint": None, "devices": None}
    for name, value in {**settings, **not_saved}.items():
        if name in left_out:
            continue
        try:
            plain[name] = to_plain(value, name, tell)
        except NotPlainError as error:
            raise _cannot_save(name, error) from None
    return plain


def _cannot_save(name: str, error: NotPlainError) -> StorageError:
    return StorageError(
        f"the setting {name!r} cannot be saved: {error} Either set it to a plain "
        f"value first, set_params({name}=...), which leaves the draws as they are, or "
        f"leave it out and give it again: save(path, leave_out=[{name!r}]) and "
        f"ocbnn.load(path, {name}=...)."
    )


def _rule(rule: Rule, place: str, arrays: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if isinstance(rule.sampler, np.ndarray | list | tuple):
        points = np.asarray(rule.sampler)
        arrays[f"settings/{place}"] = points
        fields["points"] = f"settings/{place}"
        rule = dataclasses.replace(rule, sampler=None)
    text = str(rule)
    try:
        is_text = parse_rule(text) == rule
    except RuleError:
        is_text = False
    if not is_text:
        raise NotPlainError(
            f"the rule {rule.name or text[:60]!r} has Python code or a sampler of "
            "your own, and only rules that can be written as text are saved."
        )
    return {"text": text, **fields}


def _schema(schema: Schema, given: Given) -> dict[str, Any]:
    document: dict[str, Any] = {
        "inputs": list(schema.inputs),
        "outputs": list(schema.outputs),
        "columns": None if given.columns is None else list(given.columns),
    }
    if schema.classes is None or given.labels is None:
        return {**document, "y_ndim": given.y_ndim}
    labels = to_plain(list(schema.classes), "classes")
    return {**document, "classes": labels, "classes_dtype": given.labels.dtype.str}


def _row_names(rows: Rows, arrays: dict[str, Any]) -> list[str | int] | None:
    """Names of rows; those that are neither text nor whole numbers become text.

    If all are whole numbers, they become an array, because tables can have many rows.
    """
    names = rows.names
    if names is None:
        return None
    if all(isinstance(n, (int, np.integer)) for n in names):
        arrays["data/row_names"] = np.asarray(names, np.int64)
        return None
    return [int(n) if isinstance(n, (int, np.integer)) else str(n) for n in names]


def _rules(
    model: FittedModel, arrays: dict[str, Any], *, data: bool
) -> list[dict[str, Any]]:
    entries = []
    for number, bound in enumerate(model.rules):
        term = next((t for t in model.terms if t.bound is bound), None)
        kind = None
        if term is not None:
            kind = write_term(f"rules/{number}", term, arrays, data=data)
        entries.append({"name": bound.name, "text": str(bound.rule), "points": kind})
    return entries


def _units(units: Units | None, arrays: dict[str, Any]) -> bool:
    if units is None:
        return False
    arrays["units/x_mean"] = np.stack([units.x_mean, units.x_rest])
    arrays["units/x_scale"] = units.x_scale
    arrays["units/y_mean"] = np.stack([units.y_mean, units.y_rest])
    arrays["units/y_scale"] = units.y_scale
    return True


def _draws(
    draws: Draws, left_out: frozenset[str], arrays: dict[str, Any]
) -> dict[str, Any]:
    leaves = jax.tree.leaves(draws.positions)
    for name, leaf in zip(leaf_names(draws.positions), leaves, strict=True):
        arrays[f"draws/{name}"] = leaf
    for kind, trace in (("stats", draws.stats), ("warmup", draws.warmup)):
        for name, numbers in trace.items():
            arrays[f"{kind}/{name}"] = numbers
    try:
        plan = plan_to_plain(draws.plan, "inference")
    except NotPlainError as error:
        if "inference" not in left_out:
            raise _cannot_save("inference", error) from None
        plan = None
    fields = _fields(draws, "draws_", without=("positions", "stats", "warmup", "plan"))
    return {**fields, "algorithm": type(draws.plan).__name__, "plan": plan}


def _held(model: FittedModel, arrays: dict[str, Any]) -> dict[str, Any] | None:
    """The record of hard rules; which draws are used becomes an array."""
    if model.hard_rules is None:
        return None
    arrays["held/kept"] = np.asarray(model.kept, np.int64)
    rules = [_fields(rule, "held_.rules") for rule in model.hard_rules.rules]
    return {**_fields(model.hard_rules, "held_", without=("rules",)), "rules": rules}


def _fields(record: Any, place: str, without: Sequence[str] = ()) -> dict[str, Any]:
    names = [f.name for f in dataclasses.fields(record) if f.name not in without]
    return {name: to_plain(getattr(record, name), f"{place}.{name}") for name in names}


def _refinement(record: RefinementRecord | None) -> Any:
    return None if record is None else to_plain(record.to_dict(), "refinement_")


def _projection(model: FittedModel, arrays: dict[str, Any]) -> Any:
    """The record of a projection; positions before it become arrays."""
    if model.projection is None or model.free is None:
        return None
    free = model.free
    for name, leaf in zip(leaf_names(free), jax.tree.leaves(free), strict=True):
        arrays[f"free/{name}"] = leaf
    return to_plain(model.projection.to_dict(), "projection_")


def _refuse_other_kinds(path: Path) -> None:
    """Refuse to overwrite a bundle that is not a model, such as a checkpoint."""
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    try:
        kind = read_bundle(path).document.get("kind")
    except StorageError as error:
        raise StorageError(
            f"{path} exists and cannot be read as a model, so it is not replaced. "
            f"Choose another name, or remove it. ({error})"
        ) from None
    if kind != KIND:
        raise StorageError(
            f"{path} exists and is not a model, so it is not replaced. Choose another "
            "name, or remove it."
        )
