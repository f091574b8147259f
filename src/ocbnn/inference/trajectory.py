r"""One trajectory of the No-U-Turn sampler, with little cost beside leapfrog steps.

A trajectory doubles, forwards or backwards in time, until it makes a U-turn, diverges
or reaches its maximum length. One of its points is drawn with weight $e^{-H}$, with a
preference for later doublings (Betancourt 2017, "A conceptual introduction to HMC"). A
doubling that turns within itself is discarded, because it would not be reversible.
Whether a segment turns follows from its end points' momenta and the sum of all momenta,
the ends counted by half, as in NumPyro and BlackJAX.

Small networks spend their time on launching operations, not on computing them. So the
innermost loop only takes leapfrog steps, and all other computations of NUTS are done
for a block of points at once. A block is completed even after a turn inside it: this
wastes a few steps and does not change the distribution of draws.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from ocbnn.core.ravel import Vector
from ocbnn.core.types import RandomKey
from ocbnn.inference.adaptation import Tuning, choose
from ocbnn.inference.hmc import DIVERGENCE
from ocbnn.inference.mcmc import Phase, rest_at

# Leapfrog steps in a block; a power of two.
BLOCK = 8


class Point(NamedTuple):
    """A point of a trajectory."""

    phase: Phase
    momentum: Vector


class Marks(NamedTuple):
    """The beginnings of segments that are still open, one for each length."""

    momentum: Float[Array, "levels weights"]
    sum_before: Float[Array, "levels weights"]


class Branch(NamedTuple):
    """The new half of a trajectory, as it grows block by block."""

    blocks: Int[Array, ""]
    end: Point
    proposal: Phase
    log_weight: Float[Array, ""]
    momenta: Vector  # their sum
    accepted: Float[Array, ""]
    steps: Int[Array, ""]
    turned: Bool[Array, ""]
    diverged: Bool[Array, ""]
    marks: Marks


class Trajectory(NamedTuple):
    """A trajectory, between two doublings."""

    depth: Int[Array, ""]
    first: Point
    last: Point
    proposal: Phase
    log_weight: Float[Array, ""]
    momenta: Vector
    accepted: Float[Array, ""]
    steps: Int[Array, ""]
    turned: Bool[Array, ""]
    diverged: Bool[Array, ""]


class RandomNumbers(NamedTuple):
    """All random numbers of one trajectory: drawing them in one call is faster."""

    noise: Vector
    directions: Float[Array, " depths"]
    doublings: Float[Array, " depths"]
    blocks: Float[Array, " blocks"]


class Dynamics(NamedTuple):
    """The quantities that are constant along a trajectory."""

    logdensity: Callable[[Vector], Array]
    inverse_mass: Vector
    energy: Float[Array, ""]


def move(
    key: RandomKey,
    start: Phase,
    logdensity: Callable[[Vector], Array],
    tuning: Tuning,
    *,
    depth: Int[Array, ""],
    max_depth: int,
) -> tuple[Phase, Array, Array, Array, Array]:
    """Draw a point of a trajectory through `start` that doubles at most `depth` times.

    Random numbers are drawn for `max_depth` doublings, whatever the depth. Returns the
    point, the mean acceptance, whether the trajectory diverged, its initial energy, and
    its number of steps, up to the divergence if there was one.
    """
    random = _random_numbers(key, start.position, max_depth)
    momentum = random.noise / jnp.sqrt(tuning.inverse_mass)
    kinetic = 0.5 * jnp.sum(tuning.inverse_mass * momentum**2)
    dynamics = Dynamics(logdensity, tuning.inverse_mass, kinetic - start.logdensity)
    point, zero = Point(start, momentum), jnp.zeros_like(start.logdensity)
    none, no = jnp.zeros((), jnp.int32), jnp.zeros((), bool)
    initial = Trajectory(none, point, point, start, zero, momentum, zero, none, no, no)

    def continues(trajectory: Trajectory) -> Array:
        is_short = trajectory.depth < depth
        return is_short & ~trajectory.turned & ~trajectory.diverged

    step = partial(_double, dynamics, random, tuning.step_size)
    final = jax.lax.while_loop(continues, step, initial)
    mean = final.accepted / final.steps.astype(zero.dtype)
    return final.proposal, mean, final.diverged, dynamics.energy, final.steps


def _random_numbers(key: RandomKey, like: Vector, max_depth: int) -> RandomNumbers:
    key_noise, key_shares = jax.random.split(key)
    blocks = max(1, 2**max_depth // BLOCK) + max_depth
    shares = jax.random.uniform(key_shares, (2 * max_depth + blocks,), like.dtype)
    directions, doublings, by_block = jnp.split(shares, [max_depth, 2 * max_depth])
    noise = jax.random.normal(key_noise, like.shape, like.dtype)
    return RandomNumbers(noise, directions, doublings, by_block)


def _double(
    dynamics: Dynamics,
    random: RandomNumbers,
    step_size: Float[Array, ""],
    trajectory: Trajectory,
) -> Trajectory:
    """Double a trajectory, forwards or backwards in time."""
    forwards = random.directions[trajectory.depth] < 0.5
    edge = choose(forwards, trajectory.last, trajectory.first)
    signed = jnp.where(forwards, step_size, -step_size)
    branch = grow(dynamics, random, signed, edge, trajectory.depth)
    # Preferring the new half moves further, and preserves the density.
    share = jnp.exp(branch.log_weight - trajectory.log_weight)
    is_valid = ~branch.turned & ~branch.diverged
    takes = is_valid & (random.doublings[trajectory.depth] < share)
    first = choose(forwards, trajectory.first, branch.end)
    last = choose(forwards, branch.end, trajectory.last)
    momenta = trajectory.momenta + branch.momenta
    ends = (first.momentum, last.momentum)
    return Trajectory(
        trajectory.depth + 1,
        first,
        last,
        choose(takes, branch.proposal, trajectory.proposal),
        jnp.logaddexp(trajectory.log_weight, branch.log_weight),
        momenta,
        trajectory.accepted + branch.accepted,
        trajectory.steps + branch.steps,
        branch.turned | turns(dynamics, *ends, momenta),
        branch.diverged,
    )


def turns(dynamics: Dynamics, first: Array, last: Array, momenta: Array) -> Array:
    """Whether a segment makes a U-turn: one end no longer moves away from the other."""
    between = dynamics.inverse_mass * (momenta - 0.5 * (first + last))
    turns_at = lambda end: jnp.sum(end * between, axis=-1) <= 0.0
    return turns_at(first) | turns_at(last)


def grow(
    dynamics: Dynamics,
    random: RandomNumbers,
    step_size: Float[Array, ""],
    edge: Point,
    depth: Int[Array, ""],
) -> Branch:
    """A branch of `2 ** depth` points, or fewer if it turns or diverges."""
    size = jnp.left_shift(1, depth)
    count = jnp.minimum(size, BLOCK)
    # After the numbers of all shorter branches, so that each number is used once.
    offset = depth + (size - 1) // BLOCK

    def continues(branch: Branch) -> Array:
        is_long = branch.blocks * BLOCK >= size
        return ~(is_long | branch.turned | branch.diverged)

    def lengthen(branch: Branch) -> Branch:
        end, points = _leapfrog_steps(dynamics, step_size, branch.end, count)
        share = random.blocks[offset + branch.blocks]
        return _add_block(dynamics, branch, end, points, count, share)

    levels = max(1, random.directions.size - BLOCK.bit_length())
    return jax.lax.while_loop(continues, lengthen, _empty_branch(edge, levels))


def _empty_branch(edge: Point, levels: int) -> Branch:
    """A branch without points."""
    zero, nothing = jnp.zeros_like(edge.phase.logdensity), jnp.zeros_like(edge.momentum)
    none, no = jnp.zeros((), jnp.int32), jnp.zeros((), bool)
    marks = jnp.zeros((levels, *nothing.shape), nothing.dtype)
    return Branch(
        blocks=none,
        end=edge,
        proposal=edge.phase,
        log_weight=zero - jnp.inf,
        momenta=nothing,
        accepted=zero,
        steps=none,
        turned=no,
        diverged=no,
        marks=Marks(marks, marks),
    )


def _leapfrog_steps(
    dynamics: Dynamics, step_size: Float[Array, ""], start: Point, count: Int[Array, ""]
) -> tuple[Point, Point]:
    """The point after some leapfrog steps, and all points on the way."""
    # Each point is one row, so that it is written by one operation instead of four.
    row, unravel = ravel_pytree(start)

    def leapfrog(index: Array, carry: tuple[Point, Array]) -> tuple[Point, Array]:
        (phase, momentum), rows = carry
        half = momentum + 0.5 * step_size * phase.gradient
        position = phase.position + step_size * dynamics.inverse_mass * half
        phase = rest_at(position, dynamics.logdensity)
        point = Point(phase, half + 0.5 * step_size * phase.gradient)
        return point, _put(rows, ravel_pytree(point)[0], index)

    rows = jnp.zeros((BLOCK, *row.shape), row.dtype)
    end, rows = jax.lax.fori_loop(0, count, leapfrog, (start, rows))
    return end, jax.vmap(unravel)(rows)


def _put(rows: Array, row: Array, index: Array) -> Array:
    return jax.lax.dynamic_update_index_in_dim(rows, row, index, 0)


def _add_block(
    dynamics: Dynamics,
    branch: Branch,
    end: Point,
    points: Point,
    count: Int[Array, ""],
    share: Float[Array, ""],
) -> Branch:
    """Add a block's points to its branch."""
    # All products of two momenta, from which the energies and turns follow.
    exact = jax.lax.Precision.HIGHEST
    scaled = points.momentum * dynamics.inverse_mass[None]
    products = jnp.matmul(scaled, points.momentum.T, precision=exact)
    numbers = jnp.arange(BLOCK, dtype=count.dtype)
    gained = dynamics.energy + points.phase.logdensity - 0.5 * jnp.diagonal(products)
    # Outside of the support, or of floating-point range: an impossible point.
    gained = jnp.where((numbers < count) & ~jnp.isnan(gained), gained, -jnp.inf)
    diverged = (numbers < count) & (gained < -DIVERGENCE)
    steps = jnp.min(jnp.where(diverged, numbers + 1, count))
    accepted = jnp.where(numbers < steps, jnp.exp(jnp.minimum(gained, 0.0)), 0.0)
    index, log_weight = draw(gained, branch.log_weight, share)
    new = jax.tree.map(lambda a: jnp.take(a, index, 0, mode="clip"), points.phase)
    momenta = branch.momenta + jnp.sum(points.momentum, axis=0)
    marks = _mark(branch, points.momentum[0])
    turned = _turns_within(products, count)
    return Branch(
        branch.blocks + 1,
        end,
        choose(index < BLOCK, new, branch.proposal),
        log_weight,
        momenta,
        branch.accepted + jnp.sum(accepted),
        branch.steps + steps,
        turned | _turns_since(dynamics, marks, branch.blocks, end.momentum, momenta),
        jnp.any(diverged),
        marks,
    )


