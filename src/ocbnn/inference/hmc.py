r"""Hamiltonian Monte Carlo: simulate a trajectory, then accept its end or stay.

A move draws a momentum, follows `steps` leapfrog steps of
$H(q, p) = -\log \pi(q) + \frac12 p^\top M^{-1} p$ and accepts the end with probability
$\min(1, e^{H_0 - H_1})$. A rejected move leaves the chain exactly where it was, and the
density is one fixed function for the whole trajectory. Reference: Neal (2012).
"""

import dataclasses
from collections.abc import Callable
from functools import cache, partial

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ocbnn.core.ravel import Vector
from ocbnn.core.types import RandomKey
from ocbnn.inference.adaptation import Tuning
from ocbnn.inference.base import LogDensity, check_counts
from ocbnn.inference.mcmc import HamiltonianChain, HamiltonianPlan, Phase, rest_at

# An energy error that no reasonable step size produces.
DIVERGENCE = 1000.0


def move(
    key: RandomKey,
    start: Phase,
    logdensity: Callable[[Vector], Array],
    tuning: Tuning,
    *,
    steps: int | Array,
    jitter: bool,
) -> tuple[Phase, Array, Array, Array, Array]:
    """One Metropolis-corrected trajectory.

    With `jitter` the number of steps is uniform from 1 to `steps`, which avoids the
    periodic orbits of a fixed length; it never depends on the position.
    """
    key_momentum, key_steps, key_accept = jax.random.split(key, 3)
    eps, inverse_mass = tuning.step_size, tuning.inverse_mass
    noise = jax.random.normal(key_momentum, start.position.shape, start.position.dtype)
    momentum = noise / jnp.sqrt(inverse_mass)
    count = jax.random.randint(key_steps, (), 1, steps + 1) if jitter else steps

    def leapfrog(_: Array, carry: tuple[Phase, Vector]) -> tuple[Phase, Vector]:
        phase, p = carry
        p = p + 0.5 * eps * phase.gradient
        phase = rest_at(phase.position + eps * inverse_mass * p, logdensity)
        return phase, p + 0.5 * eps * phase.gradient

    end, p_end = jax.lax.fori_loop(0, count, leapfrog, (start, momentum))
    kinetic = lambda p: 0.5 * jnp.sum(inverse_mass * p**2)
    energy = kinetic(momentum) - start.logdensity
    gained = energy - (kinetic(p_end) - end.logdensity)
    # Outside of the support, or of floating-point range: an impossible proposal.
    gained = jnp.where(jnp.isnan(gained), -jnp.inf, gained)
    probability = jnp.exp(jnp.minimum(gained, 0.0))
    accept = jax.random.uniform(key_accept, dtype=gained.dtype) < probability
    phase = jax.tree.map(partial(jnp.where, accept), end, start)
    return phase, probability, gained < -DIVERGENCE, energy, jnp.asarray(count)


@cache
def _kernel(steps: int, jitter: bool) -> Callable[..., tuple]:
    # Cached so that equal settings are the same object, and compile once.
    return lambda *start, is_early: move(*start, steps=steps, jitter=jitter)


@dataclasses.dataclass(frozen=True, kw_only=True)
class HMC(HamiltonianPlan):
    """Hamiltonian Monte Carlo with a fixed number of leapfrog steps.

    Attributes
    ----------
    chains
        Independent chains, spread over the processor's cores.
    warmup
        Moves of each chain before anything is kept.
    draws
        How many draws of each chain are kept.
    thin
        Moves per kept draw.
    step_size
        Length of a leapfrog step, or its initial value if it is learned.
    target_acceptance
        The acceptance rate that learning aims at. Higher rates take smaller steps;
        raise it when moves diverge.
    climb
        Gradient steps uphill before the first move.
    collapse
        Integrate the last layer's weights out, and draw them given the rest of each
        draw: wherever that has a closed form, which takes normal observations and no
        rules in the density.
    steps
        Leapfrog steps in a trajectory (the maximum, with `jitter`).
    adapt
        Learn the step size and the scale of each weight during warm-up.
    jitter
        Draw the number of steps at random for every trajectory.
    """

    steps: int = 50
    adapt: bool = False
    jitter: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, steps=1)

    def bind(self, target: LogDensity) -> HamiltonianChain:
        """A chain on this density."""
        kernel = _kernel(self.steps, self.jitter)
        return self.chain(target, kernel, adapts=self.adapt)
