"""A fitted model as ArviZ knows it: InferenceData of ArviZ 0.x, DataTree of 1.x.

The posterior is told in function space: values at reference inputs, each rule's share
and violation, and the noise. Weights come along only when asked for.
"""

import importlib
import importlib.metadata
import json
import warnings
from typing import Any

import jax
import numpy as np

from ocbnn.core.errors import MissingPackageError
from ocbnn.core.words import spell
from ocbnn.estimators.reference import reference_inputs
from ocbnn.estimators.reporting import output_names
from ocbnn.inference import Draws
from ocbnn.metrics.rules import broken
from ocbnn.predictive.pointwise import log_parts, pointwise_log_likelihood

_MOST_INPUTS = 20
# Our names of traces, and ArviZ's.
_STATS = {
    "acceptance": "acceptance_rate",
    "divergent": "diverging",
    "energy": "energy",
    "steps": "n_steps",
    "step_size": "step_size",
}
_TAKEN = {"chain", "draw", "input", "output", "rule", "row", "weight", "column"}
_TAKEN |= {"f", "log_g", "violation", "noise", "weights", "reference_inputs"}


def to_arviz(model: Any, X: Any, *, weights: bool) -> Any:
    """Collect the groups and hand them to whichever ArviZ is installed."""
    arviz = _imported("arviz")
    xarray = _imported("xarray")
    rows = _inputs(model) if X is None else model._checked(X)
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
    # In ArviZ 1.x the old name stands for the new kind.
    old, new = (
        getattr(arviz, "InferenceData", None),
        getattr(xarray, "DataTree", None),
    )
    if old is not None and old is not new:
        return old(**sets)
    return xarray.DataTree.from_dict({f"/{name}": one for name, one in sets.items()})


def _data_groups(model: Any, X: np.ndarray) -> dict[str, dict[str, Any]]:
    """What every row says, unless there are more of them than can be told."""
    if model._stored_rows is not None:
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


def _inputs(model: Any) -> np.ndarray:
    """A few reference inputs, none twice, in the order of the first column."""
    reference = reference_inputs(model)
    chosen = np.linspace(0, len(reference) - 1, _MOST_INPUTS).astype(int)
    return np.unique(reference[np.unique(chosen)], axis=0)


def _posterior(model: Any, X: np.ndarray, weights: bool) -> dict[str, Any]:
    draws, lead = model.draws_, ("chain", "draw")
    values = _by_chain(draws, model._predictive.functions(X))
    several = values.shape[-1] > 1
    dims = (*lead, _place(model), *(["output"] if several else []))
    found: dict[str, Any] = {"f": (dims, values if several else values[..., 0])}
    if model.rules_:
        parts = log_parts(model.target_, draws.stacked())
        logs = [parts[f"rule {bound.name!r}"] for bound in model.rules_]
        broken = [_violation(model, term) for term in model.target_.rules]
        for name, columns in (("log_g", logs), ("violation", broken)):
            table = np.stack(columns, axis=-1)
            found[name] = ((*lead, "rule"), _by_chain(draws, table))
    noise, dims = model._predictive.noise(), lead
    if noise is None:
        noise, dims = model._predictive.noise_at(X), (*lead, _place(model))
    if np.ptp(noise, axis=0).any():
        noise = _by_chain(draws, noise)
        dims = (*dims, *(["output"] if several else []))
        found["noise"] = (dims, noise if several else noise[..., 0])
    if weights:
        flat = jax.vmap(model.target_.ravel)(draws.stacked())
        found["weights"] = ((*lead, "weight"), _by_chain(draws, np.asarray(flat)))
    return found


def _violation(model: Any, term: Any) -> np.ndarray:
    """The share of the rule's own points at which each draw breaks it."""
    if not term.bound.is_checkable:
        return np.zeros(model.draws_.size)
    points = term.places
    # Every draw, of whom some may not answer where rules are hard.
    every, alongs = model._predictive, term.bound.slopes
    slopes = every.slopes(points, alongs) if alongs else {}
    values = model._judged(every.functions(points))
    return broken(term.bound, points, values, slopes).mean(axis=1)


