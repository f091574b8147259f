"""Draws with a rule compared with draws without it: where it binds, and spreads."""

import dataclasses
import itertools

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from ocbnn.analysis.explanation_page import Explanation, Range, Spread
from ocbnn.analysis.rule_removal import PosteriorWithoutRule
from ocbnn.core.choices import Choices
from ocbnn.core.words import listing
from ocbnn.metrics.binding import binding, spread
from ocbnn.metrics.places import Place, find_places
from ocbnn.metrics.rules import broken_at
from ocbnn.predictive import Predictive
from ocbnn.rules import BoundRule

# A range narrower than this share of the region says where a rule binds.
_NARROW = 0.8
# How far outside of its region functions are compared, in widths of the region.
_NEAR = 0.5

Points = Float[np.ndarray, "_ inputs"]


@dataclasses.dataclass(frozen=True)
class RuleEffect:
    """A rule, functions from the fit with it, and functions without it."""

    bound: BoundRule
    with_rule: Predictive
    without: PosteriorWithoutRule

    @property
    def _even(self) -> np.ndarray:
        return np.full(self.with_rule.size, 1.0 / self.with_rule.size)

    def with_binding(self, explanation: Explanation, xs: Points) -> Explanation:
        """Add where the rule binds."""
        violations = self._broken(self.without.predictive, xs)
        share, binds = binding(violations, self.without.weights)
        names = self.bound.schema.inputs
        places = _places(xs, binds, names, self.bound.schema.choices)
        is_elsewhere = ~np.any([place.holds(xs, names) for place in places], axis=0)
        rest = binds[is_elsewhere] if places else binds[:0]
        # The model never predicts a masked class, whatever the weights are.
        is_masked = self.bound.rule.strictness == "hard" and self.bound.schema.classes
        violation = 0.0 if is_masked else float(self._broken(self.with_rule, xs).mean())
        return dataclasses.replace(
            explanation,
            binding=share,
            violation=violation,
            ranges=_ranges(xs, binds, names),
            places=places,
            elsewhere=float(rest.mean()) if rest.size else 0.0,
        )

    def spreads(self, xs: Points, outside: Points) -> tuple[Spread, ...]:
        """How uncertain each output is, in the region and just outside of it."""
        names, _ = self._outputs(self.with_rule, xs[:1])
        inside = self._deviations(xs)
        near = self._deviations(outside) if len(outside) else None
        return tuple(
            Spread(
                name,
                float(inside[0][column]),
                float(inside[1][column]),
                None if near is None else float(near[0][column]),
                None if near is None else float(near[1][column]),
            )
            for column, name in enumerate(names)
        )

    def _deviations(self, xs: Points) -> tuple[np.ndarray, np.ndarray]:
        """Standard deviations without the rule and with it."""
        _, without = self._outputs(self.without.predictive, xs)
        _, with_rule = self._outputs(self.with_rule, xs)
        return spread(without, self.without.weights), spread(with_rule, self._even)

    def _broken(self, predictive: Predictive, xs: Points) -> np.ndarray:
        values = predictive.functions(xs)
        if self.bound.schema.classes is not None:
            values = np.argmax(values, axis=-1)
        slopes = {}
        if self.bound.slopes:
            slopes = predictive.slopes(xs, self.bound.slopes)
        return broken_at(self.bound, xs, values, slopes)

    def _outputs(
        self, predictive: Predictive, xs: Points
    ) -> tuple[list[str], np.ndarray]:
        """The outputs it mentions, or the probability of the classes it allows."""
        schema, values = self.bound.schema, predictive.functions(xs)
        if schema.classes is None:
            chosen = self.bound.mentions("output") or range(len(schema.outputs))
            return [schema.outputs[i] for i in chosen], values[..., list(chosen)]
        probabilities, (name,) = softmax(values, axis=-1), schema.outputs
        if self.bound.claim.allowed is None:
            return [f"P({name} = {label})" for label in schema.classes], probabilities
        mask = np.array(self.bound.claim.allowed)
        labels = listing(itertools.compress(schema.classes, mask), 6)
        return [f"P({name} in {labels})"], probabilities[..., mask].sum(
            -1, keepdims=True
        )


def just_outside(bound: BoundRule, xs: Points, X: Points) -> Points:
    """The region's points, each moved out along one of the inputs that bound it."""
    columns = np.array(bound.region.columns, int)
    if not len(columns):
        return xs[:0]
    low, high = xs.min(axis=0), xs.max(axis=0)
    width = np.where(high > low, high - low, np.maximum(X.std(axis=0), 1e-6))
    order = np.arange(len(xs))
    column = columns[order % len(columns)]
    # The golden ratio spreads any number of steps evenly.
    step = _NEAR * width[column] * (1.0 - (order * 0.6180339887) % 1.0)
    is_above = (order // len(columns)) % 2 == 1
    moved = xs.copy()
    moved[order, column] = np.where(is_above, high[column] + step, low[column] - step)
    return moved[~bound.applies(moved)]


def _ranges(xs: Points, binds: np.ndarray, names: tuple[str, ...]) -> tuple[Range, ...]:
    if not binds.any():
        return ()
    binding_points = xs[binds]
    numbers = zip(
        names,
        binding_points.min(axis=0),
        np.median(binding_points, axis=0),
        binding_points.max(axis=0),
        xs.min(axis=0),
        xs.max(axis=0),
        strict=True,
    )
    return tuple(Range(name, *map(float, rest)) for name, *rest in numbers)


def _places(
    xs: Points, binds: np.ndarray, names: tuple[str, ...], choices: Choices = ()
) -> tuple[Place, ...]:
    """The narrowest range that holds all points that bind, or clusters of them."""
    if xs.shape[1] > 1 and binds.any():
        widths = np.ptp(xs, axis=0)
        ranges = np.ptp(xs[binds], axis=0)
        shares = np.divide(ranges, widths, out=np.ones_like(ranges), where=widths > 0)
        levels = set()
        for group in map(list, choices):
            # One level of a category is narrow; two count as all of them.
            is_chosen = xs[binds][:, group].min(axis=0) == 1
            shares[group] = np.where(is_chosen & (widths[group] > 0), 0.0, 1.0)
            levels |= {*group}
        column = int(np.argmin(shares))
        if shares[column] < _NARROW:
            low, high = xs[binds][:, column].min(), xs[binds][:, column].max()
            inside = (xs[:, column] >= low) & (xs[:, column] <= high)
            share = float(binds[inside].mean())
            width = float(widths[column])
            ends, is_choice = (float(low), float(high)), column in levels
            return (Place(names[column], *ends, share, width, is_choice),)
    return tuple(find_places(xs, binds, names, choices=choices))
