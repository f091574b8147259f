r"""Points that walk: a rule is felt at the worst place that a point comes to.

A rule that is felt at fixed points says nothing between them, and in many dimensions
nearly everything lies between. Here every point goes a few steps downhill on the slack
of the very function that is judged, $x \mapsto x - h\, \mathrm{sign}(\partial s /
\partial x)$, and the rule is felt where it arrives. The places are a function of the
weights, so the density is one that any algorithm can draw from. Steps follow signs
alone, so places only jump: between jumps the density's slope is the one there.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ocbnn.core.choices import Choices
from ocbnn.core.types import Function, Input, Inputs, Scalar
from ocbnn.language.evaluate import truth
from ocbnn.priors.law import Law
from ocbnn.rules import Condition

# The first step, as a share of the region's width, and what is left of it where it
# leads uphill or out of the region.
_STEP, _SHRINK = 0.2, 0.5


class Reach(eqx.Module):
    """How far points walk, and within what."""

    lower: Float[Array, " inputs"]
    upper: Float[Array, " inputs"]
    region: Condition | None = eqx.field(static=True)  # None: all of the box
    steps: int = eqx.field(static=True)
    choices: Choices = eqx.field(static=True, default=())  # columns that never move

    def walked(self, law: Law, function: Function, points: Inputs) -> Inputs:
        """Where each point arrives, for one function."""
        level = jax.value_and_grad(lambda x: law.slack(function, x))
        found = jax.vmap(lambda x: self._from(level, x))(points)
        return jax.lax.stop_gradient(found)

    def _from(
        self, level: Callable[[Input], tuple[Scalar, Input]], start: Input
    ) -> Input:
        lower, upper = self.lower.astype(start.dtype), self.upper.astype(start.dtype)
        width = upper - lower
        for group in map(np.array, self.choices):
            width = width.at[group].set(0.0)

        def move(_: Array, walk: _Walk) -> _Walk:
            slope = jnp.where(jnp.isfinite(walk.slope), walk.slope, 0.0)
            away = walk.step * width * jnp.sign(slope)
            x = jnp.clip(walk.x - away, lower, upper)
            slack, slope = level(x)
            better = slack < walk.slack
            if self.region is not None:
                better &= truth(self.region, x, None, jnp)
            there = _Walk(x, slack, slope, walk.step)
            here = walk._replace(step=_SHRINK * walk.step)
            return jax.tree.map(lambda a, b: jnp.where(better, a, b), there, here)

        first = _Walk(start, *level(start), jnp.asarray(_STEP, start.dtype))
        return jax.lax.fori_loop(0, self.steps, move, first).x


class _Walk(NamedTuple):
    x: Input
    slack: Scalar
    slope: Input
    step: Scalar