def _sample_stats(model: Any) -> dict[str, Any]:
    draws, lead = model.draws_, ("chain", "draw")
    found: dict[str, Any] = {}
    if model._stored_rows is None:
        total = sum(log_parts(model.target_, draws.stacked()).values())
        found["lp"] = (lead, _by_chain(draws, np.asarray(total)))
    for ours, theirs in _STATS.items():
        trace = draws.stats.get(ours)
        # Particles share one trace of their whole population, which has no place here.
        if trace is None or trace.shape != (draws.chains, draws.draws):
            continue
        found[theirs] = (lead, trace > 0 if ours == "divergent" else trace)
    return found


def _log_likelihood(model: Any) -> dict[str, Any]:
    logs = pointwise_log_likelihood(model.target_, model.draws_.stacked())
    values = _by_chain(model.draws_, logs)
    return {_observation(model): (("chain", "draw", "row"), values)}


def _observation(model: Any) -> str:
    outputs = model.schema_.outputs
    return outputs[0] if len(outputs) == 1 else "y"


def _observed(model: Any) -> tuple[tuple[str, ...], np.ndarray]:
    schema, Y = model.schema_, model._Y
    if schema.classes is not None:
        return ("row",), np.asarray(model.classes_)[Y]
    return (("row",), Y[:, 0]) if Y.shape[1] == 1 else (("row", "output"), Y)


def _constants(model: Any, X: np.ndarray) -> dict[str, Any]:
    names = _columns(model)
    found: dict[str, Any] = {
        name: (("row",), model._X[:, column]) for column, name in enumerate(names)
    }
    if len(names) > 1:
        found["reference_inputs"] = (("input", "column"), X)
    return found


def _columns(model: Any) -> list[str]:
    """The inputs' names, told apart from those of dimensions and outputs."""
    taken = _TAKEN | {_observation(model)}
    return [f"input_{n}" if n in taken else n for n in model.schema_.inputs]


def _place(model: Any) -> str:
    """The dimension of reference inputs: the one input's own name, if there is one."""
    names = _columns(model)
    return names[0] if len(names) == 1 else "input"


def _coords(model: Any, X: np.ndarray) -> dict[str, Any]:
    draws, names = model.draws_, getattr(model, "_row_names", None)
    # Index coordinates only: ArviZ 1.x cannot join variables when one has others.
    labels = X[:, 0] if X.shape[1] == 1 else _labels(model, X)
    values = {
        "chain": np.arange(draws.chains),
        "draw": np.arange(draws.draws),
        _place(model): labels,
        "column": list(model.schema_.inputs),
        "output": output_names(model),
        "rule": [bound.name for bound in model.rules_],
        "row": np.arange(len(model._X)) if names is None else names,
    }
    return {name: ((name,), value) for name, value in values.items()}


def _labels(model: Any, X: np.ndarray) -> list[str]:
    names, widths = model.schema_.inputs, np.ptp(X, axis=0)
    return [
        ", ".join(
            f"{name}={spell(value, width)}"
            for name, value, width in zip(names, row, widths, strict=True)
        )
        for row in X
    ]


def _attributes(model: Any) -> dict[str, Any]:
    versions = {name: importlib.metadata.version(name) for name in ("jax", "blackjax")}
    return {
        "inference_library": "ocbnn",
        "inference_library_version": importlib.import_module("ocbnn").__version__,
        "versions": json.dumps(versions),
        "seed": str(model.random_state),
        "settings": json.dumps(model.draws_.settings()),
        "rules": json.dumps([str(bound.rule) for bound in model.rules_]),
        "verdict": str(model.verdict_),
        "sampling_time": float(model.draws_.seconds),
    }


def _by_chain(draws: Draws, values: np.ndarray) -> np.ndarray:
    return values.reshape(draws.chains, draws.draws, *values.shape[1:])
