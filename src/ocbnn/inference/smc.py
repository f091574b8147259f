r"""Tempered sequential Monte Carlo: from the prior to the posterior by small steps.

A population of particles starts as draws from the reference density $p_0$ and follows
$p_0(W)\, r_1(W)^{\lambda_1} r_2(W)^{\lambda_2}$, where $r_1, r_2, \dots$ are what the
target adds, stage by stage: each power grows from 0 to 1 before the next begins. Every
step picks the next power so that the effective sample size of the weights is a fixed
share of the population, resamples, and moves each particle with a few Hamiltonian
trajectories at the new temperature. Separate modes keep their shares,
and the weights' means multiply to an estimate of the evidence. Reference: Del Moral,
Doucet and Jasra (2006).
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
# Trajectory length in standard deviations of the cloud: a quarter of a turn.
_CROSSING = 1.5


class Population(NamedTuple):
    """The particles, how far they have come, and how to move them."""

    positions: Float[Array, "particles dim"]
    temperature: Float[Array, ""]  # stages that are on, the last perhaps in part
    log_evidence: Float[Array, ""]
    step_size: Float[Array, ""]
    polished: Int[Array, ""]  # rounds of moves made at the final temperature


class TemperInfo(NamedTuple):
    """What a person needs to judge one temperature."""

    logdensity: Float[Array, ""]
    temperature: Float[Array, ""]
    acceptance: Float[Array, ""]
    log_evidence: Float[Array, ""]
    step_size: Float[Array, ""]
    survivors: Float[Array, ""]  # share of particles that had offspring


class TemperedPopulation(Algorithm):
    """One population on its way."""

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
        last = parts.shape[1] - 1.0
        stage = jnp.minimum(jnp.floor(state.temperature), last - 1.0)
        added = parts[:, stage.astype(jnp.int32) + 1]
        # A start outside the support has no future; it must not poison the sums.
        added = jnp.where(jnp.isnan(added), -jnp.inf, added)
        gain = next_gain(added, stage + 1.0 - state.temperature, self.keep)
        weights = gain * added
        log_evidence = (
            state.log_evidence
            + jax.nn.logsumexp(weights)
            - jnp.log(float(self.particles))
        )
        was_final = state.temperature >= last
        chosen = systematic(key_resample, jax.nn.softmax(weights))
        chosen = jnp.where(was_final, jnp.arange(self.particles), chosen)
        temperature = jnp.minimum(state.temperature + gain, stage + 1.0)
        near = temperature > stage + 1.0 - 1e-6
        temperature = jnp.where(near, stage + 1.0, temperature)

        positions = state.positions[chosen]
        variance = jnp.var(positions, axis=0)
        positions, step_size, acceptance, value = self._move(
            key_moves, positions, temperature, state.step_size, variance
        )
        final = temperature >= last
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
            temperature / last,
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
        """A few trajectories of every particle; the step size learns between them."""
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
            # A step size that varies between particles breaks cycles, and is drawn
            # without looking at them, so each move still leaves the target alone.
            scale = jax.random.uniform(
                key_scale, (self.particles,), log_step.dtype, 0.5, 1.5
            )
            keys = jax.random.split(key_move, self.particles)
            # Long enough to cross the cloud once, which takes few steps while it is
            # wide and many when it has become thin and bent.
            count = jnp.ceil(_CROSSING / jnp.exp(log_step)).astype(jnp.int32)
            count = jnp.clip(count, 1, self.steps)

            def one(key: RandomKey, phase: Phase, scale: Array) -> tuple:
                tuning = Tuning(scale * jnp.exp(log_step), inverse_mass)
                return move(key, phase, tempered, tuning, steps=count, jitter=False)

            phases, acceptance, *_ = jax.vmap(one)(keys, phases, scale)
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
        """At the posterior, and moved there often enough."""
        return state.polished >= self.polish


def next_gain(
    added: Float[Array, " particles"], most: Float[Array, ""], keep: float
) -> Float[Array, ""]:
    """How far the temperature may rise: until `keep` of the sample size is left."""

    def share(gain: Array) -> Array:
        log_w = jax.nn.log_softmax(gain * added)
        return jnp.exp(-jax.nn.logsumexp(2.0 * log_w)) / added.size

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = 0.5 * (low + high)
        good = share(middle) >= keep
        return jnp.where(good, middle, low), jnp.where(good, high, middle)

    low, _ = jax.lax.fori_loop(0, 40, halve, (jnp.zeros_like(most), most))
    return jnp.where(share(most) >= keep, most, low)


def systematic(
    key: RandomKey, weights: Float[Array, " particles"]
) -> Int[Array, " particles"]:
    """Ancestors by systematic resampling: one random number, evenly spaced."""
    count = weights.size
    start = jax.random.uniform(key, (), weights.dtype)
    places = (jnp.arange(count, dtype=weights.dtype) + start) / count
    return jnp.clip(jnp.searchsorted(jnp.cumsum(weights), places), 0, count - 1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SMC(Plan):
    """Tempered sequential Monte Carlo, for posteriors with several modes.

    Attributes
    ----------
    chains
        Independent populations; their agreement is the check.
    particles
        Draws per population.
    moves
        Trajectories per particle at every temperature.
    steps
        The most leapfrog steps per trajectory.
    keep
        Effective sample size kept by each temperature, as a share.
    polish
        Rounds of moves at the posterior itself.
    warmup
        The most temperatures before giving up.
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
