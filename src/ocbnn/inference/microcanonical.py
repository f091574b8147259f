r"""Microcanonical Langevin Monte Carlo: constant speed, small steps, no rejections.

The momentum has a fixed length and only turns, so the chain crosses flat and steep
parts of the density equally fast. `MCLMC` follows the dynamics without correction: it
is the cheapest way to draw from a wide network's posterior, and biased by its step
size. `AdjustedMCLMC` accepts or rejects whole trajectories, and is exact. The
integrator and both kernels are BlackJAX's; learning the step size and the scales, one
move at a time, is ours. References: Robnik, De Luca, Silverstein and Seljak (2023);
Robnik, Cohn-Gordon and Seljak (2025).
"""

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ocbnn.core.promotion import third_party
from ocbnn.core.ravel import Vector
from ocbnn.core.types import Position, RandomKey
from ocbnn.inference.adaptation import (
    FAST,
    WINDOW_END,
    Moments,
    Tuning,
    add_moment,
    choose,
    no_moments,
    schedule,
    variances,
)
from ocbnn.inference.base import (
    LogDensity,
    Plan,
    StartedAlgorithm,
    check_counts,
    check_positive,
)
from ocbnn.inference.flat import Flat
from ocbnn.inference.mcmc import (
    HamiltonianChain,
    HamiltonianPlan,
    Phase,
    climb,
    rest_at,
)

# The number of past moves that the estimate of the best step size averages over, and
# how far from it (in powers of e, per power of the step) a move may be and still count.
_LOOK_BACK, _TRUST = 150.0, 1.5
# A move whose squared energy error is this many times the target is refused: its
# integration failed.
_REFUSED = 1000.0


class StepSizeTuning(NamedTuple):
    """The warm-up's estimate of the best step size, in units of `unit`."""

    unit: Float[Array, ""]
    error: Float[Array, ""]  # weighted sum of (energy error / wanted) / step^6
    weight: Float[Array, ""]
    most: Float[Array, ""]  # the step size above which the density became NaN
    moments: Moments


class MicrocanonicalState(NamedTuple):
    """The chain's position, momentum and tuning."""

    phase: Phase
    momentum: Vector
    tuning: Tuning
    learned: StepSizeTuning


class MicrocanonicalInfo(NamedTuple):
    """Numbers about one move."""

    logdensity: Float[Array, ""]
    energy_error: Float[Array, ""]  # squared, per dimension
    lost: Bool[Array, ""]  # the density was not a number there
    divergent: Bool[Array, ""]  # the move was refused
    step_size: Float[Array, ""]


