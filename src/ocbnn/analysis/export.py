"""A fitted model for ArviZ: InferenceData of ArviZ 0.x, DataTree of 1.x.

The posterior is given in function space: values at reference inputs, each rule's share
and violation, and the noise. Weights are included only on request.
"""

import importlib
import importlib.metadata
import json
import warnings
from typing import Any

import jax
import numpy as np

from ocbnn.core.rows import evenly
from ocbnn.core.words import spell
from ocbnn.errors import MissingPackageError
from ocbnn.fitted import FittedModel
from ocbnn.inference import Draws
from ocbnn.metrics.rules import broken
from ocbnn.predictive.pointwise import log_parts, pointwise_log_likelihood

_MAX_INPUTS = 20
# Our names of traces, and ArviZ's.
_ARVIZ_NAMES = {
    "acceptance": "acceptance_rate",
    "divergent": "diverging",
    "energy": "energy",
    "steps": "n_steps",
    "step_size": "step_size",
}
_RESERVED = {"chain", "draw", "input", "output", "rule", "row", "weight", "column"}
_RESERVED |= {"f", "log_g", "violation", "noise", "weights", "reference_inputs"}


def to_arviz(model: FittedModel, X: Any = None, *, weights: bool = False) -> Any:
    """Collect the groups and build the container of the installed ArviZ version."""
    model.need_data("to_arviz")
    arviz = _imported("arviz")
    xarray = _imported("xarray")
    rows = _inputs(model) if X is None else model.inputs_of(X)
    groups = {
        "posterior": _posterior(model, rows, weights),
        "sample_stats": _sample_stats(model),
        **_data_groups(model, rows),
    }
    attributes = _attributes(model)
    sets = {}
    for name, variables in groups.items():
        dims = {dim for dims, _ in variables.values() for dim in dims}
        coords = {k: v for k, v in _coords(model, rows).items() if set(v[0]) <= dims}
        sets[name] = xarray.Dataset(variables, coords, attributes)
    # In ArviZ 1.x the old name is an alias of the new class.
    old, new = (
        getattr(arviz, "InferenceData", None),
        getattr(xarray, "DataTree", None),
    )
    if old is not None and old is not new:
        return old(**sets)
    return xarray.DataTree.from_dict(
        {f"/{name}": group for name, group in sets.items()}
    )


def _data_groups(model: FittedModel, X: np.ndarray) -> dict[str, dict[str, Any]]:
    """The groups with one entry per row, unless the rows are in a file."""
    if model.rows.stored is not None:
        return {"constant_data": {"reference_inputs": (("input", "column"), X)}}
    return {
        "log_likelihood": _log_likelihood(model),
        "observed_data": {_observation(model): _observed(model)},
        "constant_data": _constants(model, X),
    }


def _imported(name: str) -> Any:
    try:
        with warnings.catch_warnings():
            # ArviZ 0.x announces its successor on every import.
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError:
        raise MissingPackageError(
            f"to_arviz needs the package {name!r}, which is not installed. Run "
            "pip install 'ocbnn[arviz]'."
        ) from None


def _inputs(model: FittedModel) -> np.ndarray:
    """A few distinct reference inputs, sorted by the first column."""
    reference = model.reference_inputs()
    return np.unique(reference[evenly(len(reference), _MAX_INPUTS)], axis=0)


def _posterior(model: FittedModel, X: np.ndarray, weights: bool) -> dict[str, Any]:
    draws, by_draw = model.draws, ("chain", "draw")
    values = _by_chain(draws, model.predictive.functions(X))
    is_multi = values.shape[-1] > 1
    dims = (*by_draw, _place(model), *(["output"] if is_multi else []))
    variables: dict[str, Any] = {"f": (dims, values if is_multi else values[..., 0])}
    if model.rules:
        columns = {"violation": [_violation(model, term) for term in model.terms]}
        if not model.projected_onto:
            parts = log_parts(model.target, draws.stacked())
            columns["log_g"] = [parts[f"rule {b.name!r}"] for b in model.rules]
        for name, by_rule in columns.items():
            table = np.stack(by_rule, axis=-1)
            variables[name] = ((*by_draw, "rule"), _by_chain(draws, table))
    noise, dims = model.predictive.noise(), by_draw
    if noise is None:
        noise, dims = model.predictive.noise_at(X), (*by_draw, _place(model))
    if np.ptp(noise, axis=0).any():
        noise = _by_chain(draws, noise)
        dims = (*dims, *(["output"] if is_multi else []))
        variables["noise"] = (dims, noise if is_multi else noise[..., 0])
    if weights:
        flat = jax.vmap(model.target.ravel)(draws.stacked())
        variables["weights"] = (
            (*by_draw, "weight"),
            _by_chain(draws, np.asarray(flat)),
        )
    return variables


