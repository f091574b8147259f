"""What a rule's claim costs a function: `log g`, once the points have their places.

A law holds every number of its rule as an array, and only the form of the claim is
compiled. So another threshold, strength or standard deviation needs no compilation, and
laws of one form are computed together.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ocbnn.core.slopes import slopes_at
from ocbnn.core.types import Along, Function, Inputs, Outputs, Scalar, Site
from ocbnn.core.units import Units
from ocbnn.priors.claims import (
    AtomScales,
    Components,
    Concentrations,
    Edge,
    component_logpdfs,
    dirichlet_logpdf,
    softened_class,
    softened_violation,
)
from ocbnn.rules import (
    AllowedClasses,
    BoundClaim,
    BoundRule,
    CustomTerm,
    Expectation,
    Forbidden,
    take_out,
)
from ocbnn.rules.standard import standard_claim


class Law(eqx.Module):
    """The form of a claim, its numbers, and how strictly it is held."""

    form: BoundClaim = eqx.field(static=True)
    slopes: tuple[Along, ...] = eqx.field(static=True)
    by_region: bool = eqx.field(static=True)
    # Whether every point has the weight, or all of them together.
    at_each: bool = eqx.field(static=True)
    numbers: Float[Array, " numbers"]
    weight: Float[Array, ""]
    held: Edge | Components | Concentrations | Units | None

    def __init__(
        self, bound: BoundRule, scales: AtomScales, units: Units | None = None
    ) -> None:
        """The law of a rule, for functions in standard units where some are given."""
        rule, claim = bound.rule, bound.claim
        told = claim if units is None else standard_claim(claim, units)
        self.form, numbers = take_out(told)
        self.slopes = bound.slopes
        self.by_region = rule.per == "region"
        # Left out, an expectation counts once per point, as in the paper. A class rule
        # counts once in all: its density has no upper bound, and as a product over
        # the points it shouts down any data.
        self.at_each = rule.weight is None and isinstance(claim, Expectation)
        self.numbers = jnp.asarray(numbers, float)
        # A Dirichlet density rewards certainty without end, and made costly it would
        # shout down the data; so a class that is ruled out is forbidden like a value.
        is_ruled_out = isinstance(claim, AllowedClasses) and rule.held != "soft"
        weight = 1.0 if rule.weight is None else rule.weight
        bounded = isinstance(claim, Forbidden) or is_ruled_out
        self.weight = jnp.asarray(rule.gamma if bounded else weight, float)
        match claim:
            case Forbidden():
                self.held = Edge.of(rule, scales)
            case Expectation():
                self.held = Components.of(claim)
            case AllowedClasses() if is_ruled_out:
                self.held = Edge.of(rule, ())
            case AllowedClasses():
                self.held = Concentrations.of(claim, rule)
            case CustomTerm():
                # A user's own density is about a user's own units.
                self.held = units

    def log_g(self, xs: Inputs, ys: Outputs, function: Function) -> Scalar:
        """`log g(W|C)`, given the network's values `ys` at the points `xs`."""
        slopes = jax.vmap(lambda x: slopes_at(function, x, self.slopes))(xs)
        sites = lambda one: jax.vmap(lambda *site: one(Site(*site)))(xs, ys, slopes)
        numbers, weight = (a.astype(ys.dtype) for a in (self.numbers, self.weight))
        share = weight if self.at_each else weight / xs.shape[0]
        match self.form, self.held:
            case Forbidden(terms), Edge() as edge:
                c = sites(lambda s: softened_violation(terms, numbers, edge, s))
                return -weight * jnp.mean(c)
            case Expectation() as form, Components() as parts:
                logs = sites(lambda s: component_logpdfs(form, numbers, parts, s))
                shares = parts.log_shares.astype(logs.dtype)
                if self.by_region:
                    return jax.nn.logsumexp(shares + share * jnp.sum(logs, axis=0))
                mixed = jax.nn.logsumexp(shares[None] + logs, axis=1)
                return share * jnp.sum(mixed)
            case AllowedClasses(mask), Edge() as edge:
                c = sites(lambda s: softened_class(mask, edge, s))
                return -weight * jnp.mean(c)
            case AllowedClasses(), Concentrations() as held:
                return share * jnp.sum(sites(lambda s: dirichlet_logpdf(held, s)))
            case CustomTerm() as own, (Units() | None) as units:
                told = (xs, ys) if units is None else units.traced(xs, ys)
                return jnp.asarray(own.log_g(*told)).astype(ys.dtype)
        raise TypeError(self.form)


def alike(
    laws: Sequence[Law], points: Sequence[Float[Array, "_ inputs"]]
) -> list[list[int]]:
    """Places of laws that differ in numbers only, group by group."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for place, (law, xs) in enumerate(zip(laws, points, strict=True)):
        own = place if isinstance(law.form, CustomTerm) else None
        groups[jax.tree.structure(law), xs.shape, own].append(place)
    return list(groups.values())


def log_gs(
    laws: Sequence[Law],
    groups: Sequence[Sequence[int]],
    points: Sequence[Float[Array, "_ _ inputs"]],
    values: Sequence[Float[Array, "_ _ outputs"]],
    function: Function,
) -> Float[Array, " laws"]:
    """`log g` of every law, in the order of the laws.

    Args:
        laws: Of all rules.
        groups: As `alike` finds them.
        points: For each group, those of its laws, stacked.
        values: The network's outputs there.
        function: The network at any input.
    """
    if not laws:
        return jnp.zeros((0,))
    found = []
    for places, xs, ys in zip(groups, points, values, strict=True):
        if len(places) == 1:
            found.append(laws[places[0]].log_g(xs[0], ys[0], function)[None])
            continue
        stacked = jax.tree.map(lambda *a: jnp.stack(a), *(laws[i] for i in places))
        one = lambda law, xs, ys: law.log_g(xs, ys, function)
        found.append(jax.vmap(one)(stacked, xs, ys))
    order = [place for places in groups for place in places]
    return jnp.concatenate(found)[np.argsort(order)]
