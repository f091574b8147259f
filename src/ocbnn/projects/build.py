"""Builds the estimator of a study, ready to fit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from ocbnn.errors import OcbnnError
from ocbnn.estimators import OCBNNClassifier, OCBNNRegressor
from ocbnn.inference import Choice, Plan, choose
from ocbnn.inference.layout import chosen_devices
from ocbnn.networks import MLP
from ocbnn.projects.study import Study, shortened
from ocbnn.rules import BoundRule, Schema, bind

Model = OCBNNRegressor | OCBNNClassifier


def build(
    study: Study,
    schema: Schema,
    rows: int,
    *,
    seed: int,
    quick: bool,
    checkpoint: Path,
    devices: object,
    progress: object,
) -> Model:
    """The study's estimator, with its rules checked against the columns.

    Raises
    ------
    SettingError
        When a rule names a missing column (the error gives its line), or when
        there are no such devices.
    """
    chosen_devices(devices)
    bounds = _bound_rules(study, schema)
    inference = study.inference
    if quick:
        inference = shortened(choice_for(study, schema, bounds, rows).plan)
    network, fit = study.sections.network, study.sections.fit
    settings: dict[str, Any] = {
        "rules": list(study.rules),
        "rules_by": fit.rules_by,
        "inputs": list(schema.inputs),
        "outputs": list(schema.outputs),
        "choices": [[schema.inputs[i] for i in g] for g in schema.choices] or None,
        "hidden": tuple(network.hidden),
        "activation": network.activation,
        "weight_prior": network.weight_prior,
        "weight_scale": network.weight_scale,
        "standardize": network.standardize,
        "scales": network.scales,
        "inference": inference,
        "batch_size": study.sections.inference.batch_size,
        "random_state": seed,
        "progress": progress,
        "checkpoint": str(checkpoint),
        "devices": devices,
    }
    if study.is_classification:
        return OCBNNClassifier(**settings)
    return OCBNNRegressor(**settings, noise=fit.noise, truncate=fit.truncate)


def choice_for(
    study: Study, schema: Schema, bounds: Sequence[BoundRule], rows: int
) -> Choice:
    """The study's plan, or the plan that `auto` chooses for it, and why."""
    if isinstance(study.inference, Plan):
        return Choice(study.inference)
    network = study.sections.network
    outputs = len(schema.outputs if schema.classes is None else schema.classes)
    shapes = MLP(len(schema.inputs), network.hidden, outputs).shapes()
    weights = sum(leaf.size for leaf in jax.tree.leaves(shapes))
    has_sides = any(bound.claim.has_sides for bound in bounds)
    return choose(study.inference, rows=rows, weights=weights, has_sides=has_sides)


def _bound_rules(study: Study, schema: Schema) -> list[BoundRule]:
    bounds = []
    for index, rule in enumerate(study.rules):
        try:
            bounds.append(bind(rule, schema))
        except OcbnnError as error:
            raise study.source.mistake(("rules", index, "rule"), error) from None
    return bounds
