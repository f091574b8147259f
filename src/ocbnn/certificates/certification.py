"""Prove that a model's draws keep a rule at every input, or find where they do not."""

import hashlib
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from ocbnn.certificates.arguments import (
    BOXES,
    CONFIDENCE,
    DRAWS,
    CertifiedRule,
    parse_request,
    whole_rows,
)
from ocbnn.certificates.certificate import Certificate
from ocbnn.certificates.proof_run import RuleProof, decide_all
from ocbnn.certificates.question import Question, choose
from ocbnn.errors import CertificateError
from ocbnn.fitted import FittedModel
from ocbnn.fitted.estimator_record import ModelOrRecord, fitted_of


def certify(
    model: ModelOrRecord,
    rule: CertifiedRule = None,
    *,
    at: Any = None,
    tolerance: Any = None,
    within: Mapping[str, Any] | None = None,
    draws: int | str = DRAWS,
    boxes: int = BOXES,
    confidence: float = CONFIDENCE,
    progress: Any = "auto",
) -> Certificate:
    """Prove of each posterior draw that it keeps a rule at every input of its region.

    A draw is a network with known weights, so its outputs over a box of inputs can be
    bounded. Boxes are divided until the bounds decide. What is proved is true of the
    function in exact arithmetic: rounding is allowed for.

    Parameters
    ----------
    model
        A fitted model: an estimator, or its `fitted_`.
    rule
        The rule's name, or a rule that the model was not fitted with, as an
        object or text; every rule of the model when left out.
    at
        Rows of inputs. The rule is then examined around each, not everywhere.
    tolerance
        How far from a row an input may lie, in its own units: a number for
        all inputs, or one for each by name (others stay exactly as they are).
    within
        Bounds of inputs, `{"age": (0, 120)}`. Inputs that the rule leaves
        unbounded are examined over the range of the training data when left out;
        bounds on others restrict the region.
    draws
        The largest number of draws, evenly chosen, or "all". If the 200 of the
        default all keep a rule, and are worth as many independent ones, a new
        draw does with a probability of 98.5 % or more.
    boxes
        The largest number of boxes for each draw and place.
    confidence
        Confidence of the statement about other draws.
    progress
        As for a model: a bar on a terminal when left out, True for lines
        elsewhere, False for neither. Ctrl-C stops; results until then are
        returned, and the rest counts as undecided.

    Returns
    -------
    Certificate
        What was proved of each rule: print it, or `save` it with its proofs.

    Raises
    ------
    CertificateError
        When the network or the rule cannot be bounded.
    SettingError
        When an argument lies outside its range.
    """
    fitted = fitted_of(model)
    return prove(
        fitted,
        rule,
        rows=None if at is None else whole_rows(fitted, at),
        tolerance=tolerance,
        within=within,
        draws=draws,
        boxes=boxes,
        confidence=confidence,
        progress=progress,
    )


def prove(
    model: FittedModel,
    rule: CertifiedRule,
    *,
    progress: object = False,
    **settings: Any,
) -> Certificate:
    """The same for rows that may have missing values."""
    request, bounds = parse_request(model, rule, **settings)
    chosen = choose(model, request.draws)
    proofs, skipped = [], {}
    for bound in bounds:
        try:
            proofs.append(RuleProof(Question(model, bound, request, chosen)))
        except CertificateError as error:
            if rule is not None:
                raise
            skipped[bound.name] = str(error)
    decide_all(proofs, progress)
    rules = tuple(proof.answer() for proof in proofs)
    verdict = (model.verdict.status, *model.verdict.sentences)
    return Certificate(digest(model), verdict, request, rules, skipped)


def digest(model: FittedModel) -> str:
    """A digest that identifies a fitted model, to the last bit.

    It covers the network, its draws and which of them are used, units, names of columns
    and classes, and rules with their settings.
    """
    labels = [repr(model.target.network), repr(model.schema)]
    if model.schema.choices:
        labels.append(f"choices {model.schema.choices}")
    labels += [f"{bound.name}: {bound.rule}" for bound in model.checkable_rules]
    sha = hashlib.sha256("\n".join(labels).encode())
    units = model.target.units
    parts = [] if units is None else [units.x_mean, units.x_scale]
    parts += [] if units is None else [units.y_mean, units.y_scale]
    rests = [] if units is None else [units.x_rest, units.y_rest]
    parts += [rest for rest in rests if rest.any()]
    kept = np.asarray(model.kept, np.int64)
    for array in (*jax.tree.leaves(model.draws.stacked().weights), *parts, kept):
        contiguous = np.ascontiguousarray(array)
        sha.update(f"{contiguous.dtype.str}{contiguous.shape}".encode())
        sha.update(contiguous.tobytes())
    return sha.hexdigest()