def draw(
    gained: Float[Array, " block"], earlier: Float[Array, ""], share: Float[Array, ""]
) -> tuple[Int[Array, ""], Float[Array, ""]]:
    """Draw one of a block's points by weight, or none to keep an earlier point."""
    top = jnp.maximum(jnp.max(gained), earlier)
    top = jnp.where(jnp.isfinite(top), top, 0.0)
    weights = jnp.exp(gained - top)
    cumulative = jnp.sum(jnp.tril(jnp.broadcast_to(weights, (BLOCK, BLOCK))), axis=1)
    total = cumulative[-1] + jnp.exp(earlier - top)
    return jnp.sum(cumulative <= share * total), top + jnp.log(total)


def _segments() -> tuple[np.ndarray, np.ndarray]:
    """Weights of momentum products for the turn test at both ends of every segment.

    Segments are halves, quarters and so on of a block. Also returns the last index of
    each segment.
    """
    tables, ends = [], []
    for length in 2 ** np.arange(1, BLOCK.bit_length()):
        for first in range(0, BLOCK, length):
            last = first + length - 1
            for end in (first, last):
                table = np.zeros((BLOCK, BLOCK))
                table[end, first : last + 1] = 1.0
                table[end, [first, last]] = 0.5
                tables.append(table)
                ends.append(last)
    return np.stack(tables), np.array(ends, np.int32)


