"""Prove that a model's draws keep a rule at every input, or find where they do not."""

import hashlib
import time
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from ocbnn.core.errors import CertificateError
from ocbnn.estimators.certificates.asking import (
    BOXES,
    CONFIDENCE,
    PYTHON,
    Words,
    asked_of,
    check_model,
    whole_rows,
)
from ocbnn.estimators.certificates.certificate import (
    Certificate,
    Counterexample,
    RuleCertificate,
)
from ocbnn.estimators.certificates.question import Question
from ocbnn.proofs.search import BROKEN, HOLDS, Roots, search


def certify(
    model: Any,
    rule: Any = None,
    *,
    at: Any = None,
    tolerance: Any = None,
    within: Mapping[str, Any] | None = None,
    draws: int | None = None,
    boxes: int = BOXES,
    confidence: float = CONFIDENCE,
) -> Certificate:
    """Prove of each posterior draw that it keeps a rule at every input of its region.

    A draw is a network with known weights, so its outputs over a box of inputs can be
    bounded. Boxes are divided until the bounds decide. What is proved is true of the
    function in exact arithmetic: rounding is allowed for.

    Args:
        model: A fitted model.
        rule: The rule's name, or a rule that the model was not fitted with, as an
            object or text; every rule of the model when left out.
        at: Rows of inputs. The rule is then looked at around each, not everywhere.
        tolerance: How far from a row an input may lie, in its own units: a number for
            all inputs, or one for each by name (others stay exactly as they are).
        within: Bounds of inputs, `{"age": (0, 120)}`. Inputs that the rule leaves
            unbounded are looked at over the range of the training data when left out;
            of others a smaller part of the region is looked at.
        draws: At most so many draws, evenly chosen; all when left out.
        boxes: At most so many boxes for each draw and place.
        confidence: Of the statement about draws that were not looked at.

    Raises:
        CertificateError: When the network or the rule cannot be bounded.
    """
    check_model(model)
    return prove(
        model,
        rule,
        rows=None if at is None else whole_rows(model, at),
        tolerance=tolerance,
        within=within,
        draws=draws,
        boxes=boxes,
        confidence=confidence,
    )


def prove(model: Any, rule: Any, *, words: Words = PYTHON, **settings: Any) -> Any:
    """The same for rows that may lack something, and for those who write otherwise."""
    asked, bounds = asked_of(model, rule, words=words, **settings)
    found, skipped = [], {}
    for bound in bounds:
        try:
            found.append(_answer(Question(model, bound, asked, words)))
        except CertificateError as error:
            if rule is not None:
                raise
            skipped[bound.name] = str(error)
    verdict = (model.verdict_.status, *model.verdict_.sentences)
    return Certificate(digest(model), verdict, asked, tuple(found), skipped)


def digest(model: Any) -> str:
    """What tells one fitted model from another, to the last bit.

    The network, its draws and which of them answer, units, names of columns and
    classes, and rules with their settings.
    """
    predictive = model._predictive
    said = [repr(predictive.network), repr(model.schema_)]
    said += [f"{bound.name}: {bound.rule}" for bound in model.checkable_rules_]
    sha = hashlib.sha256("\n".join(said).encode())
    units = predictive.units
    parts = [] if units is None else [units.x_mean, units.x_scale]
    parts += [] if units is None else [units.y_mean, units.y_scale]
    rests = [] if units is None else [units.x_rest, units.y_rest]
    parts += [rest for rest in rests if rest.any()]
    kept = np.asarray(model._kept, np.int64)
    for array in (*jax.tree.leaves(predictive.draws.weights), *parts, kept):
        whole = np.ascontiguousarray(array)
        sha.update(f"{whole.dtype.str}{whole.shape}".encode())
        sha.update(whole.tobytes())
    return sha.hexdigest()


def _answer(question: Question) -> RuleCertificate:
    started = time.monotonic()
    places, numbers = question.places, question.numbers
    count, size = len(places), len(numbers)
    low = np.array([place.low for place in places])
    high = np.array([place.high for place in places])
    roots = Roots(
        np.tile(np.arange(size), count),
        np.repeat(low, size, axis=0),
        np.repeat(high, size, axis=0),
    )
    found = search(question.prover, roots, question.asked.boxes)
    wrong = [
        Counterexample(
            int(root // size),
            int(numbers[root % size]),
            tuple(found.broken_at[root].tolist()),
            question.outputs(int(root % size), found.broken_at[root]),
        )
        for root in np.flatnonzero(found.status == BROKEN)
    ]
    kept = np.flatnonzero(found.status == HOLDS)
    return RuleCertificate(
        **question.frame(),
        status=found.status.reshape(count, size),
        counterexamples=tuple(wrong),
        splits={
            (int(root // size), int(numbers[root % size])): found.splits[root]
            for root in kept
        },
        boxes=found.boxes,
        seconds=time.monotonic() - started,
    )
