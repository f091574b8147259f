"""The penalty of a rule's claim, `log g`, for a function at given points.

A law holds every number of its rule as an array, and only the form of the claim is
compiled. So a new threshold, strength or standard deviation needs no compilation, and
laws of the same form are computed together.
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
    """A claim's density, its weight, and the slopes it needs."""

    slopes: tuple[Along, ...] = eqx.field(static=True)
    # Whether the weight applies to each point, or to all of them together.
    at_each: bool = eqx.field(static=True)
    weight: Float[Array, ""]
    density: Density

    def __init__(
        self, bound: BoundRule, scales: Scales, units: Units | None = None
    ) -> None:
        """The law of a rule, for functions in standard units if `units` are given."""
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
        """How far a function is from violating the claim at an input.

        It is zero where an expression has no value.
        """
        slack = self.density.slack(
            Site(x, function(x), slopes_at(function, x, self.slopes))
        )
        return jnp.where(jnp.isnan(slack), 0.0, slack)


def alike(
    laws: Sequence[Law], points: Sequence[Float[Array, "_ inputs"]]
) -> list[list[int]]:
    """Group laws that differ only in their numbers; each group lists their indices."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for place, (law, xs) in enumerate(zip(laws, points, strict=True)):
        unique = None if law.density.is_stackable else place
        groups[jax.tree.structure(law), xs.shape, unique].append(place)
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
        The laws of all rules.
    groups
        As `alike` returns them.
    points
        For each group, the points of its laws, stacked.
    values
        The network's outputs at these points.
    function
        The network at any input.
    """
    if not laws:
        return jnp.zeros((0,))
    logs = []
    for places, xs, ys in zip(groups, points, values, strict=True):
        if len(places) == 1:
            logs.append(laws[places[0]].log_g(xs[0], ys[0], function)[None])
            continue
        stacked = jax.tree.map(lambda *a: jnp.stack(a), *(laws[i] for i in places))
        log_g = lambda law, xs, ys: law.log_g(xs, ys, function)
        logs.append(jax.vmap(log_g)(stacked, xs, ys))
    order = [place for places in groups for place in places]
    return jnp.concatenate(logs)[np.argsort(order)]
