"""An ensemble first, then a sampler from each of its members.

A sampler that starts at a draw from the prior spends most of its warm-up on the way to
the posterior's mass, and many chains never reach it. Here every chain first climbs like
a member of a deep ensemble, and the sampler continues from there: the strongest known
default for neural networks. Reference: Sommer, Robnik, Nozadze, Seljak and Rügamer
(2025).
"""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from ocbnn.core.promotion import third_party
from ocbnn.core.types import Position, RandomKey, Unchecked
from ocbnn.errors import SettingError
from ocbnn.inference.base import (
    Algorithm,
    LogDensity,
    Plan,
    StartedAlgorithm,
    check_counts,
    check_positive,
)
from ocbnn.inference.microcanonical import MCLMC
from ocbnn.inference.optimisers import Optimiser, fading_adam


class WarmStartState(NamedTuple):
    """One member's position and optimiser, and the sampler's state."""

    position: Position
    optimiser: Any
    sampler: Any


class WarmStartAlgorithm(Algorithm):
    """One chain: climb, then sample."""

    target: LogDensity
    sampler: StartedAlgorithm
    iterations: int = eqx.field(static=True)
    optimiser: Optimiser = eqx.field(static=True)

    def init(self, key: RandomKey) -> WarmStartState:
        """Start at a position from the target."""
        key_start, key_sampler = jax.random.split(key)
        position = self.target.initial(key_start)
        waiting = self.sampler.init_at(key_sampler, position)
        return WarmStartState(position, self.optimiser.init(position), waiting)

    def step(self, key: RandomKey, state: WarmStartState) -> tuple[WarmStartState, Any]:
        """One move of the sampler."""
        sampler, info = self.sampler.step(key, state.sampler)
        return state._replace(sampler=sampler), info

    def warmup(
        self, key: RandomKey, state: WarmStartState, index: Int[Array, ""]
    ) -> tuple[WarmStartState, Any]:
        """One step uphill, or one move of the sampler's own warm-up."""

        def sampling() -> tuple[WarmStartState, Any]:
            later = jnp.maximum(index - self.iterations, 0)
            sampler, info = self.sampler.warmup(key, state.sampler, later)
            return state._replace(sampler=sampler), info

        climbing = lambda: self._climb(key, state, index, jax.eval_shape(sampling)[1])
        return jax.lax.cond(index < self.iterations, climbing, sampling)

    def _climb(
        self, key: RandomKey, state: WarmStartState, index: Int[Array, ""], like: Any
    ) -> tuple[WarmStartState, Any]:
        value, grad = jax.value_and_grad(self.target.logdensity)(state.position)
        with third_party():
            updates, optimiser = self.optimiser.update(
                jax.tree.map(jnp.negative, grad), state.optimiser
            )
        position = jax.tree.map(jnp.add, state.position, updates)
        sampler = jax.lax.cond(
            index == self.iterations - 1,
            lambda: self.sampler.init_at(key, position),
            lambda: state.sampler,
        )
        return WarmStartState(position, optimiser, sampler), _only_logdensity(
            like, value
        )

    def emit(self, key: RandomKey, state: WarmStartState) -> Position:
        """The sampler's position."""
        return self.sampler.emit(key, state.sampler)


def _only_logdensity(like: Any, value: Array) -> Any:
    """The sampler's info for a step of the climb: only `logdensity` is known."""
    unknown = lambda a: (
        jnp.full(a.shape, jnp.nan, a.dtype)
        if jnp.issubdtype(a.dtype, jnp.floating)
        else jnp.zeros(a.shape, a.dtype)
    )
    return jax.tree.map(unknown, like)._replace(logdensity=value)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WarmStart(Plan):
    """A deep ensemble whose members each start a chain of `sampler`.

    Chains, warm-up, draws and thinning are those of the sampler.

    Attributes
    ----------
    sampler
        MCLMC, AdjustedMCLMC, NUTS or HMC, with its settings.
    iterations
        Steps uphill, before the sampler's own warm-up.
    learning_rate
        Adam's initial step size; it decays to zero.

    Raises
    ------
    SettingError
        When a setting lies outside its range, or `sampler` is no plan or another
        `WarmStart`.
    """

    # Not settings of this plan: they follow from the sampler.
    chains: int = dataclasses.field(init=False, repr=False)
    warmup: int = dataclasses.field(init=False, repr=False)
    draws: int = dataclasses.field(init=False, repr=False)
    thin: int = dataclasses.field(init=False, repr=False)
    sampler: Unchecked[Plan] = dataclasses.field(
        default_factory=lambda: MCLMC(chains=8)
    )
    iterations: int = 3000
    learning_rate: float = 0.01

    def __post_init__(self) -> None:
        check_counts(self, iterations=1)
        check_positive(self, "learning_rate")
        if not isinstance(self.sampler, Plan) or isinstance(self.sampler, WarmStart):
            raise SettingError(
                "WarmStart(sampler=...) must be a plan such as MCLMC() or NUTS(), got "
                f"{self.sampler!r}."
            )
        for name in ("chains", "draws", "thin"):
            object.__setattr__(self, name, getattr(self.sampler, name))
        moves = self.iterations + self.sampler.warmup
        object.__setattr__(self, "warmup", moves)
        super().__post_init__()

    @property
    def label(self) -> str:
        """The sampler's name, with its start."""
        return f"{self.sampler.label} from an ensemble"

    @property
    def is_exact(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the sampler is exact."""
        return self.sampler.is_exact

    @property
    def caution(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The caution of the sampler."""
        return self.sampler.caution

    def bind(self, target: LogDensity) -> WarmStartAlgorithm:
        """A chain on this density."""
        algorithm = self.sampler.bind(target)
        if not isinstance(algorithm, StartedAlgorithm):
            raise SettingError(
                f"WarmStart(sampler={self.sampler.label}(...)): this algorithm cannot "
                "be told where to start. Write MCLMC(), AdjustedMCLMC(), NUTS() or "
                "HMC()."
            )
        optimiser = fading_adam(self.learning_rate, self.iterations)
        return WarmStartAlgorithm(target, algorithm, self.iterations, optimiser)
