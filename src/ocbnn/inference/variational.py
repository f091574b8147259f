r"""Mean-field variational inference: the best independent normals.

$q(W) = \prod_i N(W_i; \mu_i, \sigma_i^2)$ is fitted by climbing the evidence lower
bound $E_q[\log \pi(W)] + H[q]$ with reparameterised draws ("Bayes by Backprop"), on
batches and fresh points. With the local trick, noise is drawn at the units instead of
the weights, one draw per row, which reduces the estimate's variance; rules are about
functions, so they use one draw of all weights. References: Blundell, Cornebise,
Kavukcuoglu and Wierstra (2015); Kingma, Salimans and Welling (2015).
"""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.promotion import third_party
from ocbnn.core.types import Position, RandomKey, Scalar
from ocbnn.errors import SettingError
from ocbnn.inference.base import (
    Algorithm,
    LogDensity,
    check_counts,
    check_positive,
)
from ocbnn.inference.descent import DescentPlan
from ocbnn.inference.optimisers import Optimiser, fading_adam
from ocbnn.inference.trees import like_normal


@runtime_checkable
class LocalLogDensity(Protocol):
    """A density that can draw noise at its network's units."""

    def local_logdensity(self, mean: Position, sd: Position, key: RandomKey) -> Scalar:
        """An estimate of the mean log density under independent normals."""
        ...


class MeanFieldState(NamedTuple):
    """Independent normals, and the optimiser's state."""

    mean: Position
    log_sd: Position
    optimiser: Any


class MeanFieldInfo(NamedTuple):
    """Numbers about one step."""

    elbo: Float[Array, ""]
    logdensity: Float[Array, ""]


class MeanField(Algorithm):
    """Independent normals that maximise the bound."""

    target: LogDensity
    samples: int = eqx.field(static=True)
    local: bool = eqx.field(static=True)
    start_sd: float
    optimiser: Optimiser = eqx.field(static=True)

    def init(self, key: RandomKey) -> MeanFieldState:
        """Start with narrow normals around a position from the target."""
        mean = self.target.initial(key)
        log_sd = jax.tree.map(lambda a: jnp.full_like(a, jnp.log(self.start_sd)), mean)
        return MeanFieldState(mean, log_sd, self.optimiser.init((mean, log_sd)))

    def step(
        self, key: RandomKey, state: MeanFieldState
    ) -> tuple[MeanFieldState, MeanFieldInfo]:
        """One step uphill."""
        keys = jax.random.split(key, self.samples)

        def bound(shape: tuple[Position, Position]) -> tuple[Array, Array]:
            mean, log_sd = shape
            sd = jax.tree.map(jnp.exp, log_sd)
            values = jax.vmap(lambda k: self._estimate(mean, sd, k))(keys)
            value = jnp.mean(values)
            return value + entropy(log_sd), value

        shape = (state.mean, state.log_sd)
        (elbo, value), grads = jax.value_and_grad(bound, has_aux=True)(shape)
        with third_party():
            updates, optimiser = self.optimiser.update(
                jax.tree.map(jnp.negative, grads), state.optimiser
            )
        mean, log_sd = jax.tree.map(jnp.add, shape, updates)
        return MeanFieldState(mean, log_sd, optimiser), MeanFieldInfo(elbo, value)

    def _estimate(self, mean: Position, sd: Position, key: RandomKey) -> Array:
        if self.local:
            estimate: Callable[..., Array] = self.target.local_logdensity  # pyright: ignore
            return estimate(mean, sd, key)
        key_noise, key_batch = jax.random.split(key)
        position = reparameterised(mean, sd, key_noise)
        return self.target.stochastic_logdensity(position, key_batch)

    def emit(self, key: RandomKey, state: MeanFieldState) -> Position:
        """A fresh draw from the normals."""
        sd = jax.tree.map(jnp.exp, state.log_sd)
        position = reparameterised(state.mean, sd, key)
        return jax.tree.map(lambda a: a[None], position)


def reparameterised(mean: Position, sd: Position, key: RandomKey) -> Position:
    """A draw from independent normals, differentiable in their parameters."""
    noise = like_normal(key, mean)
    return jax.tree.map(lambda m, s, n: m + s * n, mean, sd, noise)


def entropy(log_sd: Position) -> Array:
    """The entropy of independent normals."""
    leaves = jax.tree.leaves(log_sd)
    constant = 0.5 * (1.0 + jnp.log(2.0 * jnp.pi))
    return sum((jnp.sum(s + constant.astype(s.dtype)) for s in leaves), jnp.zeros(()))


@dataclasses.dataclass(frozen=True, kw_only=True)
class VI(DescentPlan):
    """Mean-field variational inference.

    On a normal posterior it finds the mean exactly and the inverse of the precision's
    diagonal as variances, which are smaller than the true ones wherever weights are
    correlated.

    Attributes
    ----------
    chains
        Independent fits.
    draws
        Draws from each fitted distribution.
    thin
        Leave it at 0: draws do not move.
    iterations
        Steps of the optimiser.
    learning_rate
        Adam's initial step size; it decays to zero.
    samples
        Draws per step.
    local
        Draw the noise of data rows at the units (the local trick).
    start_sd
        Initial standard deviation of every weight.
    """

    draws: int = 1000
    samples: int = 4
    local: bool = False
    start_sd: float = 0.05

    is_batched: ClassVar[bool] = True
    is_anytime: ClassVar[bool] = True
    caution: ClassVar[str] = (
        "it represents one mode and no correlation between weights, so its uncertainty "
        "is too small, often by a lot"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, samples=1)
        check_positive(self, "start_sd")

    def bind(self, target: LogDensity) -> MeanField:
        """The variational family on this density."""
        if self.local and not isinstance(target, LocalLogDensity):
            raise SettingError(
                f"VI(local=True) needs a density with `local_logdensity`, and "
                f"{type(target).__name__} has none. Write VI(local=False)."
            )
        optimiser = fading_adam(self.learning_rate, self.iterations)
        return MeanField(target, self.samples, self.local, self.start_sd, optimiser)