def _violation(model: FittedModel, term: Any) -> np.ndarray:
    """The share of the rule's own points at which each draw violates it."""
    if not term.bound.is_checkable:
        return np.zeros(model.draws.size)
    points = term.places
    # All draws, also those that hard rules exclude from predictions.
    predictive, alongs = model.predictive, term.bound.slopes
    slopes = predictive.slopes(points, alongs) if alongs else {}
    values = model.judged(predictive.functions(points))
    return broken(term.bound, points, values, slopes).mean(axis=1)


def _sample_stats(model: FittedModel) -> dict[str, Any]:
    draws, by_draw = model.draws, ("chain", "draw")
    variables: dict[str, Any] = {}
    if model.rows.stored is None:
        total = sum(log_parts(model.target, draws.stacked()).values())
        variables["lp"] = (by_draw, _by_chain(draws, np.asarray(total)))
    for ours, theirs in _ARVIZ_NAMES.items():
        trace = draws.stats.get(ours)
        # Particles share one trace of their population, which has another shape.
        if trace is None or trace.shape != (draws.chains, draws.draws):
            continue
        variables[theirs] = (by_draw, trace > 0 if ours == "divergent" else trace)
    return variables


def _log_likelihood(model: FittedModel) -> dict[str, Any]:
    logs = pointwise_log_likelihood(model.target, model.draws.stacked())
    values = _by_chain(model.draws, logs)
    return {_observation(model): (("chain", "draw", "row"), values)}


def _observation(model: FittedModel) -> str:
    outputs = model.schema.outputs
    return outputs[0] if len(outputs) == 1 else "y"


def _observed(model: FittedModel) -> tuple[tuple[str, ...], np.ndarray]:
    schema, Y = model.schema, model.rows.Y
    if schema.classes is not None:
        return ("row",), np.asarray(model.given.labels)[Y]
    return (("row",), Y[:, 0]) if Y.shape[1] == 1 else (("row", "output"), Y)


def _constants(model: FittedModel, X: np.ndarray) -> dict[str, Any]:
    names = _columns(model)
    variables: dict[str, Any] = {
        name: (("row",), model.rows.X[:, column]) for column, name in enumerate(names)
    }
    if len(names) > 1:
        variables["reference_inputs"] = (("input", "column"), X)
    return variables


def _columns(model: FittedModel) -> list[str]:
    """The inputs' names, made distinct from names of dimensions and outputs."""
    reserved = _RESERVED | {_observation(model)}
    return [f"input_{n}" if n in reserved else n for n in model.schema.inputs]


def _place(model: FittedModel) -> str:
    """The dimension of reference inputs, named after the input if there is only one."""
    names = _columns(model)
    return names[0] if len(names) == 1 else "input"


def _coords(model: FittedModel, X: np.ndarray) -> dict[str, Any]:
    draws, names = model.draws, model.rows.names
    # Index coordinates only: ArviZ 1.x cannot join variables when one has others.
    labels = X[:, 0] if X.shape[1] == 1 else _labels(model, X)
    values = {
        "chain": np.arange(draws.chains),
        "draw": np.arange(draws.draws),
        _place(model): labels,
        "column": list(model.schema.inputs),
        "output": model.output_names,
        "rule": [bound.name for bound in model.rules],
        "row": np.arange(len(model.rows.X)) if names is None else names,
    }
    return {name: ((name,), value) for name, value in values.items()}


def _labels(model: FittedModel, X: np.ndarray) -> list[str]:
    names, widths = model.schema.inputs, np.ptp(X, axis=0)
    return [
        ", ".join(
            f"{name}={spell(value, width)}"
            for name, value, width in zip(names, row, widths, strict=True)
        )
        for row in X
    ]


def _attributes(model: FittedModel) -> dict[str, Any]:
    versions = {name: importlib.metadata.version(name) for name in ("jax", "blackjax")}
    return {
        "inference_library": "ocbnn",
        "inference_library_version": importlib.import_module("ocbnn").__version__,
        "versions": json.dumps(versions),
        "seed": str(model.random_state),
        "settings": json.dumps(model.draws.settings()),
        "rules": json.dumps([str(bound.rule) for bound in model.rules]),
        "verdict": str(model.verdict),
        "sampling_time": float(model.draws.seconds),
    }


def _by_chain(draws: Draws, values: np.ndarray) -> np.ndarray:
    return values.reshape(draws.chains, draws.draws, *values.shape[1:])
