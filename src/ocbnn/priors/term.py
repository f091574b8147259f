"""One rule as a term of the log density: `log g` at its points.

The number of points and the weight of the whole are separate: more points look at more
places, while `strength` (forbid, require) or `weight` (expect, classes) says how much
the rule counts.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ocbnn.core.aside import Aside
from ocbnn.core.errors import RuleError
from ocbnn.core.points import OwnPoints, PointSampler, RefinedPoints
from ocbnn.core.slopes import slope_scale
from ocbnn.core.types import Function, Inputs, Outputs, RandomKey, Scalar
from ocbnn.priors.claims import AtomScales, Edge, atom_scales, unit_scales
from ocbnn.priors.law import Law
from ocbnn.priors.placing import check_own_sampler, make_sampler, point_count
from ocbnn.priors.reach import Reach
from ocbnn.rules import AllowedClasses, BoundRule, CustomTerm, Forbidden
from ocbnn.rules.settings import DEFAULT_STRENGTH

# Points that are looked at to see where a region with open sides ends.
_SEEN = 4096


class RuleTerm(eqx.Module):
    """A rule's law, the points at which it is felt, and the rule itself."""

    law: Law
    also: Law | None  # what a firm rule about classes says softly, beside its law
    sampler: PointSampler
    points: Inputs  # fixed for algorithms with an exact target
    reach: Reach | None  # how far points walk for each function; None: they stay
    said: Aside[BoundRule] = eqx.field(static=True)

    def __init__(
        self,
        bound: BoundRule,
        sampler: PointSampler,
        points: Inputs,
        scales: AtomScales = (),
    ) -> None:
        self.law = Law(bound, scales)
        self.also = _said_softly(bound)
        self.sampler, self.points, self.reach = sampler, points, None
        self.said = Aside(bound)

    @property
    def bound(self) -> BoundRule:
        """The rule; compiled code may not look at it, and sees its law."""
        return self.said.value

    @property
    def scales(self) -> AtomScales:
        """The natural size of every atom; none where nothing is forbidden."""
        return self.law.held.scales if isinstance(self.law.held, Edge) else ()

    @property
    def count(self) -> int:
        """How many points the rule is felt at."""
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
        blocks = np.asarray(jax.vmap(self.ordinary)(keys), float)
        return blocks.reshape(-1, blocks.shape[-1])[:count]


def _said_softly(bound: BoundRule) -> Law | None:
    """A firm class rule's soft one, so that firmness takes nothing from it."""
    if not isinstance(bound.claim, AllowedClasses) or bound.rule.held != "firm":
        return None
    rule = dataclasses.replace(bound.rule, strength=DEFAULT_STRENGTH)
    return Law(dataclasses.replace(bound, rule=rule), ())


def make_term(
    bound: BoundRule,
    key: RandomKey,
    *,
    rows: np.ndarray | None = None,
    reference: Float[Array, "rows outputs"] | None = None,
    output_scale: Float[Array, " outputs"] | None = None,
    input_scale: Float[Array, " inputs"] | None = None,
) -> RuleTerm:
    """Place a rule's points and measure its claims.

    Args:
        bound: The rule.
        key: Decides the points.
        rows: Data rows, for rules whose points shall look like the data.
        reference: Typical outputs, at which the claims' slopes are measured.
        output_scale: The natural size of each output; one when left out, as in the
            paper, whose problems are not standardised.
        input_scale: That of each input, for claims about slopes; one when left out.
    """
    key_make, key_points = jax.random.split(key)
    sampler = make_sampler(bound, key_make, rows)
    if isinstance(sampler, OwnPoints):
        check_own_sampler(bound, sampler.function, key_points)
    points = sampler.sample(key_points, point_count(bound))
    points = jnp.asarray(points, float)
    scales: AtomScales = ()
    if isinstance(bound.claim, Forbidden):
        if output_scale is None:
            scales = unit_scales(bound.claim)
        else:
            outputs = len(bound.schema.outputs)
            ys = jnp.zeros((1, outputs)) if reference is None else reference
            xs, ys = _evenly(points, 16), _evenly(ys, 64)
            if input_scale is None:
                input_scale = jnp.ones(len(bound.schema.inputs), output_scale.dtype)
            slopes = {
                along: slope_scale(along, output_scale, input_scale)
                for along in bound.slopes
            }
            scales = atom_scales(bound.claim, xs, ys, output_scale, slopes)
    if isinstance(bound.claim, CustomTerm):
        _check_custom(bound, bound.claim, points)
    return RuleTerm(bound, sampler, points, scales)


def _evenly(table: Float[Array, "rows columns"], most: int) -> Array:
    """At most `most` rows, from the whole table: it may be sorted."""
    rows = np.linspace(0, len(table) - 1, min(most, len(table))).astype(int)
    return table[rows]


def _check_custom(bound: BoundRule, claim: CustomTerm, points: Inputs) -> None:
    classes = bound.schema.classes
    width = len(bound.schema.outputs) if classes is None else len(classes)
    ys = jax.ShapeDtypeStruct((points.shape[0], width), points.dtype)
    value = jax.eval_shape(claim.log_g, points, ys)
    if getattr(value, "shape", None) != ():
        raise RuleError(
            f"log_g of rule {bound.name!r} must return one number for all the points "
            f"together, got {value}. Sum over the points, for example jnp.sum(...)."
        )
