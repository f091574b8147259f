"""Learning the step size and the scale of each direction during warm-up.

Nesterov's dual averaging steers the step size to a target acceptance rate, over windows
that double in length, as in Hoffman and Gelman (2014) and in Stan's reference manual.

The scale of a direction is the spread of positions divided by that of slopes, after
Seyboldt, Carlson and Carpenter (2026, "Preconditioning Hamiltonian Monte Carlo by
minimizing Fisher divergence"). For a normal density this is the variance, which slopes
estimate sooner; on the paper's first figure a leapfrog step gives 1.4 times as many
effective draws as with the variance of positions (median of six seeds).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ocbnn.core.ravel import Vector
from ocbnn.core.types import Scalar

FAST, SLOW, WINDOW_END, LAST = 0, 1, 2, 3


class Tuning(NamedTuple):
    """Step size and inverse mass of a Hamiltonian kernel."""

    step_size: Float[Array, ""]
    inverse_mass: Vector


class Moments(NamedTuple):
    """Running mean and variance over one window."""

    mean: Vector
    squares: Vector
    seen: Float[Array, ""]


class AdaptationState(NamedTuple):
    """The running averages of adaptation."""

    log_step: Float[Array, ""]
    log_step_average: Float[Array, ""]
    error_average: Float[Array, ""]
    centre: Float[Array, ""]
    moves: Float[Array, ""]
    moments: Moments  # of positions
    slopes: Moments


def start_adaptation(tuning: Tuning) -> AdaptationState:
    """An empty memory around an initial step size."""
    zero = jnp.zeros((), tuning.step_size.dtype)
    log_step = jnp.log(tuning.step_size)
    centre, empty = log_step + jnp.log(10.0), no_moments(tuning.inverse_mass)
    return AdaptationState(log_step, log_step, zero, centre, zero, empty, empty)


def adapt(
    tuning: Tuning,
    memory: AdaptationState,
    position: Vector,
    slope: Vector,
    acceptance: Scalar,
    stage: Int[Array, ""],
    target_acceptance: float,
) -> tuple[Tuning, AdaptationState]:
    """Learn from one move."""
    acceptance = jnp.where(jnp.isnan(acceptance), 0.0, acceptance)
    memory = _average_step(memory, acceptance, target_acceptance)
    learned = memory._replace(
        moments=add_moment(memory.moments, position),
        slopes=add_moment(memory.slopes, slope),
    )
    memory = choose(stage == FAST, memory, learned)

    # Both are shrunk to the same value in short windows, so their ratio is near one.
    inverse_mass = jnp.sqrt(variances(memory.moments) / variances(memory.slopes))
    renewed = start_adaptation(Tuning(jnp.exp(memory.log_step), inverse_mass))
    ends = stage == WINDOW_END
    memory = choose(ends, renewed, memory)
    final = stage == LAST
    log_step = jnp.where(final, memory.log_step_average, memory.log_step)
    return (
        Tuning(jnp.exp(log_step), jnp.where(ends, inverse_mass, tuning.inverse_mass)),
        memory,
    )


def schedule(moves: int) -> Int[np.ndarray, " moves"]:
    """The stage of every move: fast at both ends, slow windows that double between."""
    stages = np.full(moves, FAST, np.int32)
    if moves < 20:
        begin, end, window = moves, 0, 0
    elif moves < 150:
        begin, end = int(0.15 * moves), int(0.1 * moves)
        window = moves - begin - end
    else:
        begin, end, window = 75, 50, 25
    start, stop = begin, moves - end
    while start < stop:
        # A last window that is too short to double again takes all remaining moves.
        finish = start + window if start + 3 * window <= stop else stop
        stages[start:finish] = SLOW
        stages[finish - 1] = WINDOW_END
        start, window = finish, 2 * window
    if moves:
        stages[-1] = LAST
    return stages


def _average_step(
    memory: AdaptationState, acceptance: Scalar, target: float
) -> AdaptationState:
    moves = memory.moves + 1.0
    share = 1.0 / (moves + 10.0)
    error = (1.0 - share) * memory.error_average + share * (target - acceptance)
    log_step = memory.centre - jnp.sqrt(moves) / 0.05 * error
    forget = moves**-0.75
    average = forget * log_step + (1.0 - forget) * memory.log_step_average
    return memory._replace(
        log_step=log_step, log_step_average=average, error_average=error, moves=moves
    )


def no_moments(like: Vector) -> Moments:
    """An empty window."""
    return Moments(
        jnp.zeros_like(like), jnp.zeros_like(like), jnp.zeros((), like.dtype)
    )


def add_moment(moments: Moments, position: Vector) -> Moments:
    """One more position (Welford's recurrence)."""
    count = moments.seen + 1.0
    gap = position - moments.mean
    mean = moments.mean + gap / count
    return Moments(mean, moments.squares + gap * (position - mean), count)


def variances(moments: Moments) -> Vector:
    """The window's variances, shrunk towards a small value in short windows."""
    plain = moments.squares / jnp.maximum(moments.seen - 1.0, 1.0)
    weight = moments.seen / (moments.seen + 5.0)
    return weight * plain + (1.0 - weight) * 1e-3


def choose(condition: Array, yes: Any, no: Any) -> Any:
    """Select one of two pytrees of the same structure."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
