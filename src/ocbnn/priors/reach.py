r"""Points that walk: a rule is evaluated where each point arrives, not where it starts.

A rule that is evaluated at fixed points says nothing between them, and in many
dimensions nearly every input lies between. Here every point takes a few steps downhill
on the slack of the function at hand, $x \mapsto x - h\, \mathrm{sign}(\partial s /
\partial x)$, and the rule is evaluated where it arrives. The final points are a
function of the weights, so any algorithm can draw from the density. Steps depend only
on signs, so the final points are piecewise constant in the weights, and the gradient of
the density needs no derivative of the walk.
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

# The first step, as a share of the region's width, and by how much it shrinks when it
# would lead uphill or out of the region.
_STEP, _SHRINK = 0.2, 0.5


class Reach(eqx.Module):
    """How many steps points walk, and the region that they stay in."""

    lower: Float[Array, " inputs"]
    upper: Float[Array, " inputs"]
    region: Condition | None = eqx.field(static=True)  # None: all of the box
    steps: int = eqx.field(static=True)
    choices: Choices = eqx.field(static=True, default=())  # columns that never move

    def walked(self, law: Law, function: Function, points: Inputs) -> Inputs:
        """Where each point arrives, for one function."""
        slack_and_slope = jax.value_and_grad(lambda x: law.slack(function, x))
        places = jax.vmap(lambda x: self._from(slack_and_slope, x))(points)
        return jax.lax.stop_gradient(places)

    def _from(
        self, slack_and_slope: Callable[[Input], tuple[Scalar, Input]], start: Input
    ) -> Input:
        lower, upper = self.lower.astype(start.dtype), self.upper.astype(start.dtype)
        width = upper - lower
        for group in map(np.array, self.choices):
            width = width.at[group].set(0.0)

        def move(_: Array, walk: _Walk) -> _Walk:
            slope = jnp.where(jnp.isfinite(walk.slope), walk.slope, 0.0)
            step = walk.step * width * jnp.sign(slope)
            x = jnp.clip(walk.x - step, lower, upper)
            slack, slope = slack_and_slope(x)
            is_better = slack < walk.slack
            if self.region is not None:
                is_better &= truth(self.region, x, None, jnp)
            moved = _Walk(x, slack, slope, walk.step)
            shrunk = walk._replace(step=_SHRINK * walk.step)
            return jax.tree.map(lambda a, b: jnp.where(is_better, a, b), moved, shrunk)

        first = _Walk(start, *slack_and_slope(start), jnp.asarray(_STEP, start.dtype))
        return jax.lax.fori_loop(0, self.steps, move, first).x


class _Walk(NamedTuple):
    x: Input
    slack: Scalar
    slope: Input
    step: Scalar
