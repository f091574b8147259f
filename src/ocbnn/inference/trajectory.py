r"""One trajectory of the No-U-Turn sampler: little besides its leapfrog steps.

A trajectory doubles, forwards or backwards in time, until it turns back, diverges or is
as long as it may be. A point of it is drawn by its weight $e^{-H}$, later doublings
being preferred (Betancourt 2017, "A conceptual introduction to HMC"); a doubling that
turns within itself is thrown away, or the way back would not be as likely. Whether a
stretch turns is asked of its ends and of the sum of momenta between them, the ends
counted by half, as NumPyro and BlackJAX do.

Small networks spend their time on starting operations, not on doing them. So the
innermost loop only takes leapfrog steps, and what else NUTS asks of every point is
asked of a block of them at once. A block may be finished after a turn inside it was
found: a few steps for nothing, and the same law of draws.
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

# Leapfrog steps between one look at them and the next; a power of two.
BLOCK = 8


class Point(NamedTuple):
    """A point of a trajectory."""

    phase: Phase
    momentum: Vector


class Marks(NamedTuple):
    """Where the stretches begin that are still to be closed, one of each length."""

    momentum: Float[Array, "levels weights"]
    sum_before: Float[Array, "levels weights"]


class Branch(NamedTuple):
    """The newer half of a trajectory, as it grows block by block."""

    blocks: Int[Array, ""]
    end: Point
    drawn: Phase
    log_weight: Float[Array, ""]
    momenta: Vector  # their sum
    accepted: Float[Array, ""]
    steps: Int[Array, ""]
    turned: Bool[Array, ""]
    diverged: Bool[Array, ""]
    marks: Marks


class Trajectory(NamedTuple):
    """A whole trajectory, between two doublings."""

    depth: Int[Array, ""]
    first: Point
    last: Point
    drawn: Phase
    log_weight: Float[Array, ""]
    momenta: Vector
    accepted: Float[Array, ""]
    steps: Int[Array, ""]
    turned: Bool[Array, ""]
    diverged: Bool[Array, ""]


class RandomNumbers(NamedTuple):
    """All random numbers of one trajectory: one hash of many is cheaper than many."""

    noise: Vector
    ways: Float[Array, " depths"]
    doublings: Float[Array, " depths"]
    blocks: Float[Array, " blocks"]


class Dynamics(NamedTuple):
    """What stays the same along a trajectory."""

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
    """Draw a point of a trajectory through `start` that doubles `depth` times at most.

    Random numbers are drawn for `max_depth` doublings, whatever the depth. Returns the
    point, the mean acceptance, whether the trajectory diverged, the energy it began
    with, and how many steps it took up to where it diverged, if it did.
    """
    random = _random_numbers(key, start.position, max_depth)
    momentum = random.noise / jnp.sqrt(tuning.inverse_mass)
    kinetic = 0.5 * jnp.sum(tuning.inverse_mass * momentum**2)
    dynamics = Dynamics(logdensity, tuning.inverse_mass, kinetic - start.logdensity)
    here, zero = Point(start, momentum), jnp.zeros_like(start.logdensity)
    none, no = jnp.zeros((), jnp.int32), jnp.zeros((), bool)
    whole = Trajectory(none, here, here, start, zero, momentum, zero, none, no, no)

    def goes_on(whole: Trajectory) -> Array:
        return (whole.depth < depth) & ~whole.turned & ~whole.diverged

    step = partial(_double, dynamics, random, tuning.step_size)
    whole = jax.lax.while_loop(goes_on, step, whole)
    mean = whole.accepted / whole.steps.astype(zero.dtype)
    return whole.drawn, mean, whole.diverged, dynamics.energy, whole.steps


def _random_numbers(key: RandomKey, like: Vector, max_depth: int) -> RandomNumbers:
    key_noise, key_shares = jax.random.split(key)
    blocks = max(1, 2**max_depth // BLOCK) + max_depth
    shares = jax.random.uniform(key_shares, (2 * max_depth + blocks,), like.dtype)
    ways, doublings, rest = jnp.split(shares, [max_depth, 2 * max_depth])
    noise = jax.random.normal(key_noise, like.shape, like.dtype)
    return RandomNumbers(noise, ways, doublings, rest)


def _double(
    dynamics: Dynamics,
    random: RandomNumbers,
    step_size: Float[Array, ""],
    whole: Trajectory,
) -> Trajectory:
    """Make a trajectory twice as long, to one side or the other."""
    forwards = random.ways[whole.depth] < 0.5
    edge = choose(forwards, whole.last, whole.first)
    signed = jnp.where(forwards, step_size, -step_size)
    branch = grow(dynamics, random, signed, edge, whole.depth)
    # Preferring what is new moves on further, and leaves the density as it is.
    share = jnp.exp(branch.log_weight - whole.log_weight)
    is_whole = ~branch.turned & ~branch.diverged
    takes = is_whole & (random.doublings[whole.depth] < share)
    first = choose(forwards, whole.first, branch.end)
    last = choose(forwards, branch.end, whole.last)
    momenta = whole.momenta + branch.momenta
    ends = (first.momentum, last.momentum)
    return Trajectory(
        whole.depth + 1,
        first,
        last,
        choose(takes, branch.drawn, whole.drawn),
        jnp.logaddexp(whole.log_weight, branch.log_weight),
        momenta,
        whole.accepted + branch.accepted,
        whole.steps + branch.steps,
        branch.turned | turns(dynamics, *ends, momenta),
        branch.diverged,
    )


def turns(dynamics: Dynamics, first: Array, last: Array, momenta: Array) -> Array:
    """Whether a stretch is at its longest, or beyond, seen from one of its ends."""
    between = dynamics.inverse_mass * (momenta - 0.5 * (first + last))
    back = lambda end: jnp.sum(end * between, axis=-1) <= 0.0
    return back(first) | back(last)


def grow(
    dynamics: Dynamics,
    random: RandomNumbers,
    step_size: Float[Array, ""],
    edge: Point,
    depth: Int[Array, ""],
) -> Branch:
    """A branch of `2 ** depth` points, or less of it if it turns or diverges."""
    size = jnp.left_shift(1, depth)
    count = jnp.minimum(size, BLOCK)
    # Beyond the numbers of all shorter branches, so that each is used once.
    first = depth + (size - 1) // BLOCK

    def goes_on(branch: Branch) -> Array:
        is_long = branch.blocks * BLOCK >= size
        return ~(is_long | branch.turned | branch.diverged)

    def lengthen(branch: Branch) -> Branch:
        end, points = _leapfrog_steps(dynamics, step_size, branch.end, count)
        share = random.blocks[first + branch.blocks]
        return _add_block(dynamics, branch, end, points, count, share)

    levels = max(1, random.ways.size - BLOCK.bit_length())
    return jax.lax.while_loop(goes_on, lengthen, _empty_branch(edge, levels))


def _empty_branch(edge: Point, levels: int) -> Branch:
    """A branch without points."""
    zero, nothing = jnp.zeros_like(edge.phase.logdensity), jnp.zeros_like(edge.momentum)
    none, no = jnp.zeros((), jnp.int32), jnp.zeros((), bool)
    marks = jnp.zeros((levels, *nothing.shape), nothing.dtype)
    return Branch(
        blocks=none,
        end=edge,
        drawn=edge.phase,
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
    """The last of some leapfrog steps, and all of them."""
    # One row for all that a point is: one operation to write it instead of four.
    row, unravel = ravel_pytree(start)

    def leapfrog(index: Array, carry: tuple[Point, Array]) -> tuple[Point, Array]:
        (phase, momentum), rows = carry
        half = momentum + 0.5 * step_size * phase.gradient
        place = phase.position + step_size * dynamics.inverse_mass * half
        phase = rest_at(place, dynamics.logdensity)
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
    # Every product of two momenta, of which all else in a block is made.
    exact = jax.lax.Precision.HIGHEST
    scaled = points.momentum * dynamics.inverse_mass[None]
    products = jnp.matmul(scaled, points.momentum.T, precision=exact)
    numbers = jnp.arange(BLOCK, dtype=count.dtype)
    gained = dynamics.energy + points.phase.logdensity - 0.5 * jnp.diagonal(products)
    # Off the support, or out of floating-point range: an impossible point.
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
        choose(index < BLOCK, new, branch.drawn),
        log_weight,
        momenta,
        branch.accepted + jnp.sum(accepted),
        branch.steps + steps,
        turned | _turns_since(dynamics, marks, branch.blocks, end.momentum, momenta),
        jnp.any(diverged),
        marks,
    )


def draw(
    gained: Float[Array, " block"], before: Float[Array, ""], share: Float[Array, ""]
) -> tuple[Int[Array, ""], Float[Array, ""]]:
    """One of a block's points by weight, or none of them in favour of one before."""
    top = jnp.maximum(jnp.max(gained), before)
    top = jnp.where(jnp.isfinite(top), top, 0.0)
    weights = jnp.exp(gained - top)
    upto = jnp.sum(jnp.tril(jnp.broadcast_to(weights, (BLOCK, BLOCK))), axis=1)
    total = upto[-1] + jnp.exp(before - top)
    return jnp.sum(upto <= share * total), top + jnp.log(total)


