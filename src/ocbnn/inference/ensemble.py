"""Deep ensembles: the best weights from many starts, with rules.

Every member climbs to a maximum of the log density by itself, on batches and fresh
points. Members differ by where they started, which is all the uncertainty there is:
good predictions, and spreads that no theorem stands behind. As a start for a sampler
(`WarmStart`) they are the best known. Reference: Lakshminarayanan, Pritzel and Blundell
(2017).
"""

import dataclasses
from functools import cache
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from ocbnn.core.edges import third_party
from ocbnn.core.types import Position, RandomKey
from ocbnn.inference.base import (
    Algorithm,
    LogDensity,
    Plan,
    batched_initial,
    check_counts,
    check_positive,
)
from ocbnn.inference.trees import mean_square


class Members(NamedTuple):
    """Positions stacked along a first axis, and what the optimiser remembers."""

    positions: Position
    optimiser: Any


class ClimbInfo(NamedTuple):
    """What a person needs to judge one step."""

    logdensity: Float[Array, ""]  # mean over the members
    step: Float[Array, ""]  # root mean square of the move


class Climbers(Algorithm):
    """All members, each on a batch and points of its own."""

    target: LogDensity
    members: int = eqx.field(static=True)
    optimiser: optax.GradientTransformation = eqx.field(static=True)

    def init(self, key: RandomKey) -> Members:
        """Every member starts where the target says."""
        positions = batched_initial(self.target, key, self.members)
        return Members(positions, self.optimiser.init(positions))

    def step(self, key: RandomKey, state: Members) -> tuple[Members, ClimbInfo]:
        """One step uphill of every member."""
        values, grads = jax.vmap(jax.value_and_grad(self.target.stochastic_logdensity))(
            state.positions, jax.random.split(key, self.members)
        )
        descent = jax.tree.map(jnp.negative, grads)
        with third_party():
            updates, optimiser = self.optimiser.update(
                descent, state.optimiser, state.positions
            )
        positions = jax.tree.map(jnp.add, state.positions, updates)
        info = ClimbInfo(jnp.mean(values), jnp.sqrt(mean_square(updates)))
        return Members(positions, optimiser), info

    def emit(self, key: RandomKey, state: Members) -> Position:
        """All members."""
        return state.positions


@cache
def fading_adam(rate: float, iterations: int) -> optax.GradientTransformation:
    """Adam whose steps fade to nothing, so that it ends at rest in spite of batches."""
    # Cached so that equal settings are the same object, and compile once.
    return optax.adam(optax.cosine_decay_schedule(rate, iterations))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ensemble(Plan):
    """A deep ensemble: the best weights from many starts.

    Attributes:
        members: How many.
        iterations: Steps.
        learning_rate: Adam's first step size; it fades to nothing.
    """

    chains: int = 1
    warmup: int = 0
    draws: int = 1
    thin: int = 0
    members: int = 20
    iterations: int = 3000
    learning_rate: float = 0.01

    is_chain: ClassVar[bool] = False
    is_exact: ClassVar[bool] = False
    is_batched: ClassVar[bool] = True
    is_anytime: ClassVar[bool] = True
    caution: ClassVar[str] = (
        "its members are the best weights from several starts, so its spread says how "
        "far starts matter, not how much the data leave open"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "warmup", self.iterations)
        super().__post_init__()
        check_counts(self, members=2, iterations=1)
        check_positive(self, "learning_rate")

    def bind(self, target: LogDensity) -> Climbers:
        """The members on this density."""
        optimiser = fading_adam(self.learning_rate, self.iterations)
        return Climbers(target, self.members, optimiser)
