r"""Stochastic-gradient chains: noise of the right size turns descent into sampling.

Each step uses a batch of rows and fresh points. With $P$ the inverse of the mean
squared gradient of every weight, learned in the warm-up and fixed afterwards,

SGLD: $W \leftarrow W + \frac\epsilon2 P \nabla + \sqrt{\epsilon P}\,\xi$, and
SGHMC: a velocity that is kicked by $\sqrt P\,\nabla$, damped by friction and heated.

The mean squared gradient of a posterior is its precision plus batch noise, so $P$ makes
the step size dimensionless: discretisation and batches add a bounded share to the
variances. What remains is the stiffest direction, which a diagonal cannot capture;
power iteration estimates its curvature, which divides the step.
References: Welling and Teh (2011); Chen, Fox and Guestrin (2014); Li, Chen, Carlson and
Carin (2016).
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ocbnn.core.promotion import third_party
from ocbnn.core.types import Position, RandomKey
from ocbnn.inference.base import (
    Algorithm,
    LogDensity,
    Plan,
    check_counts,
    check_positive,
)
from ocbnn.inference.optimisers import adam
from ocbnn.inference.trees import like_normal, norm

_CLIMB_RATE = 0.01
# In units of the posterior's width: slopes are clipped here, as outliers of a batch.
_STEEPEST = 10.0
_TINY = 1e-12


class Scales(NamedTuple):
    """The shape of the posterior, estimated from gradients."""

    squares: Position  # mean squared gradient of every weight
    stiffest: Position  # a direction, of length one in scaled weights
    curvature: Float[Array, ""]  # along it


class LangevinState(NamedTuple):
    """A position with a velocity, the learned scales and the optimiser's state."""

    position: Position
    velocity: Position  # in units of the posterior's width; unused by SGLD
    scales: Scales
    optimiser: Any  # of the climb


class LangevinInfo(NamedTuple):
    """Numbers about one step."""

    logdensity: Float[Array, ""]
    step_size: Float[Array, ""]
    curvature: Float[Array, ""]


