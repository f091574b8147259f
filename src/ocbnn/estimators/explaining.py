"""Where a rule binds, how much uncertainty it removed, and which rows contradict it."""

import dataclasses
from typing import Any

import jax
import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from ocbnn.core.choices import Choices
from ocbnn.core.errors import SettingError
from ocbnn.core.words import suggest
from ocbnn.estimators.explanation import Explanation, Explanations, Range, Spread
from ocbnn.estimators.page import listed
from ocbnn.estimators.rows_against import breaking_rows, rows_in_region
from ocbnn.estimators.rulebook import LOOKED_AT
from ocbnn.estimators.without import (
    MOST_DRAWS,
    Removal,
    Without,
    refitted,
    removal,
    reweighted,
    some_draws,
)
from ocbnn.metrics.binding import binding, spread
from ocbnn.metrics.places import Place, find_places
from ocbnn.metrics.rules import broken_at
from ocbnn.predictive import Predictive
from ocbnn.predictive.pointwise import log_parts
from ocbnn.priors import RuleTerm
from ocbnn.rules import AllowedClasses, BoundRule, find_conflict, find_redundant

# Points of a region, and just outside of it, that are looked at.
POINTS = 400
# Seconds that second fits may take in all when no one asked for them.
PATIENCE = 120.0
# A range that leaves out this much of the region tells where a rule binds.
_NARROW = 0.8
# How far around its region a rule is compared, in widths of the region.
_NEAR = 0.5

Points = Float[np.ndarray, "_ inputs"]


def explain_rules(model: Any, rule: Any, *, refit: bool | None) -> Explanations:
    """Explain one rule by name, or every rule."""
    terms = _chosen(model, rule)
    removals = find_removals(model)
    patience, found = PATIENCE, []
    for term in terms:
        known, without = removals[term.bound.name], None
        if known.is_trusted and not refit:
            without = reweighted(model, known)
        elif refit or (refit is None and model.draws_.seconds <= patience):
            patience -= model.draws_.seconds
            without = refitted(model, term)
        found.append(explain_term(model, term, known, without))
    everywhere = np.concatenate([model._X, *(t.places for t in model.target_.rules)])
    redundant = find_redundant(model.rules_, everywhere) if terms else []
    follows = {one.rule.name: one.sentence() for one in redundant}
    conflict = find_conflict(model.rules_, everywhere) if terms else None
    return Explanations(
        tuple(dataclasses.replace(e, follows=follows.get(e.rule)) for e in found),
        None if conflict is None else conflict.message(),
    )


def find_removals(model: Any) -> dict[str, Removal]:
    """For each rule by name, whether weights can take it out of the draws."""
    parts = log_parts(model.target_, model.draws_.thinned(MOST_DRAWS))
    return {
        term.bound.name: removal(term, parts[f"rule {term.bound.name!r}"])
        for term in model.target_.rules
    }


def role_from_draws(
    model: Any, name: str, log_g: Float[np.ndarray, " draws"]
) -> str | None:
    """What a rule does, in a sentence, where draws that pay `log_g` for it can tell."""
    term = next(one for one in model.target_.rules if one.bound.name == name)
    known = removal(term, log_g[model.draws_.chosen(MOST_DRAWS)])
    if not known.is_trusted:
        return None
    return explain_term(model, term, known, reweighted(model, known), 100).sentence


def explain_term(
    model: Any,
    term: RuleTerm,
    known: Removal,
    without: Without | None,
    points: int = POINTS,
) -> Explanation:
    """Explain one rule, given functions that do not know it."""
    bound = term.bound
    rows = breaking_rows(model, bound, None, is_fitted=True)
    found = Explanation(
        rule=bound.name,
        text=str(bound.rule),
        claim=str(bound.rule.claim),
        how="unknown" if without is None else without.how,
        pareto_k=known.pareto_k,
        verdict="" if without is None else without.verdict,
        binding=None,
        violation=None,
        ranges=(),
        places=(),
        spreads=(),
        rows_in_region=rows_in_region(model, bound),
        against=tuple(row for row in rows if not row.is_noise),
        within_noise=tuple(row for row in rows if row.is_noise),
        has_others=len(model.target_.rules) > 1,
    )
    if without is None:
        return found
    pair = _Pair(bound, some_draws(model), without)
    xs = term.many(jax.random.key(LOOKED_AT), points)
    spreads = pair.spreads(xs, just_outside(bound, xs, model._X))
    found = dataclasses.replace(found, spreads=spreads)
    return pair.with_binding(found, xs) if bound.is_checkable else found


