r"""Tempered sequential Monte Carlo: from the prior to the posterior by small steps.

A population of particles starts as draws from the reference density $p_0$ and follows
$p_0(W)\, r_1(W)^{\lambda_1} r_2(W)^{\lambda_2}$, where $r_1, r_2, \dots$ are the other
factors of the target, one per stage: each power grows from 0 to 1 before the next
begins. Every step chooses the next power so that the effective sample size of the
weights is a fixed share of the population, resamples, and moves each particle with a
few Hamiltonian trajectories at the new temperature. Separate modes keep their shares,
and the product of the weights' means is an estimate of the evidence. Reference: Del
Moral, Doucet and Jasra (2006).
"""

import dataclasses
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ocbnn.core.ravel import Vector
from ocbnn.core.types import Position, RandomKey
from ocbnn.inference.adaptation import Tuning
from ocbnn.inference.base import (
    Algorithm,
    LogDensity,
    Plan,
    check_counts,
    check_positive,
    check_share,
)
from ocbnn.inference.flat import Flat
from ocbnn.inference.hmc import move
from ocbnn.inference.mcmc import Phase, rest_at

_WANTED_ACCEPTANCE = 0.75
# Trajectory length in standard deviations of the particles: a quarter of a period.
_CROSSING = 1.5


class Population(NamedTuple):
    """The particles, their temperature, and the step size of their moves."""

    positions: Float[Array, "particles dim"]
    temperature: Float[Array, ""]  # number of stages switched on, with a fraction
    log_evidence: Float[Array, ""]
    step_size: Float[Array, ""]
    polished: Int[Array, ""]  # rounds of moves made at the final temperature


class TemperInfo(NamedTuple):
    """Numbers about one temperature."""

    logdensity: Float[Array, ""]
    temperature: Float[Array, ""]
    acceptance: Float[Array, ""]
    log_evidence: Float[Array, ""]
    step_size: Float[Array, ""]
    survivors: Float[Array, ""]  # share of particles that had offspring


class TemperedPopulation(Algorithm):
    """One population."""

    density: Flat
    particles: int = eqx.field(static=True)
    moves: int = eqx.field(static=True)
    steps: int = eqx.field(static=True)
    polish: int = eqx.field(static=True)
    keep: float
    step_size: float

    def init(self, key: RandomKey) -> Population:
        """Draws from the reference density."""
        keys = jax.random.split(key, self.particles)
        positions = jax.vmap(self.density.initial)(keys)
        zero = jnp.zeros((), positions.dtype)
        step_size = jnp.asarray(self.step_size, positions.dtype)
        return Population(positions, zero, zero, step_size, jnp.zeros((), jnp.int32))

    def step(self, key: RandomKey, state: Population) -> tuple[Population, TemperInfo]:
        """One temperature: choose it, resample, move."""
        key_resample, key_moves = jax.random.split(key)
        parts = jax.vmap(self.density.stages)(state.positions)
        final_stage = parts.shape[1] - 1.0
        stage = jnp.minimum(jnp.floor(state.temperature), final_stage - 1.0)
        added = parts[:, stage.astype(jnp.int32) + 1]
        # A start outside of the support gets weight zero, or NaN would spread.
        added = jnp.where(jnp.isnan(added), -jnp.inf, added)
        gain = next_gain(added, stage + 1.0 - state.temperature, self.keep)
        weights = gain * added
        log_evidence = (
            state.log_evidence
            + jax.nn.logsumexp(weights)
            - jnp.log(float(self.particles))
        )
        was_final = state.temperature >= final_stage
        chosen = systematic(key_resample, jax.nn.softmax(weights))
        chosen = jnp.where(was_final, jnp.arange(self.particles), chosen)
        temperature = jnp.minimum(state.temperature + gain, stage + 1.0)
        is_at_end = temperature > stage + 1.0 - 1e-6
        temperature = jnp.where(is_at_end, stage + 1.0, temperature)

        positions = state.positions[chosen]
        variance = jnp.var(positions, axis=0)
        positions, step_size, acceptance, value = self._move(
            key_moves, positions, temperature, state.step_size, variance
        )
        final = temperature >= final_stage
        state = Population(
            positions,
            temperature,
            jnp.where(was_final, state.log_evidence, log_evidence),
            step_size,
            state.polished + final.astype(jnp.int32),
        )
        offspring = jnp.zeros(self.particles).at[chosen].set(1.0)
        info = TemperInfo(
            value,
            temperature / final_stage,
            acceptance,
            state.log_evidence,
            step_size,
            jnp.mean(offspring),
        )
        return state, info

    def _move(
        self,
        key: RandomKey,
        positions: Float[Array, "particles dim"],
        temperature: Float[Array, ""],
        step_size: Float[Array, ""],
        variance: Vector,
    ) -> tuple[Array, Array, Array, Array]:
        """A few trajectories of every particle, adapting the step size between them."""
        inverse_mass = jnp.maximum(variance, 1e-8)

        def tempered(position: Vector) -> Array:
            reference, *added = self.density.stages(position)
            begun = jnp.arange(len(added), dtype=temperature.dtype)
            powers = jnp.clip(temperature - begun, 0.0, 1.0)
            return reference + jnp.sum(powers * jnp.stack(added))

        phases = jax.vmap(lambda q: rest_at(q, tempered))(positions)

        def trajectory(carry: tuple, key: RandomKey) -> tuple[tuple, Array]:
            phases, log_step = carry
            key_scale, key_move = jax.random.split(key)
            # Step sizes that vary between particles avoid periodic orbits. They do not
            # depend on the particles, so each move still preserves the target.
            scale = jax.random.uniform(
                key_scale, (self.particles,), log_step.dtype, 0.5, 1.5
            )
            keys = jax.random.split(key_move, self.particles)
            # Long enough to cross the particles' spread once, which takes few steps
            # while it is wide and many when it has become narrow and curved.
            count = jnp.ceil(_CROSSING / jnp.exp(log_step)).astype(jnp.int32)
            count = jnp.clip(count, 1, self.steps)

            def move_one(key: RandomKey, phase: Phase, scale: Array) -> tuple:
                tuning = Tuning(scale * jnp.exp(log_step), inverse_mass)
                return move(key, phase, tempered, tuning, steps=count, jitter=False)

            phases, acceptance, *_ = jax.vmap(move_one)(keys, phases, scale)
            rate = jnp.mean(acceptance)
            return (phases, log_step + (rate - _WANTED_ACCEPTANCE)), rate

        (phases, log_step), rates = jax.lax.scan(
            trajectory,
            (phases, jnp.log(step_size)),
            jax.random.split(key, self.moves),
        )
        value = jnp.mean(phases.logdensity)
        return phases.position, jnp.exp(log_step), jnp.mean(rates), value

    def emit(self, key: RandomKey, state: Population) -> Position:
        """All particles; their weights are equal after resampling."""
        return jax.vmap(self.density.unravel)(state.positions)

    def is_done(self, state: Population) -> Bool[Array, ""]:
        """Whether it is at the posterior and has been polished."""
        return state.polished >= self.polish


