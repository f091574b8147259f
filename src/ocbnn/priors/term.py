"""One rule as a term of the log density: `log g` at its points.

The number of points and the weight of the rule are separate: more points cover the
region more densely, while `strength` (forbid, require) or `weight` (expect, classes)
says how much the rule counts.
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

# How many points show where a region with open sides ends.
_PROBES = 4096


class RuleTerm(eqx.Module):
    """A rule's law, the points at which it is evaluated, and the rule itself.

    Law and points are in standard units if the term was made for some, because the
    user's units may leave single precision too few digits. `places`, `many` and `ends`
    return values in the user's units.
    """

    law: Law
    also: Law | None  # the soft law of a firm rule about classes, beside its own
    sampler: PointSampler
    points: Inputs  # fixed for algorithms with an exact target
    reach: Reach | None  # how far points walk for each function; None: they stay
    static_bound: Aside[BoundRule] = eqx.field(static=True)
    static_units: Aside[Units | None] = eqx.field(static=True)

    def __init__(
        self,
        bound: BoundRule,
        sampler: PointSampler,
        points: Inputs,
        scales: Scales = (),
        units: Units | None = None,
    ) -> None:
        self.law = Law(bound, scales, units)
        self.also = _soft_law(bound, units)
        self.sampler, self.points, self.reach = sampler, points, None
        self.static_bound, self.static_units = Aside(bound), Aside(units)

    @property
    def bound(self) -> BoundRule:
        """The rule; compiled code must use the law instead."""
        return self.static_bound.value

    @property
    def units(self) -> Units | None:
        """Standard units of law and points; None if they are in the user's units."""
        return self.static_units.value

    @property
    def laws(self) -> tuple[Law, ...]:
        """Its law, and the soft law of a firm rule about classes."""
        return (self.law,) if self.also is None else (self.law, self.also)

    def check_units(self, units: Units | None) -> None:
        """Refuse functions in other units than those the term was made for."""
        if (self.units is None) != (units is None):
            raise SettingError(
                f"rule {self.bound.name!r} was made for other units than those of the "
                "functions it applies to. Write make_term(..., units=units) with their "
                "units, and leave it out if they have none."
            )

    @property
    def places(self) -> Float[np.ndarray, "points inputs"]:
        """The points in the user's units, in double precision."""
        return self._in_user_units(self.points)

    @property
    def region(self) -> Condition | None:
        """The region as compiled code needs it; None if it fills its box."""
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

    def evaluation_points(self, points: Inputs, function: Function) -> Inputs:
        """Where the points arrive for one function, from a start at `points`."""
        if self.reach is None:
            return points
        return self.reach.walked(self.law, function, points)

    def parts(
        self, points: Inputs, function: Function
    ) -> list[tuple[Law, Float[Array, "_ inputs"]]]:
        """Each law of the rule, and the points at which it is evaluated.

        A soft law is evaluated at the rule's own points, which do not walk.
        """
        parts = [(self.law, self.evaluation_points(points, function))]
        if self.also is not None:
            parts.append((self.also, points[: self.count - self.added]))
        return parts

    def log_g(self, xs: Inputs, ys: Outputs, function: Function) -> Scalar:
        """`log g(W|C)` of this rule, if it is evaluated at `xs`, with outputs `ys`."""
        firm = self.law.log_g(xs, ys, function)
        return firm if self.also is None else firm + self.also.log_g(xs, ys, function)

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The box around the region; open sides end where the rule's own points do."""
        lower, upper = self.bound.region.box()
        if np.isfinite([lower, upper]).all():
            return lower, upper
        probes = self.many(jax.random.key(0), _PROBES)
        lower = np.where(np.isfinite(lower), lower, probes.min(axis=0))
        return lower, np.where(np.isfinite(upper), upper, probes.max(axis=0))

    @property
    def added(self) -> int:
        """How many of the points a search for violations added."""
        sampler = self.sampler
        return sampler.added.shape[0] if isinstance(sampler, RefinedPoints) else 0

    @property
    def own_sampler(self) -> PointSampler:
        """The rule's own sampler, without points that a search added."""
        sampler = self.sampler
        return sampler.base if isinstance(sampler, RefinedPoints) else sampler

    def ordinary(self, key: RandomKey) -> Inputs:
        """New points of the region, without those that a search added."""
        return self.own_sampler.sample(key, self.count - self.added)

    def many(self, key: RandomKey, count: int) -> Float[np.ndarray, "_ inputs"]:
        """`count` new points of the region, in the user's units.

        None of them comes from a search for violations.
        """
        each = self.count - self.added
        blocks = self._in_user_units(
            _sampled(self.own_sampler, key, -(-count // each), each)
        )
        return blocks.reshape(-1, blocks.shape[-1])[:count]

    def bounded(self) -> "RuleTerm":
        """The term with densities that are bounded above, where settings allow it."""
        densities = lambda term: [law.density for law in term.laws]
        return eqx.tree_at(
            densities, self, [law.density.bounded() for law in self.laws]
        )

    def inner(self, places: np.ndarray) -> np.ndarray:
        """Convert places from the user's units to those of the points."""
        return places if self.units is None else self.units.standard_inputs(places)

    def _in_user_units(self, points: Array) -> np.ndarray:
        places = np.asarray(points, float)
        if self.units is None:
            return places
        places = self.units.inputs(places)
        # Points on a face of the region are on it in the user's units, too.
        for end in self.bound.region.box():
            face = np.asarray(jnp.asarray(self.inner(end), float), float)
            is_on_face = np.isfinite(end) & (np.asarray(points, float) == face)
            places = np.where(is_on_face, end, places)
        choices = self.bound.schema.choices
        return pick(places.reshape(-1, places.shape[-1]), choices).reshape(places.shape)


@eqx.filter_jit
def _sampled(
    sampler: PointSampler, key: RandomKey, blocks: int, each: int
) -> Float[Array, "blocks each inputs"]:
    """Several samples of as many points. Searches ask for them again and again."""
    keys = jax.random.split(key, blocks)
    return jax.vmap(lambda key: sampler.sample(key, each))(keys)


def _soft_law(bound: BoundRule, units: Units | None) -> Law | None:
    """The soft law that a strict rule has as well, so that strictness only adds."""
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
    """Choose a rule's points and measure the scales of its claim.

    Parameters
    ----------
    bound
        The rule.
    key
        Determines the points.
    rows
        Data rows, for rules whose points are sampled like the data.
    reference
        Typical outputs, at which the claims' slopes are measured.
    output_scale
        The natural size of each output; one when left out, as in the
        paper, whose problems are not standardised.
    input_scale
        That of each input, for claims about slopes; one when left out.
    units
        Those of the network that the rule is for; functions then take and return
        values in these units, and both sizes follow from them. The rule, `rows` and
        `reference` are in the user's units in any case.
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
    ys = jnp.asarray(ys[evenly(len(ys), 64)], float)
    some = points[evenly(len(points), 16)]
    claim = bound.claim if units is None else bound.claim.standard(units)
    if output_scale is None:
        scales = claim.unit_scales()
    else:
        sizes = jnp.asarray(output_scale, float)
        if input_scale is None:
            input_scale = np.ones(len(bound.schema.inputs))
        along = jnp.asarray(input_scale, float)
        slopes = {a: slope_scale(a, sizes, along) for a in bound.slopes}
        typical = Typical(some, ys, sizes, slopes)
        scales = claim.measured_scales(typical)
    claim.check_points(bound.name, points, len(bound.schema.classes or range(outputs)))
    sample = np.asarray(some), np.asarray(ys)
    warn_of_lost_digits(bound, claim, *sample, scales, units)
    return RuleTerm(bound, sampler, points, scales, units)