@dataclasses.dataclass(frozen=True)
class _Pair:
    """A rule, functions that know it, and functions that do not."""

    bound: BoundRule
    knowing: Predictive
    without: Without

    @property
    def _even(self) -> np.ndarray:
        return np.full(self.knowing.size, 1.0 / self.knowing.size)

    def with_binding(self, found: Explanation, xs: Points) -> Explanation:
        """Add where the rule binds."""
        wrong = self._broken(self.without.predictive, xs)
        share, binds = binding(wrong, self.without.weights)
        names = self.bound.schema.inputs
        places = _places(xs, binds, names, self.bound.schema.choices)
        apart = ~np.any([place.holds(xs, names) for place in places], axis=0)
        rest = binds[apart] if places else binds[:0]
        # A class that the model masks is never given, whatever the weights say.
        is_masked = self.bound.rule.held == "hard" and self.bound.schema.classes
        violation = 0.0 if is_masked else float(self._broken(self.knowing, xs).mean())
        return dataclasses.replace(
            found,
            binding=share,
            violation=violation,
            ranges=_ranges(xs, binds, names),
            places=places,
            elsewhere=float(rest.mean()) if rest.size else 0.0,
        )

    def spreads(self, xs: Points, outside: Points) -> tuple[Spread, ...]:
        """How uncertain each output is, in the region and just outside of it."""
        names, _ = self._outputs(self.knowing, xs[:1])
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
        _, knowing = self._outputs(self.knowing, xs)
        return spread(without, self.without.weights), spread(knowing, self._even)

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
        """What the rule speaks of: outputs, or the chance of the classes it allows."""
        schema, values = self.bound.schema, predictive.functions(xs)
        if schema.classes is None:
            chosen = self.bound.mentions("output") or range(len(schema.outputs))
            return [schema.outputs[i] for i in chosen], values[..., list(chosen)]
        chances, (name,) = softmax(values, axis=-1), schema.outputs
        if not isinstance(self.bound.claim, AllowedClasses):
            return [f"P({name} = {one})" for one in schema.classes], chances
        mask = np.array(self.bound.claim.mask)
        labels = listed(one for one, is_in in zip(schema.classes, mask, strict=True)
                        if is_in)  # fmt: skip
        return [f"P({name} in {labels})"], chances[..., mask].sum(-1, keepdims=True)


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


def _chosen(model: Any, rule: Any) -> list[RuleTerm]:
    terms = list(model.target_.rules)
    if rule is None:
        return terms
    chosen = [term for term in terms if term.bound.name == rule]
    if not chosen:
        names = [term.bound.name for term in terms]
        raise SettingError(
            f"explain needs the name of a rule that the model was fitted with, got "
            f"{rule!r}. It has {listed(map(repr, names)) or 'none'}."
            f"{suggest(rule, names)}"
        )
    return chosen


def _ranges(xs: Points, binds: np.ndarray, names: tuple[str, ...]) -> tuple[Range, ...]:
    if not binds.any():
        return ()
    there = xs[binds]
    numbers = zip(
        names,
        there.min(axis=0),
        np.median(there, axis=0),
        there.max(axis=0),
        xs.min(axis=0),
        xs.max(axis=0),
        strict=True,
    )
    return tuple(Range(name, *map(float, rest)) for name, *rest in numbers)


def _places(
    xs: Points, binds: np.ndarray, names: tuple[str, ...], choices: Choices = ()
) -> tuple[Place, ...]:
    """The narrowest range that holds all of it, where that is narrow; else a crowd."""
    if xs.shape[1] > 1 and binds.any():
        widths = np.ptp(xs, axis=0)
        there = np.ptp(xs[binds], axis=0)
        shares = np.divide(there, widths, out=np.ones_like(there), where=widths > 0)
        levels = set()
        for group in map(list, choices):
            # One level of a category is narrow, and two are as good as all.
            one = xs[binds][:, group].min(axis=0) == 1
            shares[group] = np.where(one & (widths[group] > 0), 0.0, 1.0)
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
