"""The steps after sampling: verdict and hard rules; refinement and projection."""

import dataclasses
from typing import Any

import jax
import numpy as np

from ocbnn.core.randomness import key_from
from ocbnn.core.types import RandomKey
from ocbnn.core.warn import warn
from ocbnn.errors import InferenceWarning
from ocbnn.fitted.estimator_record import ModelOrRecord, fitted_of
from ocbnn.fitted.record import FittedModel
from ocbnn.predictive import Predictive
from ocbnn.priors import RuleTerm
from ocbnn.priors.refined_terms import without_room
from ocbnn.refinement.hard import hold
from ocbnn.refinement.noise import redraw_noise
from ocbnn.refinement.projected import warn_if_disobeyed, warn_if_far
from ocbnn.refinement.projection import as_obedience, project, refuse_without_slack
from ocbnn.refinement.record import warn_if_unmet
from ocbnn.refinement.rounds import Run, fit_draws
from ocbnn.refinement.settings import Refine, Refinement


def conclude(model: FittedModel, *, is_new: bool = True) -> FittedModel:
    """The model with a verdict on its draws, and with the hard rules enforced.

    Parameters
    ----------
    model
        A fitted model.
    is_new
        Whether its chains are new; only then is there a warning about them.

    Raises
    ------
    InferenceError
        When too few draws keep the hard rules.
    """
    verdict = model.judge_at(model.reference_inputs())
    if is_new and verdict.status in ("poor", "unknown"):
        warn(str(verdict), InferenceWarning)
    if model.refinement is not None:
        warn_if_unmet(model.refinement)
    if model.projection is not None:
        warn_if_disobeyed(model.projection)
        warn_if_far(model.projection)
    hard_rules, kept = hold(
        model.target,
        model.draws.stacked(),
        model.predictive,
        model.rows.X,
        projected_onto=model.projected_onto,
    )
    return dataclasses.replace(model, verdict=verdict, hard_rules=hard_rules, kept=kept)


def refine(
    model: ModelOrRecord, refine: Refine = True, *, progress: object = "auto"
) -> FittedModel:
    """Fit the same model again, with its rules refined.

    The rules start as they were given, without points of an earlier refinement.

    Parameters
    ----------
    model
        A fitted model: an estimator, or its `fitted_`.
    refine
        True, a number of rounds, or a `Refinement`.
    progress
        As for a model.

    Returns
    -------
    FittedModel
        The model with new draws, and a record in `refinement`.
    """
    model = fitted_of(model)
    model.refuse_projected("refine")
    rows = model.need_all_rows("refine")
    rules = tuple(without_room(term) for term in model.target.rules)
    target = dataclasses.replace(model.target, rules=rules)
    key = jax.random.fold_in(key_from(model.random_state), 4)
    run = Run(model.choice.plan, (rows.X, rows.Y), progress, model.devices)
    fit = fit_draws(target, run, key, refine)
    return conclude(dataclasses.replace(model, **fit._asdict()))


def project_prior(
    predictive: Predictive,
    terms: tuple[RuleTerm, ...],
    X: np.ndarray,
    key: RandomKey,
    *,
    progress: object = "auto",
) -> Predictive:
    """Draws from a prior without rules, each moved to the nearest that obeys rules.

    Parameters
    ----------
    predictive
        The draws.
    terms
        The rules.
    X
        Rows at which functions are to change little.
    key
        Decides the points.
    progress
        As for a model.
    """
    outputs = tuple(f"output {n}" for n in range(predictive.network.outputs))
    # Only the record looks at observations, to compare distances with their spread.
    data = X, np.zeros((len(X), len(outputs)))
    settings: dict[str, Any] = {"outputs": outputs, "progress": progress}
    moved, _, record = project(predictive, terms, data, Refinement(), key, **settings)
    warn_if_disobeyed(record)
    return moved


def obey(
    model: ModelOrRecord,
    refine: Refine = None,
    *,
    progress: object = "auto",
    is_new: bool = False,
) -> FittedModel:
    """The model with each draw moved to the nearest function that keeps its rules.

    Parameters
    ----------
    model
        A fitted model: an estimator, or its `fitted_`, with the rules to obey in
        `terms`. If its draws were projected before, the original draws are used.
    refine
        How to search for remaining violations: True, a number of rounds, a
        `Refinement`, or False.
    progress
        As for a model.
    is_new
        Whether its chains are new, so that a warning tells if they are poor; by
        default, warnings are about the projection only.

    Returns
    -------
    FittedModel
        The model with moved draws, and a record in `projection`. Its target has no
        terms for rules.

    Raises
    ------
    RuleError
        When a rule has no slack, so that it cannot move functions.
    """
    obedient = move(fitted_of(model), refine, progress=progress)
    return conclude(obedient, is_new=is_new)


def move(
    model: FittedModel, refine: Refine = None, *, progress: object = "auto"
) -> FittedModel:
    """The same without a verdict, warnings, and the hard rules' choice of draws."""
    refinement = as_obedience(refine)
    rows, free = model.need_data("obey"), model.free_model
    terms = model.terms
    refuse_without_slack([term.bound for term in terms])
    if not terms:
        return free
    key = jax.random.fold_in(key_from(model.random_state), 6)
    outputs, data = model.schema.outputs, (rows.X, rows.Y)
    moved, is_moved, record = project(
        free.predictive,
        terms,
        data,
        refinement,
        key,
        outputs=outputs,
        progress=progress,
    )
    plain = moved.draws.weights
    weights = model.target.network.with_plain(free.draws.stacked().weights, plain)
    key_noise, stored = jax.random.fold_in(key, 1), rows.stored or len(rows)
    noise = redraw_noise(moved, is_moved, data, stored, key_noise)
    by_draw = model.draws.chains, model.draws.draws
    positions = jax.tree.map(
        lambda leaf: np.asarray(leaf).reshape(*by_draw, *leaf.shape[1:]),
        free.draws.positions._replace(weights=weights, noise=noise),
    )
    draws = dataclasses.replace(model.draws, positions=positions)
    return dataclasses.replace(
        free,
        target=dataclasses.replace(model.target, rules=()),
        draws=draws,
        projection=record,
        free=free.draws.positions,
        projected_onto=terms,
        # Its record is about draws that have not moved.
        refinement=None,
    )