def _turns_within(
    products: Float[Array, "block block"], count: Int[Array, ""]
) -> Bool[Array, ""]:
    tables, ends = _segments()
    tables = jnp.asarray(tables, products.dtype)
    is_turned = jnp.sum(tables * products[None], axis=(1, 2)) <= 0.0
    return jnp.any(is_turned & (jnp.asarray(ends) < count))


def _mark(branch: Branch, momentum: Vector) -> Marks:
    """Record the beginning of a segment of blocks, which is at every other block."""
    level = jax.lax.population_count(branch.blocks >> 1)
    begins = branch.blocks % 2 == 0

    def write(rows: Array, row: Array) -> Array:
        return _put(rows, jnp.where(begins, row, rows[level]), level)

    marks = branch.marks
    return Marks(
        write(marks.momentum, momentum), write(marks.sum_before, branch.momenta)
    )


def _turns_since(
    dynamics: Dynamics,
    marks: Marks,
    block: Int[Array, ""],
    last: Vector,
    momenta: Vector,
) -> Bool[Array, ""]:
    """Whether one of the segments that end with this block turns.

    Blocks are numbered from zero: the number of trailing ones in binary is the number
    of segments that end there.
    """
    level = jax.lax.population_count(block >> 1)
    closed_count = jax.lax.population_count(block & ~(block + 1))
    levels = jnp.arange(len(marks.momentum), dtype=block.dtype)
    is_closed = (levels <= level) & (levels > level - closed_count)
    between = momenta[None] - marks.sum_before
    inverse_mass = dynamics.inverse_mass[None]
    is_turned = turns(
        dynamics._replace(inverse_mass=inverse_mass),
        marks.momentum,
        last[None],
        between,
    )
    return jnp.any(is_closed & is_turned)
