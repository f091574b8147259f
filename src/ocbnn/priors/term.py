"""One rule as a term of the log density: `log g` at its points.

The number of points and the weight of the whole are separate: more points look at more
places, while `strength` (forbid, require) or `weight` (expect, classes) says how much
the rule counts.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ocbnn.claims.base import Scales, Typical
from ocbnn.claims.settings import DEFAULT_STRENGTH
from ocbnn.core.aside import Aside
from ocbnn.core.choices import pick
from ocbnn.core.points import OwnPoints, PointSampler, RefinedPoints
from ocbnn.core.rows import evenly
from ocbnn.core.slopes import slope_scale
from ocbnn.core.types import Function, Inputs, Outputs, RandomKey, Scalar
from ocbnn.core.units import Units
from ocbnn.errors import SettingError
from ocbnn.language.standard import standard_condition
from ocbnn.priors.law import Law
from ocbnn.priors.point_samplers import check_own_sampler, make_sampler, point_count
from ocbnn.priors.precision import warn_of_lost_digits
from ocbnn.priors.reach import Reach
from ocbnn.rules import BoundRule, Condition

# Points that are looked at to see where a region with open sides ends.
_SEEN = 4096


class RuleTerm(eqx.Module):
    """A rule's law, the points at which it is evaluated, and the rule itself.

    Law and points are in standard units where the term was made for some, because a
    person's units may leave single precision no digits; what `places`, `many` and
    `ends` tell is in the user's.
    """

    law: Law
    also: Law | None  # what a firm rule about classes says softly, beside its law
    sampler: PointSampler
    points: Inputs  # fixed for algorithms with an exact target
    reach: Reach | None  # how far points walk for each function; None: they stay
    said: Aside[BoundRule] = eqx.field(static=True)
    measured: Aside[Units | None] = eqx.field(static=True)

    def __init__(
        self,
        bound: BoundRule,
        sampler: PointSampler,
        points: Inputs,
        scales: Scales = (),
        units: Units | None = None,
    ) -> None:
        self.law = Law(bound, scales, units)
        self.also = _said_softly(bound, units)
        self.sampler, self.points, self.reach = sampler, points, None
        self.said, self.measured = Aside(bound), Aside(units)

    @property
    def bound(self) -> BoundRule:
        """The rule; compiled code may not look at it, and sees its law."""
        return self.said.value

    @property
    def units(self) -> Units | None:
        """Standard units that law and points are in; None: they are in the user's."""
        return self.measured.value

    def check_units(self, units: Units | None) -> None:
        """Refuse to be felt by functions in other units than it was made for."""
        if (self.units is None) != (units is None):
            raise SettingError(
                f"rule {self.bound.name!r} was made for other units than those of the "
                "functions that it is about. Write make_term(..., units=units) with "
                "theirs, and leave it out where they have none."
            )

    @property
    def places(self) -> Float[np.ndarray, "points inputs"]:
        """The points in the user's units, in double precision."""
        return self._told(self.points)

    @property
    def region(self) -> Condition | None:
        """The region as compiled code asks for it; None where it is all of its box."""
        region = self.bound.region
        if region.is_box or region.condition is None or self.units is None:
            return None if region.is_box else region.condition
        return standard_condition(region.condition, self.units)

    @property
    def scales(self) -> Scales:
        """The natural size of everything that the claim compares."""
        return self.law.density.sizes()

    @property
    def count(self) -> int:
        """How many points the rule is evaluated at."""
        return self.points.shape[0]

    def fresh(self, key: RandomKey) -> Inputs:
        """New points, for algorithms that redraw them at every step."""
        return self.sampler.sample(key, self.count)

    def felt_at(self, points: Inputs, function: Function) -> Inputs:
        """Where one function feels the rule, whose points start at `points`."""
        if self.reach is None:
            return points
        return self.reach.walked(self.law, function, points)

    def parts(
        self, points: Inputs, function: Function
    ) -> list[tuple[Law, Float[Array, "_ inputs"]]]:
        """Each law of the rule, and where one function feels it.

        What is said softly is felt at the rule's own points, which stay.
        """
        felt = [(self.law, self.felt_at(points, function))]
        if self.also is not None:
            felt.append((self.also, points[: self.count - self.found]))
        return felt

    def log_g(self, xs: Inputs, ys: Outputs, function: Function) -> Scalar:
        """`log g(W|C)` of this rule, were it felt at `xs`, where the values are."""
        firm = self.law.log_g(xs, ys, function)
        return firm if self.also is None else firm + self.also.log_g(xs, ys, function)

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The box around the region; open sides end where the rule's own points do."""
        lower, upper = self.bound.region.box()
        if np.isfinite([lower, upper]).all():
            return lower, upper
        seen = self.many(jax.random.key(0), _SEEN)
        lower = np.where(np.isfinite(lower), lower, seen.min(axis=0))
        return lower, np.where(np.isfinite(upper), upper, seen.max(axis=0))

    @property
    def found(self) -> int:
        """How many of the points were found by looking for violations."""
        sampler = self.sampler
        return sampler.found.shape[0] if isinstance(sampler, RefinedPoints) else 0

    def ordinary(self, key: RandomKey) -> Inputs:
        """New points of the region, none of those that were found."""
        sampler = self.sampler
        base = sampler.base if isinstance(sampler, RefinedPoints) else sampler
        return base.sample(key, self.count - self.found)

    def many(self, key: RandomKey, count: int) -> Float[np.ndarray, "_ inputs"]:
        """So many new points, for those who look at a region.

        None of them was found by looking for violations.
        """
        keys = jax.random.split(key, -(-count // (self.count - self.found)))
        blocks = self._told(jax.vmap(self.ordinary)(keys))
        return blocks.reshape(-1, blocks.shape[-1])[:count]

    def inner(self, places: np.ndarray) -> np.ndarray:
        """Places in the user's units, in those that the points are in."""
        return places if self.units is None else self.units.standard_inputs(places)

    def _told(self, points: Array) -> np.ndarray:
        told = np.asarray(points, float)
        if self.units is None:
            return told
        told = self.units.inputs(told)
        # Points on a face of the region are on it in the user's units, too.
        for end in self.bound.region.box():
            face = np.asarray(jnp.asarray(self.inner(end), float), float)
            is_there = np.isfinite(end) & (np.asarray(points, float) == face)
            told = np.where(is_there, end, told)
        choices = self.bound.schema.choices
        return pick(told.reshape(-1, told.shape[-1]), choices).reshape(told.shape)


def _said_softly(bound: BoundRule, units: Units | None) -> Law | None:
    """What a strict rule says softly as well, so that strictness takes nothing away."""
    if not bound.claim.softly(bound.rule):
        return None
    rule = dataclasses.replace(bound.rule, strength=DEFAULT_STRENGTH)
    return Law(dataclasses.replace(bound, rule=rule), (), units)


def make_term(
    bound: BoundRule,
    key: RandomKey,
    *,
    rows: np.ndarray | None = None,
    reference: Float[Any, "rows outputs"] | None = None,
    output_scale: Float[Any, " outputs"] | None = None,
    input_scale: Float[Any, " inputs"] | None = None,
    units: Units | None = None,
) -> RuleTerm:
    """Place a rule's points and measure its claims.

    Parameters
    ----------
    bound
        The rule.
    key
        Decides the points.
    rows
        Data rows, for rules whose points shall look like the data.
    reference
        Typical outputs, at which the claims' slopes are measured.
    output_scale
        The natural size of each output; one when left out, as in the
        paper, whose problems are not standardised.
    input_scale
        That of each input, for claims about slopes; one when left out.
    units
        Those of the network that the rule is for, which is then what functions
        are given and answer in; both sizes follow from them. The rule, `rows` and
        `reference` are in the user's units all the same.
    """
    key_make, key_points = jax.random.split(key)
    sampler = make_sampler(bound, key_make, rows, units)
    if isinstance(sampler, OwnPoints):
        check_own_sampler(bound, sampler.function, key_points)
    points = sampler.sample(key_points, point_count(bound))
    points = jnp.asarray(points, float)
    if units is not None:
        reference = None if reference is None else units.standard_outputs(reference)
        output_scale = np.ones(len(units.y_scale))
        input_scale = np.ones(len(units.x_scale))
    outputs = len(bound.schema.outputs)
    ys = np.zeros((1, outputs)) if reference is None else np.asarray(reference)
    ys = jnp.asarray(_evenly(ys, 64), float)
    claim = bound.claim if units is None else bound.claim.standard(units)
    if output_scale is None:
        scales = claim.unit_scales()
    else:
        sizes = jnp.asarray(output_scale, float)
        if input_scale is None:
            input_scale = np.ones(len(bound.schema.inputs))
        along = jnp.asarray(input_scale, float)
        slopes = {a: slope_scale(a, sizes, along) for a in bound.slopes}
        typical = Typical(_evenly(points, 16), ys, sizes, slopes)
        scales = claim.measured_scales(typical)
    claim.check_points(bound.name, points, len(bound.schema.classes or range(outputs)))
    some = np.asarray(_evenly(points, 16)), np.asarray(ys)
    warn_of_lost_digits(bound, claim, *some, scales, units)
    return RuleTerm(bound, sampler, points, scales, units)


def _evenly(table: Any, most: int) -> Any:
    """At most `most` rows, from the whole table: it may be sorted."""
    return table[evenly(len(table), most)]
