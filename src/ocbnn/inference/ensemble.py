"""Deep ensembles: the best weights from many starts, with rules.

Every member climbs to a maximum of the log density, on its own batches and points.
Members differ only by their starts: predictions are good, but their spread has no
theoretical guarantee. As starts for a sampler (`WarmStart`) they are the best known.
Reference: Lakshminarayanan, Pritzel and Blundell (2017).
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.promotion import third_party
from ocbnn.core.types import Position, RandomKey
from ocbnn.inference.base import (
    Algorithm,
    LogDensity,
    batched_initial,
    check_counts,
)
from ocbnn.inference.descent import DescentPlan
from ocbnn.inference.groups import in_groups
from ocbnn.inference.optimisers import Optimiser, fading_adam
from ocbnn.inference.trees import mean_square


class EnsembleState(NamedTuple):
    """Positions stacked along a first axis, and the optimiser's state."""

    positions: Position
    optimiser: Any


class EnsembleInfo(NamedTuple):
    """Numbers about one step."""

    logdensity: Float[Array, ""]  # mean over the members
    step: Float[Array, ""]  # root mean square of the move


class EnsembleAlgorithm(Algorithm):
    """All members, each on its own batch and points."""

    target: LogDensity
    members: int = eqx.field(static=True)
    optimiser: Optimiser = eqx.field(static=True)

    def init(self, key: RandomKey) -> EnsembleState:
        """Start every member at a position from the target."""
        positions = batched_initial(self.target, key, self.members)
        return EnsembleState(positions, self.optimiser.init(positions))

    def step(
        self, key: RandomKey, state: EnsembleState
    ) -> tuple[EnsembleState, EnsembleInfo]:
        """One step uphill of every member."""
        value_and_grad = jax.value_and_grad(self.target.stochastic_logdensity)
        keys = jax.random.split(key, self.members)
        values, grads = in_groups(value_and_grad, state.positions, keys)
        descent = jax.tree.map(jnp.negative, grads)
        with third_party():
            updates, optimiser = self.optimiser.update(
                descent, state.optimiser, state.positions
            )
        positions = jax.tree.map(jnp.add, state.positions, updates)
        info = EnsembleInfo(jnp.mean(values), jnp.sqrt(mean_square(updates)))
        return EnsembleState(positions, optimiser), info

    def emit(self, key: RandomKey, state: EnsembleState) -> Position:
        """All members."""
        return state.positions


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ensemble(DescentPlan):
    """A deep ensemble: the best weights from many starts.

    Attributes
    ----------
    chains
        Independent ensembles.
    draws
        Leave it at 1: all members are kept.
    thin
        Leave it at 0: draws do not move.
    iterations
        Steps of the optimiser.
    learning_rate
        Adam's initial step size; it decays to zero.
    members
        The number of members.
    """

    iterations: int = 3000
    members: int = 20

    is_batched: ClassVar[bool] = True
    is_anytime: ClassVar[bool] = True
    caution: ClassVar[str] = (
        "its members are the best weights from several starts, so its spread says how "
        "much starts matter, not how uncertain the data leave the function"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, members=2)

    def bind(self, target: LogDensity) -> EnsembleAlgorithm:
        """The members on this density."""
        optimiser = fading_adam(self.learning_rate, self.iterations)
        return EnsembleAlgorithm(target, self.members, optimiser)
