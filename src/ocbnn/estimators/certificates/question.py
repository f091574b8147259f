"""One rule, and all that a certificate says about it before anything is proved.

It follows from the model and from what was asked, so who checks a certificate works it
out once more and compares.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.core.choices import settle_boxes
from ocbnn.core.errors import CertificateError, SettingError
from ocbnn.core.words import spell
from ocbnn.estimators.certificates.asking import PYTHON, Words
from ocbnn.estimators.certificates.certificate import Around, Asked, Place
from ocbnn.estimators.page import listed
from ocbnn.proofs.prover import Prover
from ocbnn.proofs.search import misses
from ocbnn.rules import AllowedClasses, BoundRule, Expectation


class Chosen(NamedTuple):
    """Draws to look at, which all rules have in common.

    Attributes:
        numbers: Their numbers.
        weights: Theirs, in double precision, with a leading axis of draws.
        available: How many draws of the model answer.
    """

    numbers: np.ndarray
    weights: Any
    available: int


def choose(model: Any, most: int | None) -> Chosen:
    """At most so many draws of a model, evenly chosen."""
    # Draws that a hard rule has ruled out never answer.
    answers = np.unique(model._kept)
    count = len(answers) if most is None else min(most, len(answers))
    places = np.linspace(0, len(answers) - 1, count).astype(int)
    numbers = answers[np.unique(places)]
    with jax.enable_x64(True):
        weights = jax.tree.map(
            lambda a: jnp.asarray(np.asarray(a)[numbers], jnp.float64),
            model._predictive.draws.weights,
        )
    return Chosen(numbers, weights, len(answers))


class Question:
    """A rule, the draws that are asked about it, and where.

    Raises:
        CertificateError: When the network or the rule cannot be bounded.
        SettingError: When nothing of its region is left.
    """

    def __init__(
        self,
        model: Any,
        bound: BoundRule,
        asked: Asked,
        chosen: Chosen,
        words: Words = PYTHON,
    ) -> None:
        self.model, self.bound, self.asked = model, bound, asked
        self.choices = bound.schema.choices
        self.numbers, self.available = chosen.numbers, chosen.available
        predictive = model._predictive
        self.is_masked = not asked.is_own and _is_masked(model, bound)
        self.prover = Prover(
            predictive.network,
            chosen.weights,
            predictive.units,
            bound,
            is_masked=self.is_masked,
        )
        self.around: Around | None = None
        self.cut: tuple[str, ...] = ()
        self.narrowed: tuple[str, ...] = ()
        if asked.rows is None:
            self.places = self._whole(words)
        else:
            self.places = self._rows(asked.rows, np.array(asked.tolerance))

    def frame(self) -> dict[str, Any]:
        """All of a certificate but what was found."""
        schema = self.bound.schema
        named = schema.outputs if schema.classes is None else schema.classes
        return {
            "rule": self.bound.name,
            "text": str(self.bound.rule),
            "is_own": self.asked.is_own,
            "is_masked": self.is_masked,
            "reading": _reading(self.bound, is_masked=self.is_masked),
            "inputs": tuple(schema.inputs),
            "outputs": tuple(map(str, named)),
            "choices": self.choices,
            "cut": self.cut,
            "narrowed": self.narrowed,
            "places": self.places,
            "around": self.around,
            "draws": tuple(self.numbers.tolist()),
            "available": self.available,
            "effective": _effective(self.model, len(self.numbers)),
            "confidence": self.asked.confidence,
        }

    def outputs(self, position: int, x: np.ndarray) -> tuple[float, ...]:
        """What a draw gives at an input, in a person's units, rounded."""
        values = self.prover.values(position, x)
        units = self.model._predictive.units
        if units is None:
            return tuple(float(spell(value, digits=9)) for value in values)
        known = zip(units.outputs(values), units.y_scale, strict=True)
        return tuple(float(spell(value, scale, 9)) for value, scale in known)

    def _whole(self, words: Words) -> tuple[Place, ...]:
        """The box that the rule is looked at in."""
        names, within = self.bound.schema.inputs, self.asked.within
        least, most = self.bound.region.box()
        is_free = ~(np.isfinite(least) & np.isfinite(most))
        low, high = least.copy(), most.copy()
        for column, name in enumerate(names):
            if name in within:
                ends = within[name]
            elif is_free[column]:
                ends = _data_range(self.model, names, column, words)
            else:
                continue
            low[column] = max(low[column], ends[0])
            high[column] = min(high[column], ends[1])
            if not low[column] <= high[column]:
                raise SettingError(
                    f"the bounds of {name!r}, {ends[0]:g} and {ends[1]:g}, leave "
                    f"nothing of the region of rule {self.bound.name!r}. Give others: "
                    f"{words.bounds(name)}."
                )
        lows, highs, possible = settle_boxes(low[None], high[None], self.choices)
        if not possible[0]:
            raise SettingError(
                f"the bounds leave no category of the region of rule "
                f"{self.bound.name!r}, {_ends(names, low, high)}. Give others: "
                f"{words.bounds(names[0])}."
            )
        low, high = lows[0], highs[0]
        smaller = ((low > least) | (high < most)) & ~is_free
        self.cut = tuple(names[column] for column in np.flatnonzero(is_free))
        self.narrowed = tuple(names[column] for column in np.flatnonzero(smaller))
        if misses(self.prover, low[None], high[None])[0]:
            raise SettingError(
                f"the region of rule {self.bound.name!r} has no input where it would "
                f"be looked at, {_ends(names, low, high)}. Give other bounds: "
                f"{words.bounds(names[0])}."
            )
        return (Place(tuple(low.tolist()), tuple(high.tolist())),)

    def _rows(self, X: np.ndarray, away: np.ndarray) -> tuple[Place, ...]:
        """A box around every row that the rule may speak about."""
        # What the rule itself bounds; data say nothing about single rows.
        least, most = self.bound.region.box()
        low, high = np.maximum(X - away, least), np.minimum(X + away, most)
        is_missing = np.isnan(X).any(axis=1)
        is_inside = (low <= high).all(axis=1) & ~is_missing
        low, high, possible = settle_boxes(low, high, self.choices)
        is_inside &= possible
        met = np.flatnonzero(is_inside)
        is_inside = np.zeros(len(X), bool)
        is_inside[met[~misses(self.prover, low[met], high[met])]] = True
        outside = np.flatnonzero(~is_inside & ~is_missing) + 1
        missing = np.flatnonzero(is_missing) + 1
        if not is_inside.any():
            lack = f" ({len(missing)} of them lack an input)" if len(missing) else ""
            raise CertificateError(
                f"none of the {len(X)} rows lies within its tolerance of the region of "
                f"rule {self.bound.name!r}{lack}, so there is nothing to prove there."
            )
        self.around = Around(
            len(X),
            tuple(outside.tolist()),
            tuple(missing.tolist()),
            tuple(away.tolist()),
        )
        return tuple(
            Place(tuple(low[row].tolist()), tuple(high[row].tolist()), row + 1)
            for row in np.flatnonzero(is_inside).tolist()
        )


