"""The No-U-Turn sampler: HMC that chooses the length of each trajectory itself.

The trajectory is BlackJAX's, which is well kept and measures within 1.5 times the cost
of a bare leapfrog loop on the paper's toys; warm-up and driver are ours.
"""

import dataclasses
from collections.abc import Callable
from functools import cache

import jax.numpy as jnp
from jaxtyping import Array

from ocbnn.core.edges import third_party
from ocbnn.core.ravel import Vector
from ocbnn.core.types import RandomKey
from ocbnn.inference.adaptation import Tuning
from ocbnn.inference.base import LogDensity, check_counts
from ocbnn.inference.mcmc import HamiltonianChain, HamiltonianPlan, Phase


@cache
def _kernel(max_depth: int) -> Callable[..., tuple]:
    # BlackJAX takes half a second to import, so only those who use it wait for it.
    from blackjax.mcmc import nuts  # noqa: PLC0415
    from blackjax.mcmc.hmc import HMCState  # noqa: PLC0415

    trajectory = nuts.build_kernel()

    def move(
        key: RandomKey,
        start: Phase,
        logdensity: Callable[[Vector], Array],
        tuning: Tuning,
    ) -> tuple:
        with third_party():
            state, info = trajectory(
                key,
                HMCState(*start),  # pyright: ignore[reportArgumentType]
                logdensity,
                tuning.step_size,  # pyright: ignore[reportArgumentType]
                tuning.inverse_mass,
                max_num_doublings=max_depth,
            )
        numbers = (
            info.acceptance_rate,
            info.is_divergent,
            info.energy,
            info.num_integration_steps,
        )
        return Phase(*state), *map(jnp.asarray, numbers)  # pyright: ignore

    return move


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
