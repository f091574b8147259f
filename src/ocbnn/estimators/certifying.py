"""Prove that a model's draws keep a rule at every input, or find where they do not."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from sklearn.utils.validation import check_is_fitted

from ocbnn.core.errors import CertificateError, SettingError
from ocbnn.estimators.certificate import (
    Certificate,
    Counterexample,
    Place,
    RuleCertificate,
)
from ocbnn.proofs.prover import Prover
from ocbnn.proofs.search import BROKEN, HOLDS, Roots, search
from ocbnn.rules import BoundRule, Rule, bind
from ocbnn.rules.words import listing


def certify(
    model: Any,
    rule: Any = None,
    *,
    at: Any = None,
    tolerance: Any = None,
    within: Mapping[str, tuple[float, float]] | None = None,
    draws: int | None = None,
    boxes: int = 4096,
    confidence: float = 0.95,
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
        within: Bounds for inputs that the rule leaves unbounded, `{"age": (0, 120)}`;
            the range of the training data when left out.
        draws: At most so many draws, evenly chosen; all when left out.
        boxes: At most so many boxes for each draw and place.
        confidence: Of the statement about draws that were not looked at.

    Raises:
        CertificateError: When the network or the rule cannot be bounded.
    """
    _check(model, boxes, confidence, at, tolerance)
    bounds = _asked_for(model, rule)
    found, skipped = [], {}
    for bound in bounds:
        try:
            found.append(
                _Question(model, bound, draws, within or {}).answer(
                    at, tolerance, boxes, confidence
                )
            )
        except CertificateError as error:
            if rule is not None:
                raise
            skipped[bound.name] = str(error)
    return Certificate(digest(model), tuple(found), skipped)


def digest(model: Any) -> str:
    """What tells one fitted model from another: its functions, to the last bit."""
    predictive = model._predictive
    sha = hashlib.sha256(repr(predictive.network).encode())
    units = predictive.units
    parts = [] if units is None else [units.x_mean, units.x_scale]
    parts += [] if units is None else [units.y_mean, units.y_scale]
    for array in (*jax.tree.leaves(predictive.draws.weights), *parts):
        whole = np.ascontiguousarray(array)
        sha.update(f"{whole.dtype.str}{whole.shape}".encode())
        sha.update(whole.tobytes())
    return sha.hexdigest()


