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
from ocbnn.inference.base import (
    LogDensity,
    Plan,
    check_counts,
    check_positive,
    check_share,
)
from ocbnn.inference.mcmc import HamiltonianChain, Phase


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
class NUTS(Plan):
    """The No-U-Turn sampler with windowed warm-up.

    Attributes:
        step_size: First guess of the step size.
        target_acceptance: Higher takes smaller steps; raise it when moves diverge.
        climb: Gradient steps uphill before the first move.
        max_depth: A trajectory has at most `2 ** max_depth` leapfrog steps.
    """

    step_size: float = 0.01
    target_acceptance: float = 0.9
    climb: int = 1000
    max_depth: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, max_depth=1, thin=1, climb=0)
        check_positive(self, "step_size")
        check_share(self, "target_acceptance")

    def bind(self, target: LogDensity) -> HamiltonianChain:
        """A chain on this density."""
        return HamiltonianChain(
            target,
            _kernel(self.max_depth),
            step_size=self.step_size,
            warmup=self.warmup,
            adapts=True,
            climb=self.climb,
            target_acceptance=self.target_acceptance,
        )
