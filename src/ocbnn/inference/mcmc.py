"""Markov chains with a Hamiltonian kernel: the common part of HMC and NUTS."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ocbnn.core.promotion import third_party
from ocbnn.core.ravel import Vector
from ocbnn.core.types import Position, RandomKey
from ocbnn.inference.adaptation import (
    AdaptationState,
    Tuning,
    adapt,
    schedule,
    start_adaptation,
)
from ocbnn.inference.base import (
    LogDensity,
    Plan,
    StartedAlgorithm,
    check_counts,
    check_positive,
    check_share,
)
from ocbnn.inference.flat import Flat, collapsed
from ocbnn.inference.optimisers import adam

_CLIMB_RATE = 0.02


class Phase(NamedTuple):
    """A point of phase space at rest: what a kernel needs to start a trajectory."""

    position: Vector
    logdensity: Float[Array, ""]
    gradient: Vector


class MoveInfo(NamedTuple):
    """Numbers about one move."""

    logdensity: Float[Array, ""]
    acceptance: Float[Array, ""]
    divergent: Bool[Array, ""]
    energy: Float[Array, ""]
    steps: Int[Array, ""]
    step_size: Float[Array, ""]


# (key, phase, log density, tuning, is_early=...) -> (phase, acceptance, divergent,
# energy, steps); `is_early` is true in the first part of the warm-up.
Kernel = Callable[..., tuple]


class ChainState(NamedTuple):
    """The chain's position, its tuning, and the state of adaptation."""

    phase: Phase
    tuning: Tuning
    memory: AdaptationState


class HamiltonianChain(StartedAlgorithm):
    """One chain of a Hamiltonian kernel, tuned during warm-up if asked."""

    density: Flat
    kernel: Kernel = eqx.field(static=True)
    step_size: Float[Array, ""]
    stages: Int[Array, " warmup"]
    adapts: bool = eqx.field(static=True)
    climb: int = eqx.field(static=True)
    target_acceptance: float

    def __init__(
        self,
        target: LogDensity,
        kernel: Kernel,
        *,
        step_size: float,
        warmup: int,
        adapts: bool,
        climb: int,
        target_acceptance: float,
        collapse: bool = False,
    ) -> None:
        self.density = Flat(collapsed(target) if collapse else target)
        self.kernel = kernel
        self.step_size = jnp.asarray(step_size, float)
        self.stages = jnp.asarray(schedule(warmup))
        self.adapts = adapts
        self.climb = climb
        self.target_acceptance = target_acceptance

    def init(self, key: RandomKey) -> ChainState:
        """Start at a position from the target, and climb first.

        A trajectory that starts where a rule is violated gathers so much speed that it
        diverges and every move is rejected. Climbing first avoids that.
        """
        start = self.density.initial(key)
        return self._from(climb(self.density, start, self.climb))

    def init_at(self, key: RandomKey, position: Position) -> ChainState:
        """Start at a given position."""
        vector = self.density.ravel(position)
        return self._from(rest_at(vector, self.density.logdensity))

    def _from(self, phase: Phase) -> ChainState:
        step_size = self.step_size.astype(phase.position.dtype)
        tuning = Tuning(step_size, jnp.ones_like(phase.position))
        return ChainState(phase, tuning, start_adaptation(tuning))

    def step(self, key: RandomKey, state: ChainState) -> tuple[ChainState, MoveInfo]:
        """One trajectory."""
        return self._move(key, state, jnp.zeros((), bool))

    def _move(
        self, key: RandomKey, state: ChainState, is_early: Bool[Array, ""]
    ) -> tuple[ChainState, MoveInfo]:
        phase, acceptance, divergent, energy, steps = self.kernel(
            key, state.phase, self.density.logdensity, state.tuning, is_early=is_early
        )
        info = MoveInfo(
            phase.logdensity,
            acceptance,
            divergent,
            energy,
            steps,
            state.tuning.step_size,
        )
        return state._replace(phase=phase), info

    def warmup(
        self, key: RandomKey, state: ChainState, index: Int[Array, ""]
    ) -> tuple[ChainState, MoveInfo]:
        """One trajectory, and one adaptation step."""
        is_early = 3 * index < self.stages.size
        state, info = self._move(key, state, is_early)
        if not self.adapts:
            return state, info
        tuning, memory = adapt(
            state.tuning,
            state.memory,
            state.phase.position,
            state.phase.gradient,
            info.acceptance,
            self.stages[index],
            self.target_acceptance,
        )
        return ChainState(state.phase, tuning, memory), info

    def emit(self, key: RandomKey, state: ChainState) -> Position:
        """The chain's one position."""
        return self.density.emit(key, state.phase.position)


@dataclasses.dataclass(frozen=True, kw_only=True)
class HamiltonianPlan(Plan):
    """The common settings of HMC and NUTS.

    Attributes
    ----------
    step_size
        Length of a leapfrog step, or its initial value if it is learned.
    target_acceptance
        The acceptance rate that learning aims at. Higher rates take smaller
        steps; raise it when moves diverge.
    climb
        Gradient steps uphill before the first move.
    collapse
        Integrate the last layer's weights out, and draw them given the rest of each
        draw: wherever that has a closed form, which takes normal observations and no
        rules in the density.
    """

    step_size: float = 0.01
    target_acceptance: float = 0.9
    climb: int = 1000
    collapse: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, thin=1, climb=0)
        check_positive(self, "step_size")
        check_share(self, "target_acceptance")

    def chain(
        self, target: LogDensity, kernel: Kernel, *, adapts: bool
    ) -> HamiltonianChain:
        """A chain of a kernel with these settings.

        Parameters
        ----------
        target
            The log density.
        kernel
            One trajectory from a state.
        adapts
            Whether step size and scales are learned during the warm-up.
        """
        return HamiltonianChain(
            target,
            kernel,
            step_size=self.step_size,
            warmup=self.warmup,
            adapts=adapts,
            climb=self.climb,
            target_acceptance=self.target_acceptance,
            collapse=self.collapse,
        )


def climb(density: Flat, start: Vector, steps: int | Array) -> Phase:
    """The best position on a path of `steps` gradient steps (Adam) from `start`."""
    optimiser = adam(_CLIMB_RATE)

    def step(index: Array, carry: tuple) -> tuple:
        position, state, best = carry
        phase = rest_at(position, density.logdensity)
        higher = (index == 0) | (phase.logdensity > best.logdensity)
        best = jax.tree.map(lambda a, b: jnp.where(higher, a, b), phase, best)
        with third_party():
            updates, state = optimiser.update(-phase.gradient, state)
        return position + updates, state, best

    # The start is evaluated inside the loop, because every gradient in the code is
    # compiled separately, and compiling takes longer than climbing.
    nowhere = Phase(start, jnp.zeros((), start.dtype), jnp.zeros_like(start))
    carry = (start, optimiser.init(start), nowhere)
    return jax.lax.fori_loop(0, jnp.maximum(steps, 1), step, carry)[2]


@eqx.filter_jit
def climbed(target: LogDensity, starts: Position, steps: Int[Array, ""]) -> Position:
    """Stacked positions, each moved to the best position of its climb.

    For chains that continue under another density, whose rules they may violate.
    """
    density = Flat(target)

    def climb_one(position: Position) -> Position:
        phase = climb(density, density.ravel(position), steps)
        return density.unravel(phase.position)

    return jax.vmap(climb_one)(starts)


def rest_at(position: Vector, logdensity: Callable[[Vector], Any]) -> Phase:
    """Evaluate the density and its gradient at a position, once for all moves."""
    return Phase(position, *jax.value_and_grad(logdensity)(position))
