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
