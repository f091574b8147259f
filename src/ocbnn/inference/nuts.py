"""The No-U-Turn sampler: HMC that chooses the length of each trajectory itself."""

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from ocbnn.inference.base import LogDensity, check_counts
from ocbnn.inference.mcmc import HamiltonianChain, HamiltonianPlan
from ocbnn.inference.trajectory import move

# While scales are unknown, long trajectories are not worth their cost.
_EARLY_DEPTH = 7


@cache
def _kernel(max_depth: int) -> Callable[..., tuple]:
    # Cached so that equal settings are the same object, and compile once.
    def kernel(*start: Any, is_early: Array) -> tuple:
        depth = jnp.where(is_early, min(_EARLY_DEPTH, max_depth), max_depth)
        return move(*start, depth=depth, max_depth=max_depth)

    return kernel


@dataclasses.dataclass(frozen=True, kw_only=True)
class NUTS(HamiltonianPlan):
    """The No-U-Turn sampler with windowed warm-up.

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
        Initial length of a leapfrog step; it is learned during the warm-up.
    target_acceptance
        The acceptance rate that learning aims at. Higher rates take smaller steps;
        raise it when moves diverge.
    climb
        Gradient steps uphill before the first move.
    collapse
        Integrate the last layer's weights out, and draw them given the rest of each
        draw: wherever that has a closed form, which takes normal observations and no
        rules in the density.
    max_depth
        The maximum number of doublings of a trajectory: ten make 1023 leapfrog
        steps. During the first third of the warm-up it is seven at most.
    """

    max_depth: int = 10
    collapse: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, max_depth=1)

    def bind(self, target: LogDensity) -> HamiltonianChain:
        """A chain on this density."""
        return self.chain(target, _kernel(self.max_depth), adapts=True)
