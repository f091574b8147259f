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

from ocbnn.claims.base import Density, Evaluation, Scales
from ocbnn.core.slopes import slopes_at
from ocbnn.core.types import Along, Function, Input, Inputs, Outputs, Scalar, Site
from ocbnn.core.units import Units
from ocbnn.rules import BoundRule


class Law(eqx.Module):
    """What a claim costs, how much it counts, and the slopes it asks for."""

    slopes: tuple[Along, ...] = eqx.field(static=True)
    # Whether every point has the weight, or all of them together.
    at_each: bool = eqx.field(static=True)
    weight: Float[Array, ""]
    density: Density

    def __init__(
        self, bound: BoundRule, scales: Scales, units: Units | None = None
    ) -> None:
        """The law of a rule, for functions in standard units where some are given."""
        claim = bound.claim if units is None else bound.claim.standard(units)
        weight = claim.weight(bound.rule)
        self.slopes, self.at_each = bound.slopes, weight.at_each
        self.weight = jnp.asarray(weight.value, float)
        self.density = claim.density(bound.rule, scales, units)

    def log_g(self, xs: Inputs, ys: Outputs, function: Function) -> Scalar:
        """`log g(W|C)`, given the network's values `ys` at the points `xs`."""
        slopes = jax.vmap(lambda x: slopes_at(function, x, self.slopes))(xs)
        weight = self.weight.astype(ys.dtype)
        share = weight if self.at_each else weight / xs.shape[0]
        return self.density.log_g(Evaluation(xs, ys, slopes, function), weight, share)

    def slack(self, function: Function, x: Input) -> Scalar:
        """What a function leaves at an input before it breaks the claim.

        Where an expression has no value, the claim is taken to be on its edge.
        """
        slack = self.density.slack(
            Site(x, function(x), slopes_at(function, x, self.slopes))
        )
        return jnp.where(jnp.isnan(slack), 0.0, slack)


def alike(
    laws: Sequence[Law], points: Sequence[Float[Array, "_ inputs"]]
) -> list[list[int]]:
    """Places of laws that differ in numbers only, group by group."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for place, (law, xs) in enumerate(zip(laws, points, strict=True)):
        own = None if law.density.is_stackable else place
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

    Parameters
    ----------
    laws
        Of all rules.
    groups
        As `alike` finds them.
    points
        For each group, those of its laws, stacked.
    values
        The network's outputs there.
    function
        The network at any input.
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
