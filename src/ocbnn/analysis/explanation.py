"""What a rule does to a fit: where it binds, what it removed, which rows it fights."""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from ocbnn.analysis.contradicting_rows import (
    ContradictingRow,
    contradicting_rows,
    pulled,
    rows_in_region,
    say_missed,
    say_noise,
    say_rows,
    say_values,
)
from ocbnn.analysis.rule_removal import (
    MOST_DRAWS,
    PosteriorWithoutRule,
    RemovalWeights,
    refitted,
    removal,
    reweighted,
)
from ocbnn.core.advice import Advice, Kind, Spelling
from ocbnn.core.choices import Choices
from ocbnn.core.page import RulePages, block
from ocbnn.core.plain import plain
from ocbnn.core.sentences import Sentence, in_python, spelled
from ocbnn.core.words import listing, share, suggest
from ocbnn.errors import SettingError
from ocbnn.fitted import FittedModel
from ocbnn.metrics.binding import Binding, binding, spread
from ocbnn.metrics.places import Place, find_places
from ocbnn.metrics.rules import broken_at
from ocbnn.predictive import Predictive
from ocbnn.predictive.pointwise import log_parts
from ocbnn.priors import RuleTerm
from ocbnn.priors.rulebook import LOOKED_AT
from ocbnn.rules import BoundRule, find_conflict, find_redundant

# A rule that is broken less often than this without itself does nothing.
_IDLE = 0.01
# From so many points on, a rule binds everywhere.
_EVERYWHERE = 0.9
# And one up to which "nowhere" is.
_HARDLY = 0.05
# A change of spread that is none, one worth a sentence, and one that is no accident of
# few draws.
_SAME, _CHANGE, _MOVED = 0.005, 0.1, 0.25
# Points of a region, and just outside of it, that are looked at.
POINTS = 400
# Seconds that second fits may take in all when no one asked for them.
PATIENCE = 120.0
# A range that leaves out this much of the region tells where a rule binds.
_NARROW = 0.8
# How far around its region a rule is compared, in widths of the region.
_NEAR = 0.5

Points = Float[np.ndarray, "_ inputs"]


@dataclasses.dataclass(frozen=True)
class Range:
    """Where a rule binds along one input, beside its region.

    Attributes
    ----------
    input
        The input's name.
    low
        The least value at a point where the rule binds.
    median
        The median over such points.
    high
        The greatest.
    region_low
        The least value among all points of the region.
    region_high
        The greatest.
    """

    input: str
    low: float
    median: float
    high: float
    region_low: float
    region_high: float


