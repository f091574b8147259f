r"""Laplace's approximation: a normal around the best weights.

Climb to a maximum of the log density, measure the curvature there, and draw from the
normal with that curvature: for all weights independently (`over="all"`, diagonal), or
for the last layer with correlations, all other weights fixed (`over="last"`, full). The
curvature is that of the complete log density, rules included. Where it is flatter than
the prior alone, or convex, the prior's curvature is used instead. Several chains find
several maxima, and their draws are a mixture. References: MacKay (1992); Daxberger et
al. (2021).
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ocbnn.core.promotion import third_party
from ocbnn.core.ravel import Vector
from ocbnn.core.types import Position, RandomKey
from ocbnn.errors import SettingError
from ocbnn.inference.base import Algorithm, LogDensity, check_one_of
from ocbnn.inference.descent import DescentPlan
from ocbnn.inference.flat import Flat
from ocbnn.inference.optimisers import Optimiser, fading_adam

# The number of weights whose curvatures are computed at the same time.
_AT_ONCE = 64


@runtime_checkable
class Layered(Protocol):
    """A density that knows which of its weights are in the last layer."""

    def last_layer(self) -> Position:
        """True or False for every array of a position."""
        ...


class LaplaceState(NamedTuple):
    """The best weights so far, and the normal around them at the end."""

    position: Vector
    optimiser: Any
    spread: Float[Array, "..."]  # standard deviations, or a matrix whose square is C


class LaplaceInfo(NamedTuple):
    """Numbers about one step."""

    logdensity: Float[Array, ""]
    slope: Float[Array, ""]  # length of the gradient; zero at the maximum


class LaplaceAlgorithm(Algorithm):
    """One climb and the normal at its end."""

    density: Flat
    # Entries of the flat position drawn jointly; None: all, independently.
    chosen: Int[Array, " some"] | None
    iterations: int = eqx.field(static=True)
    optimiser: Optimiser = eqx.field(static=True)

    def init(self, key: RandomKey) -> LaplaceState:
        """Start at a position from the target."""
        position = self.density.initial(key)
        size = position.size if self.chosen is None else self.chosen.size
        shape = (size,) if self.chosen is None else (size, size)
        spread = jnp.zeros(shape, position.dtype)
        return LaplaceState(position, self.optimiser.init(position), spread)

    def step(
        self, key: RandomKey, state: LaplaceState
    ) -> tuple[LaplaceState, LaplaceInfo]:
        """One step uphill."""
        value, grad = jax.value_and_grad(self.density.logdensity)(state.position)
        with third_party():
            updates, optimiser = self.optimiser.update(-grad, state.optimiser)
        position = jax.tree.map(jnp.add, state.position, updates)
        info = LaplaceInfo(value, jnp.linalg.norm(grad))
        return state._replace(position=position, optimiser=optimiser), info

    def warmup(
        self, key: RandomKey, state: LaplaceState, index: Int[Array, ""]
    ) -> tuple[LaplaceState, LaplaceInfo]:
        """One step uphill; the last one also measures the curvature."""
        state, info = self.step(key, state)
        measure = self._diagonal if self.chosen is None else self._full
        spread = jax.lax.cond(
            index == self.iterations - 1,
            lambda: measure(state.position),
            lambda: state.spread,
        )
        return state._replace(spread=spread), info

    def _diagonal(self, position: Vector) -> Vector:
        """One standard deviation per weight."""
        curvature = _diagonal_of_hessian(self.density.logdensity, position)
        prior_curvature = _diagonal_of_hessian(
            lambda q: self.density.split(q)[0], position
        )
        return jax.lax.rsqrt(
            jnp.maximum(-curvature, jnp.maximum(-prior_curvature, 1e-12))
        )

    def _full(self, position: Vector) -> Float[Array, "some some"]:
        """A square root of the covariance of the chosen weights."""
        chosen = self.chosen

        def moved(part: Float[Array, " some"]) -> Vector:
            return position.at[chosen].set(part)

        posterior = lambda part: self.density.logdensity(moved(part))
        prior = lambda part: self.density.split(moved(part))[0]
        start = position[chosen]
        curvature = -jax.hessian(posterior)(start)
        flattest = jnp.min(-_diagonal_of_hessian(prior, start))
        values, vectors = jnp.linalg.eigh(0.5 * (curvature + curvature.T))
        widths = jax.lax.rsqrt(jnp.maximum(values, jnp.maximum(flattest, 1e-12)))
        return vectors * widths[None]

    def emit(self, key: RandomKey, state: LaplaceState) -> Position:
        """A fresh draw from the normal."""
        noise = jax.random.normal(key, state.spread.shape[-1:], state.position.dtype)
        if self.chosen is None:
            position = state.position + state.spread * noise
        else:
            moves = state.spread @ noise
            position = state.position.at[self.chosen].add(moves)
        return jax.tree.map(lambda a: a[None], self.density.unravel(position))


def _diagonal_of_hessian(function: Any, position: Vector) -> Vector:
    """Exact second derivatives along every axis, several axes at a time."""
    grad = jax.grad(function)

    def along(axis: Int[Array, ""]) -> Array:
        direction = jnp.zeros_like(position).at[axis].set(1.0)
        return jax.jvp(grad, (position,), (direction,))[1][axis]

    size = position.size
    return jax.lax.map(along, jnp.arange(size), batch_size=min(size, _AT_ONCE))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Laplace(DescentPlan):
    """A normal around the best weights.

    On a normal posterior `over="last"` is exact for the weights it covers (given the
    others), and `over="all"` has the right mean and the inverse of the precision's
    diagonal as variances.

    Attributes
    ----------
    chains
        Independent starts, each of which climbs to a maximum.
    draws
        Draws from the normal around each.
    thin
        Leave it at 0: draws do not move.
    iterations
        Steps of the optimiser.
    learning_rate
        Adam's initial step size; it decays to zero.
    over
        "all" weights, independently, or the "last" layer with correlations.
    """

    chains: int = 4
    draws: int = 250
    over: str = "last"

    caution: ClassVar[str] = (
        "it approximates the posterior by a normal around each maximum that it found, "
        "so it misses steep edges and strongly curved posteriors"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_one_of(self, over=("all", "last"))

    def bind(self, target: LogDensity) -> LaplaceAlgorithm:
        """The climb on this density."""
        optimiser = fading_adam(self.learning_rate, self.iterations)
        return LaplaceAlgorithm(
            Flat(target), self._chosen(target), self.iterations, optimiser
        )

    def _chosen(self, target: LogDensity) -> Int[Array, " some"] | None:
        if self.over == "all":
            return None
        if not isinstance(target, Layered):
            raise SettingError(
                f'Laplace(over="last") needs a density with `last_layer`, and '
                f'{type(target).__name__} has none. Write Laplace(over="all").'
            )
        shapes = jax.tree.leaves(target.shapes())
        is_last = jax.tree.leaves(target.last_layer())
        parts = [
            np.full(int(np.prod(spec.shape)), is_last_layer)
            for spec, is_last_layer in zip(shapes, is_last, strict=True)
        ]
        return jnp.asarray(np.flatnonzero(np.concatenate(parts)))