class StochasticChain(Algorithm):
    """One chain of SGLD (no `friction`) or SGHMC."""

    target: LogDensity
    step_size: float
    friction: float | None
    climb: int = eqx.field(static=True)
    learn: int = eqx.field(static=True)

    def init(self, key: RandomKey) -> LangevinState:
        """Start at a position from the target, at rest."""
        key_start, key_direction = jax.random.split(key)
        position = self.target.initial(key_start)
        zero = jax.tree.map(jnp.zeros_like, position)
        direction = like_normal(key_direction, position)
        ones = jax.tree.map(jnp.ones_like, position)
        length = norm(direction)
        direction = jax.tree.map(lambda a: a / length, direction)
        scales = Scales(ones, direction, jnp.ones_like(length))
        return LangevinState(position, zero, scales, adam(_CLIMB_RATE).init(position))

    def step(
        self, key: RandomKey, state: LangevinState
    ) -> tuple[LangevinState, LangevinInfo]:
        """One step with fixed scales."""
        key_batch, key_noise = jax.random.split(key)
        root = jax.tree.map(lambda s: jax.lax.rsqrt(s + _TINY), state.scales.squares)
        noise = like_normal(key_noise, state.position)
        if self.friction is None:
            position, velocity, value = self._langevin(key_batch, state, root, noise)
            eps = self.step_size / state.scales.curvature
        else:
            position, velocity, value = self._hamiltonian(key_batch, state, root, noise)
            eps = self.step_size / jnp.sqrt(state.scales.curvature)
        info = LangevinInfo(value, eps, state.scales.curvature)
        return state._replace(position=position, velocity=velocity), info

    def _langevin(
        self, key: RandomKey, state: LangevinState, root: Position, noise: Position
    ) -> tuple[Position, Position, Array]:
        eps = self.step_size / state.scales.curvature
        value, slope = self._slope(key, state.position, root)
        position = jax.tree.map(
            lambda w, r, g, n: w + r * (0.5 * eps * g + jnp.sqrt(eps) * n),
            state.position,
            root,
            slope,
            noise,
        )
        return position, state.velocity, value

    def _hamiltonian(
        self, key: RandomKey, state: LangevinState, root: Position, noise: Position
    ) -> tuple[Position, Position, Array]:
        """Half a drift, a kick around the friction, half a drift: one gradient."""
        eps = self.step_size / jnp.sqrt(state.scales.curvature)
        assert self.friction is not None
        damping = jnp.exp(-self.friction * eps)
        heat = jnp.sqrt(1.0 - damping**2)
        drift = lambda w, r, v: w + 0.5 * eps * r * v
        half = jax.tree.map(drift, state.position, root, state.velocity)
        value, slope = self._slope(key, half, root)
        velocity = jax.tree.map(
            lambda v, g, n: damping * (v + 0.5 * eps * g) + heat * n + 0.5 * eps * g,
            state.velocity,
            slope,
            noise,
        )
        return jax.tree.map(drift, half, root, velocity), velocity, value

    def _slope(
        self, key: RandomKey, position: Position, root: Position
    ) -> tuple[Array, Position]:
        """The log density and its slope in units of the posterior's width."""
        value, grad = jax.value_and_grad(self.target.stochastic_logdensity)(
            position, key
        )
        clip = lambda g, r: jnp.clip(g * r, -_STEEPEST, _STEEPEST)
        return value, jax.tree.map(clip, grad, root)

    def warmup(
        self, key: RandomKey, state: LangevinState, index: Int[Array, ""]
    ) -> tuple[LangevinState, LangevinInfo]:
        """Climb first; then sample, and learn the scales."""
        key_learn, key_move = jax.random.split(key)
        grad, scales = self._learn(key_learn, state, index)

        def climb() -> tuple[LangevinState, LangevinInfo]:
            value = self.target.stochastic_logdensity(state.position, key_learn)
            with third_party():
                updates, optimiser = adam(_CLIMB_RATE).update(
                    jax.tree.map(jnp.negative, grad), state.optimiser
                )
            position = jax.tree.map(jnp.add, state.position, updates)
            info = LangevinInfo(value, jnp.zeros_like(value), scales.curvature)
            return state._replace(position=position, optimiser=optimiser), info

        moved, info = jax.lax.cond(
            index < self.climb, climb, lambda: self.step(key_move, state)
        )
        return moved._replace(scales=scales), info

    def _learn(
        self, key: RandomKey, state: LangevinState, index: Int[Array, ""]
    ) -> tuple[Position, Scales]:
        """One gradient, and the curvature along one direction, in one pass."""
        old = state.scales
        root = jax.tree.map(lambda s: jax.lax.rsqrt(s + _TINY), old.squares)
        ahead = jax.tree.map(jnp.multiply, root, old.stiffest)
        grad_of = lambda p: jax.grad(self.target.stochastic_logdensity)(p, key)
        grad, bend = jax.jvp(grad_of, (state.position,), (ahead,))
        bend = jax.tree.map(jnp.multiply, root, bend)
        length = norm(bend)
        stiffest = jax.tree.map(lambda b: b / (length + _TINY), bend)
        # At a maximum gradients vanish and say nothing about its shape: averages from
        # the climb are kept until sampling replaces them.
        done = index.astype(length.dtype) + 1.0
        long = max(self.learn / 8, 50.0)
        share = 1.0 / jnp.where(index < self.climb, done, long)
        squares = jax.tree.map(lambda s, g: s + share * (g**2 - s), old.squares, grad)
        # The curvature depends on the scales, so it is tracked closely while they
        # change, and averaged once they have settled.
        settled = index >= self.climb + self.learn // 2
        pace = 1.0 / jnp.where(settled, long, jnp.minimum(done, 20.0))
        curvature = old.curvature + pace * (length - old.curvature)
        # Below one, the scales consist of batch noise and not of curvature.
        curvature = jnp.maximum(curvature, jnp.where(settled, 1.0, 0.0))
        return grad, Scales(squares, stiffest, curvature)

    def emit(self, key: RandomKey, state: LangevinState) -> Position:
        """The chain's one position."""
        return jax.tree.map(lambda a: a[None], state.position)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SGLD(Plan):
    """Stochastic-gradient Langevin dynamics: for many rows, in batches.

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
        Dimensionless. Variances are too large by about a quarter of it in the
        stiffest direction, and by as much again with small batches; exploration
        slows down in proportion to the step size.
    climb
        Moves of the warm-up that climb; the others learn the scales.
    """

    warmup: int = 3000
    thin: int = 20
    step_size: float = 0.2
    climb: int = 1000

    is_exact: ClassVar[bool] = False
    is_batched: ClassVar[bool] = True
    caution: ClassVar[str] = (
        "its steps are not corrected, so spreads can be too large by the share that "
        "step_size and batches add, and slow directions may not have been explored"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, thin=1, climb=0)
        check_positive(self, "step_size")

    def bind(self, target: LogDensity) -> StochasticChain:
        """A chain on this density."""
        climb = min(self.climb, self.warmup)
        return StochasticChain(target, self.step_size, None, climb, self.warmup - climb)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SGHMC(SGLD):
    """Stochastic-gradient Hamiltonian Monte Carlo: SGLD with momentum.

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
        Dimensionless. Smaller steps are more accurate and explore more slowly.
    climb
        Moves of the warm-up that climb; the others learn the scales.
    friction
        How fast the velocity decays, per width of the posterior. More
        friction tolerates more batch noise but explores more slowly.
    """

    step_size: float = 0.5
    friction: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "friction")

    def bind(self, target: LogDensity) -> StochasticChain:
        """A chain on this density."""
        climb = min(self.climb, self.warmup)
        return StochasticChain(
            target, self.step_size, self.friction, climb, self.warmup - climb
        )