def _ends(names: Sequence[str], low: np.ndarray, high: np.ndarray) -> str:
    ends = zip(low, names, high, strict=True)
    return listed([f"{a:g} <= {name} <= {b:g}" for a, name, b in ends], 6)


def _is_masked(model: Any, bound: BoundRule) -> bool:
    """Whether the model never gives a class that the rule forbids."""
    rules = () if model.held_ is None else model.held_.rules
    return any(one.rule == bound.name and one.way == "masked" for one in rules)


def _reading(bound: BoundRule, *, is_masked: bool) -> str:
    if is_masked:
        return (
            "Classes that it forbids are masked: whatever the weights, no answer of "
            "the model is one of them, and there is nothing to search for."
        )
    match bound.claim:
        case AllowedClasses():
            return (
                "A draw keeps it where its most probable class is one that the rule "
                "allows."
            )
        case Expectation():
            return "A draw keeps it where it lies within 2 sd of a mean."
        case _:
            return ""


def _data_range(
    model: Any, names: Sequence[str], column: int, words: Words
) -> tuple[float, float]:
    X = getattr(model, "_X", None)
    if X is None:
        raise SettingError(
            f"the rule does not bound {names[column]!r} and the model was saved "
            f"without its data. Say where to look: {words.bounds(names[column])}."
        )
    return float(X[:, column].min()), float(X[:, column].max())


def _effective(model: Any, size: int) -> float | None:
    """How many independent draws a chain's draws are worth, at least."""
    worth = model.verdict_.ess_min if model.draws_.plan.is_exact else None
    if worth is None:
        return None
    # Draws that a hard rule has ruled out, or weighs lightly, are worth less.
    held = model.held_
    share = 1.0 if held is None else held.ess / held.draws
    return float(min(worth * share, size))
