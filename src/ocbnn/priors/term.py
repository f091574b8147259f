"""One rule as a term of the log density: `log g` at its points.

The number of points and the weight of the whole are separate: more points look at more
places, while `strength` (forbid, require) or `weight` (expect, classes) says how much
the rule counts.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ocbnn.core.errors import RuleError
from ocbnn.core.points import OwnPoints, PointSampler
from ocbnn.core.slopes import slope_scale, slopes_at
from ocbnn.core.types import Function, Inputs, Outputs, RandomKey, Scalar, Site
from ocbnn.priors.claims import (
    AtomScales,
    atom_scales,
    component_logpdfs,
    dirichlet_logpdf,
    softened_violation,
    unit_scales,
)
from ocbnn.priors.placing import check_own_sampler, make_sampler, point_count
from ocbnn.rules import (
    AllowedClasses,
    BoundRule,
    CustomTerm,
    Expectation,
    Forbidden,
)


class RuleTerm(eqx.Module):
    """A bound rule, the points at which it is felt, and the scale of its claims."""

    bound: BoundRule = eqx.field(static=True)
    sampler: PointSampler
    points: Inputs  # fixed for algorithms with an exact target
    scales: AtomScales

    @property
    def count(self) -> int:
        """How many points the rule is felt at."""
        return self.points.shape[0]

    def fresh(self, key: RandomKey) -> Inputs:
        """New points, for algorithms that redraw them at every step."""
        return self.sampler.sample(key, self.count)

    def log_g(self, xs: Inputs, ys: Outputs, function: Function) -> Scalar:
        """`log g(W|C)` of this rule, given the network's values at its points."""
        rule, claim = self.bound.rule, self.bound.claim
        slopes = jax.vmap(lambda x: slopes_at(function, x, self.bound.slopes))(xs)
        sites = lambda one: jax.vmap(lambda *site: one(Site(*site)))(xs, ys, slopes)
        weight = _share_of_each_point(self.bound, xs.shape[0])
        match claim:
            case Forbidden():
                c = sites(lambda s: softened_violation(claim, self.scales, rule, s))
                return -rule.strength * jnp.mean(c)
            case Expectation():
                logs = sites(lambda s: component_logpdfs(claim, s))
                log_share = jnp.log(jnp.array(claim.weights, logs.dtype))
                if rule.per == "region":
                    return jax.nn.logsumexp(log_share + weight * jnp.sum(logs, axis=0))
                mixed = jax.nn.logsumexp(log_share[None] + logs, axis=1)
                return weight * jnp.sum(mixed)
            case AllowedClasses():
                logs = sites(lambda s: dirichlet_logpdf(claim, rule, s))
                return weight * jnp.sum(logs)
            case CustomTerm():
                return jnp.asarray(claim.log_g(xs, ys)).astype(ys.dtype)
        raise TypeError(claim)


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


def _share_of_each_point(bound: BoundRule, count: int) -> float:
    """What one point counts for, so that all together have the rule's weight.

    Left out, an expectation counts once per point, as in the paper. A class rule counts
    once in all: its density has no upper bound, and as a product over the points it
    shouts down any data.
    """
    if bound.rule.weight is not None:
        return bound.rule.weight / count
    return 1.0 / count if isinstance(bound.claim, AllowedClasses) else 1.0


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
