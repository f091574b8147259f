r"""Stein variational gradient descent: particles that climb and repel each other.

Each step moves every particle along
$\hat\phi(W) = \frac1S \sum_s k(W_s, W) \nabla \log\pi(W_s) + \nabla_{W_s} k(W_s, W)$
with $k(W, W') = \exp(-\|W - W'\|^2 / h)$ and $h = \mathrm{median}^2 / \log(S + 1)$.
Reference: Liu and Wang (2016).
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


class Particles(NamedTuple):
    """Positions stacked along a first axis, and what the optimiser remembers."""

    positions: Position
    optimiser: Any


class SteinInfo(NamedTuple):
    """What a person needs to judge one step."""

    logdensity: Float[Array, ""]  # mean over the particles
    spread: Float[Array, ""]  # median distance between two particles
    step: Float[Array, ""]  # root mean square of the move


class SteinDescent(Algorithm):
    """All particles together, with one batch of rows and points per step."""

    target: LogDensity
    particles: int = eqx.field(static=True)
    optimiser: optax.GradientTransformation = eqx.field(static=True)
    start_spread: float = 1.0

    def init(self, key: RandomKey) -> Particles:
        """Every particle starts where the target says, spread out as told."""
        drawn = batched_initial(self.target, key, self.particles)
        positions = jax.tree.map(lambda a: _spread_out(a, self.start_spread), drawn)
        return Particles(positions, self.optimiser.init(positions))

    def step(self, key: RandomKey, state: Particles) -> tuple[Particles, SteinInfo]:
        """One move of every particle."""
        value_and_grad = jax.value_and_grad(self.target.stochastic_logdensity)
        values, grads = jax.vmap(value_and_grad, in_axes=(0, None))(
            state.positions, key
        )
        direction, median = stein_direction(state.positions, grads)
        descent = jax.tree.map(jnp.negative, direction)
        with third_party():
            updates, optimiser = self.optimiser.update(
                descent, state.optimiser, state.positions
            )
        positions = jax.tree.map(jnp.add, state.positions, updates)
        info = SteinInfo(jnp.mean(values), median, _rms(updates))
        return Particles(positions, optimiser), info

    def emit(self, key: RandomKey, state: Particles) -> Position:
        """All particles."""
        return state.positions


def stein_direction(positions: Position, grads: Position) -> tuple[Position, Array]:
    """The direction of every particle, and the median distance between two.

    Distances come from one Gram matrix per layer, so no array of particle pairs times
    weights is ever made.
    """
    rows = lambda leaf: leaf.reshape(leaf.shape[0], -1)
    leaves = [rows(leaf) for leaf in jax.tree.leaves(positions)]
    # Centring loses nothing and keeps the subtraction below from cancelling.
    centred = [leaf - _mean_row(leaf) for leaf in leaves]
    gram = sum(leaf @ leaf.T for leaf in centred)
    norms = jnp.diagonal(gram)
    squared = jnp.maximum(norms[:, None] + norms[None, :] - 2.0 * gram, 0.0)
    count = squared.shape[0]
    median = _median(squared[jnp.triu_indices(count, 1)])
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
    # A product, because on a CPU a sum down long columns takes ten times as long.
    count = rows.shape[0]
    return jnp.full((1, count), 1.0 / count, rows.dtype) @ rows


def _spread_out(leaf: Array, factor: float) -> Array:
    centre = jnp.mean(leaf, axis=0, keepdims=True)
    return centre + (leaf - centre) * jnp.asarray(factor, leaf.dtype)


def _median(values: Float[Array, " pairs"]) -> Array:
    # A plain sort: `jnp.median` also looks for what is not a number, at four times the
    # cost, and the driver does that anyway.
    ordered, size = jnp.sort(values), values.size
    return 0.5 * (ordered[(size - 1) // 2] + ordered[size // 2])


def _rms(tree: Position) -> Array:
    leaves = jax.tree.leaves(tree)
    total = sum(jnp.sum(leaf**2) for leaf in leaves)
    return jnp.sqrt(total / sum(leaf.size for leaf in leaves))


@dataclasses.dataclass(frozen=True, kw_only=True)
class SVGD(Plan):
    """Stein variational gradient descent.

    Attributes:
        particles: How many positions describe the posterior.
        iterations: Steps.
        learning_rate: Adagrad's step size.
        optimiser: Any Optax optimiser, in the place of Adagrad.
        start_spread: How much wider than the prior the particles start. They climb to
            the nearest mode, so a wider start finds more modes.
    """

    chains: int = 1
    warmup: int = 0
    draws: int = 1
    thin: int = 0
    particles: int = 50
    iterations: int = 1000
    learning_rate: float = 0.5
    optimiser: optax.GradientTransformation | None = None
    start_spread: float = 1.0

    is_chain: ClassVar[bool] = False
    is_exact: ClassVar[bool] = False
    is_anytime: ClassVar[bool] = True
    caution: ClassVar[str] = (
        "its uncertainty can be too small, and the share of particles in each mode "
        "follows from where they started"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "warmup", self.iterations)
        super().__post_init__()
        check_counts(self, particles=2, iterations=1)
        check_positive(self, "learning_rate", "start_spread")

    def bind(self, target: LogDensity) -> SteinDescent:
        """The particles on this density."""
        optimiser = self.optimiser or _adagrad(self.learning_rate)
        return SteinDescent(target, self.particles, optimiser, self.start_spread)


@cache
def _adagrad(rate: float) -> optax.GradientTransformation:
    # Cached so that equal settings are the same object, and compile once.
    return optax.adagrad(rate)
