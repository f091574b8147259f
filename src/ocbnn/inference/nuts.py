"""The No-U-Turn sampler: HMC that chooses the length of each trajectory itself."""

import dataclasses
from collections.abc import Callable
from functools import cache, partial

from ocbnn.inference.base import LogDensity, check_counts
from ocbnn.inference.mcmc import HamiltonianChain, HamiltonianPlan
from ocbnn.inference.trajectory import move


@cache
def _kernel(max_depth: int) -> Callable[..., tuple]:
    # Cached so that equal settings are the same object, and compile once.
    return partial(move, max_depth=max_depth)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NUTS(HamiltonianPlan):
    """The No-U-Turn sampler with windowed warm-up.

    Attributes:
        max_depth: A trajectory has at most `2 ** max_depth` leapfrog steps.
    """

    max_depth: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, max_depth=1)

    def bind(self, target: LogDensity) -> HamiltonianChain:
        """A chain on this density."""
        return self.chain(target, _kernel(self.max_depth), adapts=True)
