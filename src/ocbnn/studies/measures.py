"""The numbers of `result.json`, measured in the same way for every model.

The keys are stable, because other scripts read them; see the reference.
"""

from typing import Any

import numpy as np

from ocbnn.estimators import OCBNNClassifier, OCBNNRegressor
from ocbnn.metrics import rmse
from ocbnn.metrics.rules import broken
from ocbnn.rules import BoundRule, Schema, bind
from ocbnn.studies.toys import Toy

GRID = 400
FUNCTION_GRID = 201

Numbers = dict[str, Any]


def measure(toy: Toy, model: OCBNNRegressor | OCBNNClassifier) -> Numbers:
    """All numbers for one fitted model."""
    if isinstance(model, OCBNNClassifier):
        return {**_class_numbers(toy, model), **_mixing(toy, model)}
    return {**_regression_numbers(toy, model), **_mixing(toy, model)}


def bound_rules(toy: Toy) -> list[BoundRule]:
    """The study's rules bound to its columns, for models with and without rules."""
    inputs = ("x",) if toy.X.shape[1] == 1 else ("x0", "x1")
    classes = tuple(np.unique(toy.y).tolist()) if toy.is_classification else None
    schema = Schema(inputs, ("y",), classes)
    return [bind(rule, schema) for rule in toy.rules]


def region_grid(bound: BoundRule, count: int = GRID) -> np.ndarray:
    """At least `count` evenly spaced inputs in a rule's region, including its ends."""
    lower, upper = bound.region.box()
    side = int(np.ceil(count ** (1 / len(lower))))
    axes = [np.linspace(a, b, side) for a, b in zip(lower, upper, strict=True)]
    return np.stack([m.ravel() for m in np.meshgrid(*axes)], axis=1)


def _regression_numbers(toy: Toy, model: OCBNNRegressor) -> Numbers:
    violations, values, grids = [], [], []
    for bound in bound_rules(toy):
        grid = region_grid(bound)
        functions = model.sample_functions(grid, model.draws_.size)
        violations.append(broken(bound, grid, functions[..., None]))
        values.append(functions)
        grids.append(grid[:, 0])
    violated = np.concatenate(violations, axis=1)
    functions, grid = np.concatenate(values, axis=1), np.concatenate(grids)
    numbers: Numbers = {
        "train_rmse": rmse(model.predict(toy.X), toy.y),
        "violation": float(violated.mean()),
        "draws_violating": float(violated.any(axis=1).mean()),
        "in_region_sd": float(functions.std(axis=0).mean()),
        "modes": None,
    }
    if toy.modes is not None and model.rules_:
        numbers["modes"] = toy.modes(grid, functions)
        runs = functions.reshape(model.draws_.chains, -1, functions.shape[1])
        if len(runs) > 1:
            numbers["modes_by_run"] = [toy.modes(grid, run) for run in runs]
    return numbers


def _class_numbers(toy: Toy, model: OCBNNClassifier) -> Numbers:
    violations, allowed = [], []
    for bound in bound_rules(toy):
        if bound.claim.allowed is None:
            continue
        grid = region_grid(bound)
        probabilities = model.predict_proba(grid)
        predicted = model.fitted_.chosen(grid, probabilities)
        violations.append(~bound.holds(grid, predicted))
        allowed.append(probabilities[:, list(bound.claim.allowed)].sum(axis=1))
    return {
        "train_accuracy": float(model.score(toy.X, toy.y)),
        "violation": float(np.concatenate(violations).mean()),
        "allowed_probability": float(np.concatenate(allowed).mean()),
    }


def _mixing(toy: Toy, model: OCBNNRegressor | OCBNNClassifier) -> Numbers:
    """Function-space diagnostics over the range of the figure."""
    verdict = model.judge_at(view_grid(toy, FUNCTION_GRID))
    evidence = model.draws_.log_evidence
    return {
        "ess_min": verdict.ess_min,
        "ess_median": verdict.ess_median,
        "rhat_max": verdict.rhat_max,
        "acceptance": model.draws_.acceptance,
        "divergences": verdict.divergences,
        "log_evidence": None if evidence is None else evidence.tolist(),
        "draws": model.draws_.size,
        "seconds": model.draws_.seconds,
        "inference": model.draws_.settings(),
        "verdict": str(verdict),
    }


def view_grid(toy: Toy, count: int) -> np.ndarray:
    """Inputs over the figure's range."""
    if toy.X.shape[1] == 1:
        return np.linspace(*toy.view[0], count)[:, None]
    side = int(np.sqrt(count))
    axes = [np.linspace(*ends, side) for ends in toy.view]
    return np.stack([m.ravel() for m in np.meshgrid(*axes)], axis=1)