class _Question:
    """One rule, and the draws that are asked about it."""

    def __init__(
        self,
        model: Any,
        bound: BoundRule,
        most: int | None,
        within: Mapping[str, tuple[float, float]],
    ) -> None:
        self.model, self.bound = model, bound
        predictive = model._predictive
        # Draws that a hard rule has ruled out never answer.
        answers = np.unique(model._kept)
        count = len(answers) if most is None else min(most, len(answers))
        chosen = np.linspace(0, len(answers) - 1, count).astype(int)
        self.numbers = answers[np.unique(chosen)]
        weights = jax.tree.map(
            lambda a: np.asarray(a)[self.numbers], predictive.draws.weights
        )
        self.prover = Prover(predictive.network, weights, predictive.units, bound)
        self.low, self.high, self.cut = _box(model, bound, within)

    def answer(
        self, at: Any, tolerance: Any, boxes: int, confidence: float
    ) -> RuleCertificate:
        started = time.monotonic()
        bound, names = self.bound, self.bound.schema.inputs
        if at is None:
            places = [Place(tuple(self.low.tolist()), tuple(self.high.tolist()))]
        else:
            places = self._around(at, tolerance)
        count, size = len(places), len(self.numbers)
        low = np.array([place.low for place in places])
        high = np.array([place.high for place in places])
        roots = Roots(
            np.tile(np.arange(size), count),
            np.repeat(low, size, axis=0),
            np.repeat(high, size, axis=0),
        )
        found = search(self.prover, roots, boxes)
        wrong = [
            Counterexample(
                int(root // size),
                int(self.numbers[root % size]),
                tuple(found.broken_at[root].tolist()),
                self._outputs(int(root % size), found.broken_at[root]),
            )
            for root in np.flatnonzero(found.status == BROKEN)
        ]
        kept = np.flatnonzero(found.status == HOLDS)
        return RuleCertificate(
            rule=bound.name,
            text=str(bound.rule),
            inputs=tuple(names),
            cut=() if at is not None else self.cut,
            places=tuple(places),
            draws=tuple(self.numbers.tolist()),
            status=found.status.reshape(count, size),
            counterexamples=tuple(wrong),
            splits={
                (int(root // size), int(self.numbers[root % size])): found.splits[root]
                for root in kept
            },
            effective=_effective(self.model),
            confidence=confidence,
            boxes=found.boxes,
            seconds=time.monotonic() - started,
        )

    def _outputs(self, draw: int, x: np.ndarray) -> tuple[float, ...]:
        values = self.prover.values(draw, x)
        units = self.model._predictive.units
        values = values if units is None else units.outputs(values)
        return tuple(float(f"{value:.9g}") for value in values)

    def _around(self, at: Any, tolerance: Any) -> list[Place]:
        """A box around every row that the rule may speak about."""
        X = self.model._checked(at)
        names = self.bound.schema.inputs
        away = _tolerances(tolerance, names)
        # What the rule itself bounds; data say nothing about single rows.
        lower, upper = self.bound.region.box()
        low, high = np.maximum(X - away, lower), np.minimum(X + away, upper)
        places = [
            Place(tuple(low[row].tolist()), tuple(high[row].tolist()), row)
            for row in np.flatnonzero((low <= high).all(axis=1)).tolist()
        ]
        if not places:
            raise CertificateError(
                f"none of the {len(X)} rows lies within its tolerance of the region of "
                f"rule {self.bound.name!r}, so there is nothing to prove there."
            )
        return places


def _check(model: Any, boxes: Any, confidence: Any, at: Any, tolerance: Any) -> None:
    check_is_fitted(model, "draws_")
    if not isinstance(boxes, (int, np.integer)) or boxes < 1:
        raise SettingError(
            f"boxes must be a whole number above zero, got {boxes!r}. Write boxes=4096."
        )
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        raise SettingError(
            f"confidence must lie between 0 and 1, got {confidence!r}. Write "
            "confidence=0.95."
        )
    if (at is None) != (tolerance is None):
        raise SettingError(
            "at and tolerance belong together: rows, and how far from each an input "
            'may lie. Write certify(model, at=X, tolerance={"x": 0.1}).'
        )


def _asked_for(model: Any, rule: Any) -> Sequence[BoundRule]:
    if rule is None:
        return model.checkable_rules_
    if isinstance(rule, BoundRule):
        return (rule,)
    named = {bound.name: bound for bound in model.rules_}
    if isinstance(rule, str) and rule in named:
        return (named[rule],)
    if isinstance(rule, (str, Rule)):
        return (bind(rule, model.schema_),)
    raise SettingError(
        f"rule must be the name of a rule ({listing(named)}), a rule, or its text, got "
        f"{type(rule).__name__}."
    )


def _box(
    model: Any, bound: BoundRule, within: Mapping[str, tuple[float, float]]
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """The box that a rule is looked at in, and inputs that it does not bound itself."""
    names = bound.schema.inputs
    for name in within:
        if name not in names:
            raise SettingError(
                f"within speaks of {name!r}, which is no input: {listing(names)}."
            )
    low, high = bound.region.box()
    free = ~(np.isfinite(low) & np.isfinite(high))
    for place in np.flatnonzero(free).tolist():
        least, most = within.get(names[place]) or _data_range(model, names, place)
        low[place] = max(low[place], float(least))
        high[place] = min(high[place], float(most))
        if not low[place] <= high[place]:
            raise SettingError(
                f"the bounds of {names[place]!r}, {least:g} and {most:g}, leave "
                f"nothing of the region of rule {bound.name!r}. Give others: "
                f"within={{{names[place]!r}: (LOW, HIGH)}}."
            )
    for name, (least, most) in within.items():
        place = names.index(name)
        low[place] = max(low[place], float(least))
        high[place] = min(high[place], float(most))
    return low, high, tuple(names[place] for place in np.flatnonzero(free))


def _data_range(model: Any, names: Sequence[str], place: int) -> tuple[float, float]:
    X = getattr(model, "_X", None)
    if X is None:
        raise SettingError(
            f"the rule does not bound {names[place]!r} and the model was saved without "
            f"its data. Say where to look: within={{{names[place]!r}: (LOW, HIGH)}}."
        )
    return float(X[:, place].min()), float(X[:, place].max())


def _tolerances(tolerance: Any, names: Sequence[str]) -> np.ndarray:
    if isinstance(tolerance, Mapping):
        strange = [name for name in tolerance if name not in names]
        if strange:
            raise SettingError(
                f"tolerance speaks of {strange[0]!r}, which is no input: "
                f"{listing(names)}."
            )
        away = np.array([float(tolerance.get(name, 0.0)) for name in names])
    else:
        away = np.broadcast_to(np.asarray(tolerance, float), (len(names),))
    if not ((away >= 0) & np.isfinite(away)).all():
        raise SettingError(
            f"tolerance must be zero or more for each input, got {away.tolist()}."
        )
    return away


def _effective(model: Any) -> float | None:
    """How many independent draws a chain's draws are worth, at least."""
    return model.verdict_.ess_min if model.draws_.plan.is_exact else None
