r"""Stein variational gradient descent: particles that climb and repel each other.

Each step moves every particle along
$\hat\phi(W) = \frac1S \sum_s k(W_s, W) \nabla \log\pi(W_s) + \nabla_{W_s} k(W_s, W)$
with $k(W, W') = \exp(-\|W - W'\|^2 / h)$ and $h = \mathrm{median}^2 / \log(S + 1)$.
Reference: Liu and Wang (2016).
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ocbnn.core.accelerated import is_accelerated
from ocbnn.core.promotion import third_party
from ocbnn.core.types import Position, RandomKey
from ocbnn.inference.base import (
    Algorithm,
    LogDensity,
    batched_initial,
    check_counts,
    check_positive,
)
from ocbnn.inference.descent import DescentPlan
from ocbnn.inference.groups import in_groups
from ocbnn.inference.optimisers import Optimiser, adagrad, late_fading_adam
from ocbnn.inference.trees import mean_square

_FEW_PAIRS, _MANY = 4096, 1024


class Particles(NamedTuple):
    """Positions stacked along a first axis, and the optimiser's state."""

    positions: Position
    optimiser: Any


class SteinInfo(NamedTuple):
    """Numbers about one step."""

    logdensity: Float[Array, ""]  # mean over the particles
    spread: Float[Array, ""]  # median distance between two particles
    step: Float[Array, ""]  # root mean square of the move
    pull: Float[Array, ""]  # how much of the density is switched on


class SteinDescent(Algorithm):
    """All particles, with one batch of rows and points per step."""

    target: LogDensity
    particles: int = eqx.field(static=True)
    optimiser: Optimiser = eqx.field(static=True)
    start_spread: float = 1.0
    cycles: int = eqx.field(static=True, default=0)
    iterations: Float[Array, ""] | None = None

    def init(self, key: RandomKey) -> Particles:
        """Start at positions from the target, spread out by `start_spread`."""
        starts = batched_initial(self.target, key, self.particles)
        positions = jax.tree.map(lambda a: _spread_out(a, self.start_spread), starts)
        return Particles(positions, self.optimiser.init(positions))

    def step(self, key: RandomKey, state: Particles) -> tuple[Particles, SteinInfo]:
        """One move of every particle."""
        return self._move(key, state, jnp.ones(()))

    def warmup(
        self, key: RandomKey, state: Particles, index: Int[Array, ""]
    ) -> tuple[Particles, SteinInfo]:
        """One move, at the temperature of iteration `index`."""
        if self.iterations is None:
            return self.step(key, state)
        return self._move(key, state, anneal(index, self.iterations, self.cycles))

    def _move(
        self, key: RandomKey, state: Particles, pull: Float[Array, ""]
    ) -> tuple[Particles, SteinInfo]:
        value_and_grad = jax.value_and_grad(self.target.stochastic_logdensity)
        values, grads = in_groups(lambda p: value_and_grad(p, key), state.positions)
        if is_accelerated():
            # Sums over rows would be slow if they were fused with the kernel.
            grads = jax.lax.optimization_barrier(grads)
        pulled = jax.tree.map(lambda g: pull.astype(g.dtype) * g, grads)
        direction, median = stein_direction(state.positions, pulled)
        descent = jax.tree.map(jnp.negative, direction)
        with third_party():
            updates, optimiser = self.optimiser.update(
                descent, state.optimiser, state.positions
            )
        positions = jax.tree.map(jnp.add, state.positions, updates)
        rms = jnp.sqrt(mean_square(updates))
        info = SteinInfo(jnp.mean(values), median, rms, pull)
        return Particles(positions, optimiser), info

    def emit(self, key: RandomKey, state: Particles) -> Position:
        """All particles."""
        return state.positions


def stein_direction(positions: Position, grads: Position) -> tuple[Position, Array]:
    """The direction of every particle, and the median distance between two.

    Distances come from one Gram matrix per layer, so there is never an array of
    particle pairs times weights.
    """
    rows = lambda leaf: leaf.reshape(leaf.shape[0], -1)
    leaves = [rows(leaf) for leaf in jax.tree.leaves(positions)]
    # Centring loses nothing and keeps the subtraction below from cancelling.
    centred = [leaf - _mean_row(leaf) for leaf in leaves]
    gram = sum(leaf @ leaf.T for leaf in centred)
    norms = jnp.diagonal(gram)
    squared = jnp.maximum(norms[:, None] + norms[None, :] - 2.0 * gram, 0.0)
    count = squared.shape[0]
    median = _median_of_pairs(squared)
    bandwidth = jnp.maximum(median / jnp.log(count + 1.0), 1e-12)
    kernel = jnp.exp(-squared / bandwidth)
    pull = jnp.sum(kernel, axis=1)

    def direction(leaf: Array, grad: Array) -> Array:
        flat, twice = rows(leaf), 2.0 / bandwidth
        # Attraction and half of the repulsion share one product with the kernel.
        moved = kernel @ (rows(grad) - twice * flat) + (twice * pull)[:, None] * flat
        return (moved / count).reshape(leaf.shape)

    return jax.tree.map(direction, positions, grads), jnp.sqrt(median)


