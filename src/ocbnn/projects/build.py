"""From a study to an estimator that is ready to be fitted."""

from pathlib import Path
from typing import Any

from ocbnn.core.errors import OcbnnError
from ocbnn.estimators import OCBNNClassifier, OCBNNRegressor
from ocbnn.projects.study import Study
from ocbnn.rules import Schema, bind

Model = OCBNNRegressor | OCBNNClassifier


def build(
    study: Study, schema: Schema, *, seed: int, checkpoint: Path, progress: object
) -> Model:
    """The study's estimator; every rule fits the columns.

    Raises:
        SettingError: When a rule speaks of what is not there, naming its line.
    """
    _check_rules(study, schema)
    network, fit = study.said.network, study.said.fit
    settings: dict[str, Any] = {
        "rules": list(study.rules),
        "inputs": list(schema.inputs),
        "outputs": list(schema.outputs),
        "hidden": tuple(network.hidden),
        "activation": network.activation,
        "weight_prior": network.weight_prior,
        "weight_scale": network.weight_scale,
        "standardize": network.standardize,
        "inference": study.inference,
        "batch_size": study.said.inference.batch_size,
        "random_state": seed,
        "progress": progress,
        "checkpoint": str(checkpoint),
    }
    if study.is_classification:
        return OCBNNClassifier(**settings)
    return OCBNNRegressor(**settings, noise=fit.noise, truncate=fit.truncate)


def _check_rules(study: Study, schema: Schema) -> None:
    for index, rule in enumerate(study.rules):
        try:
            bind(rule, schema)
        except OcbnnError as error:
            raise study.source.mistake(("rules", index, "rule"), str(error)) from None