class MicrocanonicalChain(StartedAlgorithm):
    """One chain without correction, tuned to a target energy error."""

    density: Flat
    step_size: Float[Array, ""]
    stages: Int[Array, " warmup"]
    wanted_error: float
    turn: float
    climb: Int[Array, ""]

    def init(self, key: RandomKey) -> MicrocanonicalState:
        """Start at a position from the target, and climb first."""
        key_start, key_heading = jax.random.split(key)
        start = self.density.initial(key_start)
        return self._from(key_heading, climb(self.density, start, self.climb))

    def init_at(self, key: RandomKey, position: Position) -> MicrocanonicalState:
        """Start at a given position."""
        vector = self.density.ravel(position)
        return self._from(key, rest_at(vector, self.density.logdensity))

    def _from(self, key: RandomKey, phase: Phase) -> MicrocanonicalState:
        position = phase.position
        with third_party():
            heading = _mclmc().generate_unit_vector(key, position)
        tuning = Tuning(
            self.step_size.astype(position.dtype) * position.size**0.5,
            jnp.ones_like(position),
        )
        learned = _forget(tuning.step_size, no_moments(position))
        return MicrocanonicalState(phase, heading, tuning, learned)

    def step(
        self, key: RandomKey, state: MicrocanonicalState
    ) -> tuple[MicrocanonicalState, MicrocanonicalInfo]:
        """One step of the integrator, and one small random turn."""
        phase, size = state.phase, state.phase.position.size
        with third_party():
            new, kernel_info = _free_kernel()(
                key,
                _mclmc().IntegratorState(
                    phase.position, state.momentum, phase.logdensity, phase.gradient
                ),
                self.density.logdensity,
                inverse_mass_matrix=state.tuning.inverse_mass,
                # In units of the posterior's width, the direction decorrelates over
                # the square root of the dimension.
                L=self.turn * size**0.5,
                step_size=state.tuning.step_size,
            )
        error = kernel_info.energy_change**2 / size
        lost = ~jnp.asarray(kernel_info.nonans)
        refused = lost | (error > _REFUSED * self.wanted_error)
        moved = Phase(new.position, new.logdensity, new.logdensity_grad)
        moved = choose(refused, phase, moved)
        # After a refused move, the chain stays and takes a random direction.
        direction = jax.random.normal(
            jax.random.fold_in(key, 1), (size,), moved.position.dtype
        )
        direction = direction / jnp.linalg.norm(direction)
        momentum = jnp.where(refused, direction, new.momentum)
        info = MicrocanonicalInfo(
            moved.logdensity, error, lost, refused, state.tuning.step_size
        )
        return state._replace(phase=moved, momentum=momentum), info

    def warmup(
        self, key: RandomKey, state: MicrocanonicalState, index: Int[Array, ""]
    ) -> tuple[MicrocanonicalState, MicrocanonicalInfo]:
        """One step, and one adaptation step."""
        state, info = self.step(key, state)
        stage = self.stages[index]
        learned = _learn(state.learned, info, self.wanted_error)
        moments = add_moment(learned.moments, state.phase.position)
        learned = learned._replace(
            moments=choose(stage == FAST, learned.moments, moments)
        )
        step_size = _best_step(learned)
        # With new scales, the step size must be learned again.
        ends = stage == WINDOW_END
        scales = jnp.where(ends, variances(learned.moments), state.tuning.inverse_mass)
        fresh = _forget(step_size, no_moments(state.phase.position))
        learned = choose(ends, fresh, learned)
        return state._replace(tuning=Tuning(step_size, scales), learned=learned), info

    def emit(self, key: RandomKey, state: MicrocanonicalState) -> Position:
        """The chain's one position."""
        return self.density.emit(key, state.phase.position)


def _forget(step_size: Float[Array, ""], moments: Moments) -> StepSizeTuning:
    zero = jnp.zeros_like(step_size)
    return StepSizeTuning(
        step_size, zero, zero, jnp.full_like(step_size, jnp.inf), moments
    )


def _learn(
    learned: StepSizeTuning, info: MicrocanonicalInfo, target: float
) -> StepSizeTuning:
    """Update the estimate of the best step; energy errors grow like its sixth power."""
    decay = (_LOOK_BACK - 1.0) / (_LOOK_BACK + 1.0)
    ratio = jnp.clip(info.energy_error / target + 1e-8, 1e-8, 1e8)
    weight = jnp.exp(-0.5 * (jnp.log(ratio) / (6.0 * _TRUST)) ** 2)
    weight = jnp.where(info.lost, 0.0, weight)
    relative = jnp.clip(info.step_size / learned.unit, 1e-3, 1e3)
    return learned._replace(
        error=decay * learned.error + weight * ratio / relative**6,
        weight=decay * learned.weight + weight,
        most=jnp.where(
            info.lost,
            jnp.minimum(learned.most, 0.8 * info.step_size),
            learned.most,
        ),
    )


def _best_step(learned: StepSizeTuning) -> Float[Array, ""]:
    has_estimate = learned.weight > 0
    mean = jnp.where(
        has_estimate, learned.error / jnp.where(has_estimate, learned.weight, 1.0), 1.0
    )
    step = learned.unit * jnp.maximum(mean, 1e-30) ** (-1.0 / 6.0)
    return jnp.minimum(step, learned.most)