def _mean_row(rows: Float[Array, "particles weights"]) -> Array:
    # A matrix product, because on a CPU a sum along columns takes ten times as long.
    count = rows.shape[0]
    return jnp.full((1, count), 1.0 / count, rows.dtype) @ rows


def _spread_out(leaf: Array, factor: float) -> Array:
    centre = jnp.mean(leaf, axis=0, keepdims=True)
    return centre + (leaf - centre) * jnp.asarray(factor, leaf.dtype)


def _median_of_pairs(squared: Float[Array, "particles particles"]) -> Array:
    """The median above the diagonal, which is zero."""
    count = squared.shape[0]
    pairs = count * (count - 1) // 2
    lower, upper = (pairs - 1) // 2, pairs // 2
    if count > _MANY:
        # Indices of all pairs would be a constant of gigabytes. In the sorted matrix
        # the diagonal comes first, and then every pair twice.
        ordered = jnp.sort(squared.ravel())
        return 0.5 * (ordered[count + 2 * lower] + ordered[count + 2 * upper])
    # NumPy's indices are constants; JAX would compute them at every step.
    values = squared[np.triu_indices(count, 1)]
    if is_accelerated() and pairs <= _FEW_PAIRS:
        # Comparing all pairs of values takes one pass there, and sorting many.
        rank = jnp.sum(values[None, :] <= values[:, None], axis=1)
        ranked = lambda k: jnp.min(jnp.where(rank > k, values, jnp.inf))
        return 0.5 * (ranked(lower) + ranked(upper))
    # A plain sort: `jnp.median` also checks for NaN, at four times the cost, which the
    # driver does anyway.
    ordered = jnp.sort(values)
    return 0.5 * (ordered[lower] + ordered[upper])


def anneal(
    index: Int[Array, ""], iterations: Float[Array, ""], cycles: int
) -> Float[Array, ""]:
    """The factor of the density's gradient, which rises from 0 to 1 in every cycle.

    While it is low, particles mostly repel each other and spread. The cycles take the
    first half of the iterations; in the second half the factor is 1. Reference:
    D'Angelo and Fortuin (2021).
    """
    length = 0.5 * iterations / cycles
    moves = index.astype(length.dtype)
    within = jnp.mod(moves, length) / length
    return jnp.where(moves >= 0.5 * iterations, 1.0, within**2)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SVGD(DescentPlan):
    """Stein variational gradient descent.

    Attributes
    ----------
    chains
        Independent sets of particles.
    draws
        Leave it at 1: all particles are kept.
    thin
        Leave it at 0: draws do not move.
    iterations
        Steps of the optimiser.
    learning_rate
        Adagrad's step size; with `cycles`, Adam's, a tenth of it.
    particles
        The number of positions that describe the posterior.
    optimiser
        Any Optax optimiser, instead of Adagrad.
    start_spread
        How much wider than the prior the particles start. They climb to
        the nearest mode, so a wider start finds more modes.
    cycles
        How often the density is gradually switched off and on again (annealed SVGD),
        so that particles can leave their mode; 0 for never.
    """

    iterations: int = 1000
    learning_rate: float = 0.5
    particles: int = 50
    optimiser: Optimiser | None = None
    start_spread: float = 1.0
    cycles: int = 0

    is_batched: ClassVar[bool] = True
    is_anytime: ClassVar[bool] = True
    caution: ClassVar[str] = (
        "its uncertainty can be too small, and the share of particles in each mode "
        "follows from where they started"
    )

    @property
    def width(self) -> int:
        """All particles move together."""
        return self.particles

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, particles=2, cycles=0)
        check_positive(self, "start_spread")

    def bind(self, target: LogDensity) -> SteinDescent:
        """The particles on this density."""
        iterations = jnp.asarray(self.iterations, float) if self.cycles else None
        return SteinDescent(
            target,
            self.particles,
            self.optimiser or self._default_optimiser(),
            self.start_spread,
            self.cycles,
            iterations,
        )

    def _default_optimiser(self) -> Optimiser:
        if not self.cycles:
            return adagrad(self.learning_rate)
        # Adagrad accumulates all gradients, so its steps are too small after a cycle.
        return late_fading_adam(0.1 * self.learning_rate, self.iterations)