def _stretches() -> tuple[np.ndarray, np.ndarray]:
    """How products add up to both questions of every stretch in a block.

    Stretches are the halves, quarters and so on; with each comes where it ends.
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
    tables, ends = _stretches()
    tables = jnp.asarray(tables, products.dtype)
    back = jnp.sum(tables * products[None], axis=(1, 2)) <= 0.0
    return jnp.any(back & (jnp.asarray(ends) < count))


def _mark(branch: Branch, momentum: Vector) -> Marks:
    """Note where a stretch of several blocks begins, which every other block does."""
    level = jax.lax.population_count(branch.blocks >> 1)
    begins = branch.blocks % 2 == 0

    def note(rows: Array, row: Array) -> Array:
        return _put(rows, jnp.where(begins, row, rows[level]), level)

    marks = branch.marks
    return Marks(note(marks.momentum, momentum), note(marks.sum_before, branch.momenta))


def _turns_since(
    dynamics: Dynamics,
    marks: Marks,
    block: Int[Array, ""],
    last: Vector,
    momenta: Vector,
) -> Bool[Array, ""]:
    """Whether one of the stretches that this block closes turns.

    Blocks are numbered from zero: a number that ends in ones closes that many.
    """
    level = jax.lax.population_count(block >> 1)
    closed = jax.lax.population_count(block & ~(block + 1))
    levels = jnp.arange(len(marks.momentum), dtype=block.dtype)
    asked = (levels <= level) & (levels > level - closed)
    between = momenta[None] - marks.sum_before
    inverse_mass = dynamics.inverse_mass[None]
    back = turns(
        dynamics._replace(inverse_mass=inverse_mass),
        marks.momentum,
        last[None],
        between,
    )
    return jnp.any(asked & back)