def next_gain(
    added: Float[Array, " particles"], limit: Float[Array, ""], keep: float
) -> Float[Array, ""]:
    """How far the temperature may rise so that `keep` of the sample size remains."""

    def share(gain: Array) -> Array:
        log_w = jax.nn.log_softmax(gain * added)
        return jnp.exp(-jax.nn.logsumexp(2.0 * log_w)) / added.size

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = 0.5 * (low + high)
        good = share(middle) >= keep
        return jnp.where(good, middle, low), jnp.where(good, high, middle)

    low, _ = jax.lax.fori_loop(0, 40, halve, (jnp.zeros_like(limit), limit))
    return jnp.where(share(limit) >= keep, limit, low)


def systematic(
    key: RandomKey, weights: Float[Array, " particles"]
) -> Int[Array, " particles"]:
    """Ancestors by systematic resampling: one random number, evenly spaced."""
    count = weights.size
    start = jax.random.uniform(key, (), weights.dtype)
    points = (jnp.arange(count, dtype=weights.dtype) + start) / count
    return jnp.clip(jnp.searchsorted(jnp.cumsum(weights), points), 0, count - 1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SMC(Plan):
    """Tempered sequential Monte Carlo, for posteriors with several modes.

    Attributes
    ----------
    chains
        Independent populations, which are compared with each other.
    warmup
        The maximum number of temperatures.
    draws
        Leave it at 1: all particles are kept.
    thin
        Leave it at 0: draws do not move.
    particles
        Draws per population.
    moves
        Trajectories per particle at every temperature.
    steps
        The maximum number of leapfrog steps per trajectory.
    keep
        The share of the effective sample size that each temperature step keeps.
    polish
        Rounds of moves at the posterior itself.
    step_size
        Initial length of a leapfrog step; it is learned on the way.
    """

    chains: int = 2
    warmup: int = 500
    draws: int = 1
    thin: int = 0
    particles: int = 1000
    moves: int = 4
    steps: int = 200
    keep: float = 0.7
    polish: int = 5
    step_size: float = 0.1

    is_chain: ClassVar[bool] = False
    is_counted: ClassVar[bool] = False
    is_anytime: ClassVar[bool] = True

    @property
    def width(self) -> int:
        """All particles move together."""
        return self.particles

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, particles=2, moves=1, steps=1, polish=1, warmup=1)
        check_positive(self, "step_size")
        check_share(self, "keep")

    def bind(self, target: LogDensity) -> TemperedPopulation:
        """One population on this density."""
        return TemperedPopulation(
            Flat(target),
            self.particles,
            self.moves,
            self.steps,
            self.polish,
            self.keep,
            self.step_size,
        )
