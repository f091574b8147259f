"""One rule, and everything in its certificate except for the proofs.

This follows from the model and the request, so verification recomputes it and compares.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.certificates.arguments import bounds_of
from ocbnn.certificates.certificate import CertificateRequest, Place, RowNeighbourhoods
from ocbnn.core.choices import settle_boxes
from ocbnn.core.rows import evenly
from ocbnn.core.sentences import Sentence
from ocbnn.core.words import listing, spell
from ocbnn.errors import CertificateError, SettingError
from ocbnn.fitted import FittedModel
from ocbnn.proofs.prover import Prover
from ocbnn.proofs.search import misses
from ocbnn.rules import BoundRule


class ChosenDraws(NamedTuple):
    """The draws to examine, the same for all rules.

    Attributes
    ----------
    numbers
        Their numbers.
    weights
        Their weights, in double precision, with a leading axis of draws.
    available
        How many draws the model uses for predictions.
    """

    numbers: np.ndarray
    weights: Any
    available: int


def choose(model: FittedModel, max_draws: int | None) -> ChosenDraws:
    """At most `max_draws` draws of a model, evenly chosen; all for None."""
    # Draws that a hard rule excludes are never used.
    used = np.unique(model.kept)
    count = len(used) if max_draws is None else max_draws
    numbers = used[evenly(len(used), count)]
    with jax.enable_x64(True):
        weights = jax.tree.map(
            lambda a: jnp.asarray(np.asarray(a)[numbers], jnp.float64),
            model.predictive.draws.weights,
        )
    return ChosenDraws(numbers, weights, len(used))


class Question:
    """A rule, the draws to examine, and where to examine them.

    Raises
    ------
    CertificateError
        When the network or the rule cannot be bounded.
    SettingError
        When the bounds leave nothing of its region.
    """

    def __init__(
        self,
        model: FittedModel,
        bound: BoundRule,
        request: CertificateRequest,
        chosen: ChosenDraws,
    ) -> None:
        self.model, self.bound, self.request = model, bound, request
        self.choices = bound.schema.choices
        self.numbers, self.available = chosen.numbers, chosen.available
        predictive = model.predictive
        self.is_masked = not request.is_own and _is_masked(model, bound)
        self.prover = Prover(
            predictive.network,
            chosen.weights,
            predictive.units,
            bound,
            is_masked=self.is_masked,
        )
        self.around: RowNeighbourhoods | None = None
        self.cut: tuple[str, ...] = ()
        self.narrowed: tuple[str, ...] = ()
        if request.rows is None:
            self.places = self._whole()
        else:
            self.places = self._rows(request.rows, np.array(request.tolerance))

    def frame(self) -> dict[str, Any]:
        """All values of a certificate except for results."""
        schema = self.bound.schema
        output_names = schema.outputs if schema.classes is None else schema.classes
        return {
            "rule": self.bound.name,
            "text": str(self.bound.rule),
            "is_own": self.request.is_own,
            "is_masked": self.is_masked,
            "reading": _reading(self.bound, is_masked=self.is_masked),
            "inputs": tuple(schema.inputs),
            "outputs": tuple(map(str, output_names)),
            "choices": self.choices,
            "cut": self.cut,
            "narrowed": self.narrowed,
            "places": self.places,
            "around": self.around,
            "draws": tuple(self.numbers.tolist()),
            "available": self.available,
            "effective": _effective(self.model, len(self.numbers)),
            "confidence": self.request.confidence,
        }

    def outputs(self, position: int, x: np.ndarray) -> tuple[float, ...]:
        """A draw's outputs at an input, in the user's units, rounded."""
        values = self.prover.values(position, x)
        units = self.model.predictive.units
        if units is None:
            return tuple(float(spell(value, digits=9)) for value in values)
        values_and_scales = zip(units.outputs(values), units.y_scale, strict=True)
        return tuple(
            float(spell(value, scale, 9)) for value, scale in values_and_scales
        )

    def _whole(self) -> tuple[Place, ...]:
        """The box in which the rule is examined."""
        names, within = self.bound.schema.inputs, self.request.within
        region_low, region_high = self.bound.region.box()
        is_free = ~(np.isfinite(region_low) & np.isfinite(region_high))
        low, high = region_low.copy(), region_high.copy()
        for column, name in enumerate(names):
            if name in within:
                ends = within[name]
            elif is_free[column]:
                ends = _data_range(self.model, names, column)
            else:
                continue
            low[column] = max(low[column], ends[0])
            high[column] = min(high[column], ends[1])
            if not low[column] <= high[column]:
                problem = f"the bounds of {name!r}, {ends[0]:g} and {ends[1]:g}, leave "
                region = f"nothing of the region of rule {self.bound.name!r}. "
                raise SettingError(
                    Sentence(problem, region, "Give others: ", bounds_of(name), ".")
                )
        lows, highs, possible = settle_boxes(low[None], high[None], self.choices)
        if not possible[0]:
            problem = "the bounds leave no category of the region of rule "
            region = f"{self.bound.name!r}, {_ends(names, low, high)}. "
            raise SettingError(
                Sentence(problem, region, "Give others: ", bounds_of(names[0]), ".")
            )
        low, high = lows[0], highs[0]
        is_narrowed = ((low > region_low) | (high < region_high)) & ~is_free
        self.cut = tuple(names[column] for column in np.flatnonzero(is_free))
        self.narrowed = tuple(names[column] for column in np.flatnonzero(is_narrowed))
        if misses(self.prover, low[None], high[None])[0]:
            problem = f"the region of rule {self.bound.name!r} has no input within "
            where = f"the bounds {_ends(names, low, high)}. Give other bounds: "
            raise SettingError(Sentence(problem, where, bounds_of(names[0]), "."))
        return (Place(tuple(low.tolist()), tuple(high.tolist())),)

    def _rows(self, X: np.ndarray, tolerances: np.ndarray) -> tuple[Place, ...]:
        """A box around every row to which the rule may apply."""
        # Only the rule's own bounds count here; the range of the data does not.
        region_low, region_high = self.bound.region.box()
        low, high = (
            np.maximum(X - tolerances, region_low),
            np.minimum(X + tolerances, region_high),
        )
        is_missing = np.isnan(X).any(axis=1)
        is_inside = (low <= high).all(axis=1) & ~is_missing
        low, high, possible = settle_boxes(low, high, self.choices)
        is_inside &= possible
        candidates = np.flatnonzero(is_inside)
        is_inside = np.zeros(len(X), bool)
        is_inside[
            candidates[~misses(self.prover, low[candidates], high[candidates])]
        ] = True
        outside = np.flatnonzero(~is_inside & ~is_missing) + 1
        missing = np.flatnonzero(is_missing) + 1
        if not is_inside.any():
            missing_note = (
                f" ({len(missing)} of them lack an input)" if len(missing) else ""
            )
            raise CertificateError(
                f"none of the {len(X)} rows lies within its tolerance of the region of "
                f"rule {self.bound.name!r}{missing_note}, so there is nothing to "
                "prove there."
            )
        self.around = RowNeighbourhoods(
            len(X),
            tuple(outside.tolist()),
            tuple(missing.tolist()),
            tuple(tolerances.tolist()),
        )
        return tuple(
            Place(tuple(low[row].tolist()), tuple(high[row].tolist()), row + 1)
            for row in np.flatnonzero(is_inside).tolist()
        )


def _ends(names: Sequence[str], low: np.ndarray, high: np.ndarray) -> str:
    ends = zip(low, names, high, strict=True)
    return listing([f"{a:g} <= {name} <= {b:g}" for a, name, b in ends], 6)


def _is_masked(model: FittedModel, bound: BoundRule) -> bool:
    """Whether the model never gives a class that the rule forbids."""
    rules = () if model.hard_rules is None else model.hard_rules.rules
    return any(entry.rule == bound.name and entry.way == "masked" for entry in rules)


def _reading(bound: BoundRule, *, is_masked: bool) -> str:
    if is_masked:
        return (
            "The classes that it forbids are masked: whatever the weights, the model "
            "never predicts one of them, so there is nothing to search for."
        )
    return bound.claim.kept_where


def _data_range(
    model: FittedModel, names: Sequence[str], column: int
) -> tuple[float, float]:
    if model.data is None:
        problem = f"the rule does not bound {names[column]!r} and the model was saved "
        where = "without its data. Say where to look: "
        raise SettingError(Sentence(problem, where, bounds_of(names[column]), "."))
    X = model.data.X
    return float(X[:, column].min()), float(X[:, column].max())


def _effective(model: FittedModel, size: int) -> float | None:
    """A lower bound on how many independent draws a chain's draws are worth."""
    ess = model.verdict.ess_min if model.draws.plan.is_exact else None
    if ess is None:
        return None
    # Draws that a hard rule excludes, or gives little weight, are worth less.
    record = model.hard_rules
    share = 1.0 if record is None else record.ess / record.draws
    return float(min(ess * share, size))