@dataclasses.dataclass(frozen=True)
class Spread:
    """How uncertain the function is without a rule and with it.

    All are standard deviations over draws, averaged over points.

    Attributes
    ----------
    output
        The output, or for classes the probability of those that are allowed.
    without
        In the rule's region, without the rule.
    with_rule
        In the region, with it.
    near_without
        Just outside of the region, without the rule; None where there is
        no outside.
    near_with
        Just outside, with it.
    """

    output: str
    without: float
    with_rule: float
    near_without: float | None = None
    near_with: float | None = None

    @property
    def removed(self) -> float:
        """The share of the spread that the rule took away; negative if it added."""
        return 1.0 - self.with_rule / self.without if self.without > 0 else 0.0


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What one rule does: where it binds, what it removed, and which rows it fights.

    Attributes
    ----------
    rule
        The rule's name.
    text
        The rule.
    claim
        What it says about the outputs.
    how
        How the posterior without it was found: "reweighted" from the draws,
        "refitted", or "unknown", when nothing below is known about it.
    pareto_k
        Of the weights that would take it out of the draws.
    verdict
        How far the second fit can be trusted, in a word; empty without one.
    binding
        How often it would be broken without itself; None when unknown, and
        for custom rules, which nothing can break.
    violation
        How often it is broken with itself in place, likewise.
    ranges
        Where it binds along each input; empty where it binds nowhere.
    places
        The same in words: where it binds most.
    elsewhere
        At what share of the other points it binds, too.
    spreads
        What it does to uncertainty, for each output it speaks of.
    rows_in_region
        How many data rows it speaks about; None where none can break
        it.
    against
        Rows whose observation breaks it by more than twice the noise's
        standard deviation; of classes, those that the fit hardly expects.
    within_noise
        Rows whose observation breaks it by no more than that.
    follows
        From which other rules it follows, in a sentence; None if from none.
    has_others
        Whether the model has other rules.
    """

    rule: str
    text: str
    claim: str
    how: str
    pareto_k: float
    verdict: str
    binding: Binding | None
    violation: float | None
    ranges: tuple[Range, ...]
    places: tuple[Place, ...]
    spreads: tuple[Spread, ...]
    rows_in_region: int | None
    against: tuple[ContradictingRow, ...]
    within_noise: tuple[ContradictingRow, ...]
    follows: str | None = None
    has_others: bool = False
    elsewhere: float = 0.0

    @property
    def pulled(self) -> list[ContradictingRow]:
        """Rows that it pulls against: those against it, and others the fit misses."""
        return pulled(self.against, self.within_noise)

    @property
    def status(self) -> str:
        """One of "pulls" (against rows), "works", "idle" and "unknown"."""
        if self.pulled:
            return "pulls"
        if self.how == "unknown":
            return "unknown"
        return "works" if self._work() else "idle"

    @property
    def sentence(self) -> str:
        """The status in one sentence."""
        name = f"Rule {self.rule!r}"
        if self.status == "unknown":
            return Sentence(
                f"{name}: what it does cannot be told from these draws; ",
                Advice(Kind.EXPLAIN_AGAIN, self.rule),
                ".",
            )
        if self.status == "idle":
            return f"{name} is idle: {self._keepers} keep it."
        work = self._work()
        if self.pulled:
            also = f", and {work}" if work else ""
            return f"{name} pulls against {say_rows(self.pulled)}{also}."
        return f"{name} {work}."

    def sentences(self) -> list[str]:
        """The findings in words, the conclusion first; each may be a `Sentence`."""
        return [
            self.sentence,
            *self._where(),
            *self._uncertainty(),
            *self._rows(),
            *self._others(),
            *self._doubts(),
        ]

    @property
    def _keepers(self) -> str:
        return "the data and the other rules" if self.has_others else "the data alone"

    def _work(self) -> str:
        binds = self.binding
        if binds is not None and (binds.points > 0 or binds.pairs >= _IDLE):
            if binds.points > 0:
                return f"does the work at {share(binds.points)} of its region"
            return f"does a little: {share(binds.pairs)} of cases would break it"
        if not any(abs(change.removed) > _MOVED for change in self.spreads):
            return ""
        keep = "" if binds is None else ", which would keep it without it"
        return f"changes the functions in its region{keep}"

    def _where(self) -> Iterator[str]:
        binds = self.binding
        if binds is None or self.violation is None:
            return
        if binds.pairs > 0:
            half = f"; at {share(binds.mostly)} of its points, most functions would"
            yield (
                f"Without it functions would break it in {share(binds.pairs)} of cases "
                f"(with it {share(self.violation)}){half * (binds.mostly > 0)}."
            )
        if binds.points > _EVERYWHERE:
            yield "It binds everywhere in its region."
        elif self.places:
            where = " and ".join(map(_place, self.places))
            if self.elsewhere > _HARDLY:
                most = f"It binds most {where}, and at {share(self.elsewhere)}"
                yield f"{most} of the points elsewhere."
            else:
                yield f"It binds {where}; elsewhere {self._keepers} keep it."

    def _uncertainty(self) -> Iterator[str]:
        for width in self.spreads:
            sentence = (
                f"It takes the standard deviation of {width.output} in its region from "
            )
            word = "removed" if width.removed > 0 else "added"
            changed = share(round(abs(width.removed), 2))
            if abs(width.removed) <= _CHANGE:
                kept = "stays" if abs(width.removed) < _SAME else "hardly changes"
                size = "" if abs(width.removed) < _SAME else f" ({changed} {word})"
                yield (
                    f"The standard deviation of {width.output} in its region {kept}: "
                    f"{width.without:.3g} without it, {width.with_rule:.3g} with "
                    f"it{size}."
                )
                continue
            near = ""
            if width.near_with is not None and width.near_without is not None:
                near = f"; just outside, from {width.near_without:.3g} to "
                near += f"{width.near_with:.3g}"
            yield (
                f"{sentence}{width.without:.3g} to {width.with_rule:.3g} "
                f"({changed} {word}){near}."
            )

    def _rows(self) -> Iterator[str]:
        claim = f"but the rule says {self.claim}"
        if self.against:
            rows, values = say_rows(self.against), say_values(self.against)
            yield f"Against it: {rows} ({values}, {claim})."
        if self.within_noise:
            few = self.within_noise
            yield f"{say_noise(few)} ({say_values(few)}, {claim})."
        yield from say_missed([*self.against, *self.within_noise])
        if self.rows_in_region == 0:
            yield "No data row lies in its region."
        elif self.rows_in_region and not self.against and not self.within_noise:
            rows = self.rows_in_region
            all_of_them = f"All {rows} rows" if rows > 1 else "The one row"
            yield f"{all_of_them} in its region keep{'s' * (rows == 1)} it."

    def _others(self) -> Iterator[str]:
        if self.follows is None:
            return
        yield self.follows
        if self.status == "works" and self.has_others:
            yield "What it does is to raise the price of what they forbid already."

    def _doubts(self) -> Iterator[str]:
        if self.how == "reweighted":
            yield "What would be without it was told by weighting the draws."
        elif self.how == "refitted":
            rough = ""
            if self.verdict in ("poor", "unknown"):
                rough = (
                    f", whose verdict is {self.verdict!r}: take the numbers as rough"
                )
            yield f"What would be without it was told by a second fit{rough}."


@dataclasses.dataclass(frozen=True)
class Explanations(RulePages[Explanation]):
    """What each rule does. Print it, or go through it rule by rule.

    Attributes
    ----------
    rules
        An explanation for each rule that was asked about.
    contradiction
        Rules that cannot all hold, in words; None where none was found.
    """

    rules: tuple[Explanation, ...]
    contradiction: str | None = None

    def to_dict(self, spelling: Spelling = in_python) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        document = {
            "contradiction": self.contradiction,
            "rules": {
                rule.rule: {
                    "status": rule.status,
                    "sentence": rule.sentence,
                    **plain(dataclasses.asdict(rule)),
                    "sentences": rule.sentences(),
                }
                for rule in self.rules
            },
        }
        return spelled(document, spelling)

    def to_text(self, spelling: Spelling = in_python) -> str:
        """The page, with advice in the words of some readers."""
        if not self.rules:
            return "There are no rules to explain."
        blocks = [
            (f"{rule.rule}: {rule.status}", [rule.text, *rule.sentences()])
            for rule in self.rules
        ]
        if self.contradiction:
            blocks.append(("Rules that contradict each other", [self.contradiction]))
        pages = [block(title, spelled(lines, spelling)) for title, lines in blocks]
        return "\n\n".join(pages)


def _place(place: Place) -> str:
    if place.input is None:
        return "everywhere"
    low, high = place.spelled(digits=3)
    if place.low == place.high:
        return f"where {place.input} is {low}"
    often = "" if place.share > _EVERYWHERE else f" ({place.share:.0%} of points there)"
    return f"where {place.input} is between {low} and {high}{often}"


def explain(
    model: FittedModel,
    rule: Any = None,
    *,
    refit: bool | None = None,
    progress: object = "auto",
) -> Explanations:
    """What one rule does, or every rule; see `explain` of an estimator.

    Parameters
    ----------
    model
        A fitted model.
    rule
        The rule's name; every rule when left out.
    refit
        True fits again for each rule, False never. Left out, it is done where
        weights cannot be trusted, within two minutes in all.
    progress
        As for a model.
    """
    model.refuse_projected("explain")
    model.need_all_rows("explain")
    terms = _chosen(model, rule)
    removals = find_removals(model)
    patience, explanations = PATIENCE, []
    for term in terms:
        known, without = removals[term.bound.name], None
        if known.is_trusted and not refit:
            without = reweighted(model, known)
        elif refit or (refit is None and model.draws.seconds <= patience):
            patience -= model.draws.seconds
            without = refitted(model, term, progress)
        explanations.append(explain_term(model, term, known, without))
    everywhere = np.concatenate([model.rows.X, *(t.places for t in model.target.rules)])
    redundant = find_redundant(model.rules, everywhere) if terms else []
    follows = {redundancy.rule.name: redundancy.sentence() for redundancy in redundant}
    conflict = find_conflict(model.rules, everywhere) if terms else None
    return Explanations(
        tuple(
            dataclasses.replace(e, follows=follows.get(e.rule)) for e in explanations
        ),
        None if conflict is None else conflict.message(),
    )


def find_removals(model: FittedModel) -> dict[str, RemovalWeights]:
    """For each rule by name, whether weights can take it out of the draws."""
    parts = log_parts(model.target, model.draws.thinned(MOST_DRAWS))
    return {
        term.bound.name: removal(term, parts[f"rule {term.bound.name!r}"])
        for term in model.target.rules
    }


def role_from_draws(
    model: FittedModel, name: str, log_g: Float[np.ndarray, " draws"]
) -> str | None:
    """What a rule does, in a sentence, where draws that pay `log_g` for it can tell."""
    term = next(other for other in model.target.rules if other.bound.name == name)
    known = removal(term, log_g[model.draws.chosen(MOST_DRAWS)])
    if not known.is_trusted:
        return None
    return explain_term(model, term, known, reweighted(model, known), 100).sentence


def explain_term(
    model: FittedModel,
    term: RuleTerm,
    known: RemovalWeights,
    without: PosteriorWithoutRule | None,
    points: int = POINTS,
) -> Explanation:
    """Explain one rule, given functions that do not know it."""
    bound = term.bound
    rows = contradicting_rows(model, bound, None, is_fitted=True)
    explanation = Explanation(
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
        has_others=len(model.target.rules) > 1,
    )
    if without is None:
        return explanation
    pair = _Pair(bound, model.some_draws(MOST_DRAWS), without)
    xs = term.many(jax.random.key(LOOKED_AT), points)
    spreads = pair.spreads(xs, just_outside(bound, xs, model.rows.X))
    explanation = dataclasses.replace(explanation, spreads=spreads)
    return pair.with_binding(explanation, xs) if bound.is_checkable else explanation


@dataclasses.dataclass(frozen=True)
class _Pair:
    """A rule, functions that know it, and functions that do not."""

    bound: BoundRule
    knowing: Predictive
    without: PosteriorWithoutRule

    @property
    def _even(self) -> np.ndarray:
        return np.full(self.knowing.size, 1.0 / self.knowing.size)

    def with_binding(self, explanation: Explanation, xs: Points) -> Explanation:
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
            explanation,
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
        if self.bound.claim.allowed is None:
            return [f"P({name} = {label})" for label in schema.classes], chances
        mask = np.array(self.bound.claim.allowed)
        labels = listing(itertools.compress(schema.classes, mask), 6)
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


def _chosen(model: FittedModel, rule: Any) -> list[RuleTerm]:
    terms = list(model.target.rules)
    if rule is None:
        return terms
    chosen = [term for term in terms if term.bound.name == rule]
    if not chosen:
        names = [term.bound.name for term in terms]
        raise SettingError(
            f"explain needs the name of a rule that the model was fitted with, got "
            f"{rule!r}. It has {listing(map(repr, names), 6) or 'none'}."
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
