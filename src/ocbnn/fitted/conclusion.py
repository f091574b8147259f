"""What is concluded from a model's draws; rules of a model refined, or obeyed."""

import dataclasses

import jax
import numpy as np

from ocbnn.core.randomness import key_from
from ocbnn.core.warn import warn
from ocbnn.errors import InferenceWarning
from ocbnn.fitted.record import FittedModel
from ocbnn.priors.refined_terms import without_room
from ocbnn.refinement.hard import hold
from ocbnn.refinement.projected import warn_if_disobeyed, warn_if_far
from ocbnn.refinement.projection import as_obedience, project, refuse_without_slack
from ocbnn.refinement.record import warn_if_unmet
from ocbnn.refinement.rounds import Run, fit_draws


def conclude(model: FittedModel) -> FittedModel:
    """The model with its draws judged, and held to the hard rules.

    Raises
    ------
    InferenceError
        When too few draws keep those.
    """
    verdict = model.judge_at(model.reference_inputs())
    if verdict.status in ("poor", "unknown"):
        warn(str(verdict), InferenceWarning)
    if model.refinement is not None:
        warn_if_unmet(model.refinement)
    if model.projection is not None:
        warn_if_disobeyed(model.projection)
        warn_if_far(model.projection)
    priced = model.projection is None
    stacked = model.draws.stacked()
    held, kept = hold(
        model.target, stacked, model.predictive, model.rows.X, priced=priced
    )
    return dataclasses.replace(model, verdict=verdict, held=held, kept=kept)


def refine(
    model: FittedModel, refine: object = True, *, progress: object = "auto"
) -> FittedModel:
    """Fit the same model again, with its rules refined.

    The rules begin as they were given, whatever an earlier refinement has added.

    Parameters
    ----------
    model
        A fitted model.
    refine
        True, a number of rounds, or a `Refinement`.
    progress
        As for a model.

    Returns
    -------
    FittedModel
        The model with other draws; `refinement` says what was found.
    """
    model.refuse_projected("refine")
    rows = model.need_all_rows("refine")
    rules = tuple(without_room(term) for term in model.target.rules)
    target = dataclasses.replace(model.target, rules=rules)
    key = jax.random.fold_in(key_from(model.random_state), 4)
    run = Run(model.choice.plan, (rows.X, rows.Y), progress, model.devices)
    drawn = fit_draws(target, run, key, refine)
    return conclude(dataclasses.replace(model, **drawn._asdict()))


def obey(
    model: FittedModel, refine: object = None, *, progress: object = "auto"
) -> FittedModel:
    """The model with each draw moved to the nearest function that keeps its rules.

    Parameters
    ----------
    model
        A fitted model, whose target has the rules that are to be obeyed. Where its
        draws were moved before, they begin as they were drawn.
    refine
        How to search for what is still broken: True, a number of rounds, a
        `Refinement`, or False.
    progress
        As for a model.

    Returns
    -------
    FittedModel
        The model with other draws; `projection` says what was done.

    Raises
    ------
    RuleError
        When no function can be moved by a rule.
    """
    refinement = as_obedience(refine)
    rows, free = model.need_data("obey"), model.free_model
    terms = model.target.rules
    refuse_without_slack([term.bound for term in terms])
    if not terms:
        return conclude(free)
    key = jax.random.fold_in(key_from(model.random_state), 6)
    outputs, data = model.schema.outputs, (rows.X, rows.Y)
    plain, record = project(
        free.predictive,
        terms,
        data,
        refinement,
        key,
        outputs=outputs,
        progress=progress,
    )
    drawn = free.draws.stacked().weights
    weights = model.target.network.with_plain(drawn, plain)
    lead = model.draws.chains, model.draws.draws
    laid_out = jax.tree.map(
        lambda a: np.asarray(a).reshape(*lead, *a.shape[1:]), weights
    )
    positions = free.draws.positions._replace(weights=laid_out)
    draws = dataclasses.replace(model.draws, positions=positions)
    # What a refinement found is about draws that have not moved.
    known = {"projection": record, "free": free.draws.positions, "refinement": None}
    return conclude(dataclasses.replace(free, draws=draws, **known))