@cache
def _mclmc() -> Any:
    from blackjax.mcmc import mclmc  # noqa: PLC0415

    return mclmc


@cache
def _free_kernel() -> Callable[..., tuple]:
    return _mclmc().build_kernel()


@cache
def _corrected_kernel(turn: float, max_steps: int) -> Callable[..., tuple]:
    from blackjax.mcmc import adjusted_mclmc  # noqa: PLC0415
    from blackjax.mcmc.hmc import HMCState  # noqa: PLC0415

    trajectory: Any = adjusted_mclmc.build_kernel()

    def move(
        key: RandomKey,
        start: Phase,
        logdensity: Callable[[Vector], Array],
        tuning: Tuning,
        *,
        is_early: Array,
    ) -> tuple:
        key_length, key_move = jax.random.split(key)
        # A random length up to twice the mean, which avoids periodic orbits.
        mean = turn * start.position.size**0.5 / tuning.step_size
        share = jax.random.uniform(key_length, (), mean.dtype)
        steps = jnp.ceil(2.0 * mean * share).astype(jnp.int32)
        steps = jnp.clip(steps, 1, max_steps)
        with third_party():
            state, info = trajectory(
                key_move,
                HMCState(*start),  # pyright: ignore[reportArgumentType]
                logdensity,
                tuning.step_size,
                (steps,),
                inverse_mass_matrix=tuning.inverse_mass,
            )
        acceptance = jnp.nan_to_num(jnp.asarray(info.acceptance_rate))
        energy = -start.logdensity
        return Phase(*state), acceptance, jnp.asarray(info.is_divergent), energy, steps

    return move


@dataclasses.dataclass(frozen=True, kw_only=True)
class MCLMC(Plan):
    """Microcanonical Langevin Monte Carlo, uncorrected: cheap, and nearly exact.

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
    wanted_error
        The squared energy error per weight and step that the step size is
        tuned to. It bounds the bias: with the default, variances are off by a
        few percent at most. Halving it makes steps 12 % shorter.
    turn
        How far the chain moves before its direction decorrelates, in widths of the
        posterior.
    step_size
        Initial step size, in widths of the posterior.
    climb
        Gradient steps uphill before the first move.
    """

    warmup: int = 3000
    thin: int = 10
    wanted_error: float = 5e-4
    turn: float = 1.0
    step_size: float = 0.01
    climb: int = 1000

    is_exact: ClassVar[bool] = False
    caution: ClassVar[str] = (
        "its steps are not corrected, so spreads can be off by a few percent"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, warmup=1, thin=1, climb=0)
        check_positive(self, "wanted_error", "turn", "step_size")

    def bind(self, target: LogDensity) -> MicrocanonicalChain:
        """A chain on this density."""
        return MicrocanonicalChain(
            Flat(target),
            jnp.asarray(self.step_size, float),
            jnp.asarray(schedule(self.warmup)),
            self.wanted_error,
            self.turn,
            jnp.asarray(self.climb),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class AdjustedMCLMC(HamiltonianPlan):
    """Microcanonical trajectories that are accepted or rejected, so draws are exact.

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
        Initial length of a step; it is learned during the warm-up.
    target_acceptance
        The acceptance rate that learning aims at. Higher rates take smaller steps;
        raise it when moves diverge.
    climb
        Gradient steps uphill before the first move.
    collapse
        Integrate the last layer's weights out, and draw them given the rest of each
        draw: wherever that has a closed form, which takes normal observations and no
        rules in the density.
    turn
        Mean length of a trajectory, in widths of the posterior.
    max_steps
        The maximum number of integrator steps in a trajectory.
    """

    turn: float = 1.0
    max_steps: int = 1000
    collapse: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "turn")
        check_counts(self, max_steps=1)

    def bind(self, target: LogDensity) -> HamiltonianChain:
        """A chain on this density."""
        kernel = _corrected_kernel(self.turn, self.max_steps)
        return self.chain(target, kernel, adapts=True)
