"""Does an algorithm keep its promises? Checked on a posterior known in closed form."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ocbnn.core.types import RandomKey, Scalar
from ocbnn.errors import InferenceError
from ocbnn.inference import Draws, Plan, sample
from ocbnn.inference.diagnostics import ess_bulk

_STANDARD_ERRORS = 5.0


class Pair(NamedTuple):
    """A position of two arrays, so that nothing may take it for a vector."""

    first: Any
    rest: Any


class KnownGaussian(eqx.Module):
    """A normal in three dimensions, with correlation, as `Pair((1,), (2,))`.

    Its reference is the standard normal, and its evidence is known:
    `log det(covariance) / 2`.
    """

    mean: Float[Array, " three"]
    precision: Float[Array, "three three"]

    def __init__(self) -> None:
        self.mean = jnp.array([1.0, -2.0, 0.5])
        self.precision = jnp.asarray(np.linalg.inv(self.covariance()), float)

    @staticmethod
    def covariance() -> Float[np.ndarray, "three three"]:
        """The truth that draws are held against."""
        return np.array([[0.5, 0.3, 0.0], [0.3, 0.4, 0.1], [0.0, 0.1, 0.2]])

    def shapes(self) -> Pair:
        """Two arrays, of one and of two entries."""
        kind = self.mean.dtype
        return Pair(jax.ShapeDtypeStruct((1,), kind), jax.ShapeDtypeStruct((2,), kind))

    def initial(self, key: RandomKey) -> Pair:
        """A draw from the reference."""
        noise = jax.random.normal(key, (3,), self.mean.dtype)
        return Pair(noise[:1], noise[1:])

    def split(self, position: Pair) -> tuple[Scalar, Scalar]:
        """The reference, and what turns it into the normal."""
        x = jnp.concatenate([position.first, position.rest])
        squares, gap = jnp.sum(x**2), x - self.mean
        reference = -0.5 * squares - 1.5 * jnp.log(2 * jnp.pi)
        return reference, -0.5 * gap @ self.precision @ gap + 0.5 * squares

    def logdensity(self, position: Pair) -> Scalar:
        """The log density, up to a constant."""
        reference, added = self.split(position)
        return reference + added

    def stochastic_logdensity(self, position: Pair, key: RandomKey) -> Scalar:
        """The same: there are no rows to choose from."""
        return self.logdensity(position)

    def parts(self, position: Pair) -> dict[str, Scalar]:
        """Both summands by name."""
        reference, added = self.split(position)
        return {"reference": reference, "added": added}


@dataclasses.dataclass(frozen=True)
class AlgorithmCheck:
    """What was found. Print it.

    Attributes
    ----------
    label
        The algorithm.
    ess
        Smallest effective sample size; the number of draws where they are not a
        chain.
    mean_error
        Largest error of a mean, in standard deviations of the truth.
    spread_error
        Largest error of a covariance, relative to the truth's widths.
    """

    label: str
    ess: float
    mean_error: float
    spread_error: float

    def __str__(self) -> str:
        return (
            f"{self.label} keeps its promises: {self.ess:.0f} effective draws, means "
            f"off by at most {self.mean_error:.3f} standard deviations, covariances "
            f"by {self.spread_error:.1%}."
        )


def check_algorithm(plan: Plan, *, seed: int = 0, bias: float = 0.0) -> AlgorithmCheck:
    """Check an algorithm on a density whose answer is known.

    Parameters
    ----------
    plan
        The algorithm, with settings that suit a small problem.
    seed
        Decides every random number.
    bias
        Error allowed beyond chance, as a share of the truth's widths. Leave it
        at zero for an algorithm that is exact in the long run.

    Raises
    ------
    InferenceError
        When a promise is broken, saying which.
    """
    target = KnownGaussian()
    _check_functions(plan, target, jax.random.key(seed))
    draws = sample(plan, target, jax.random.key(seed))
    again = sample(plan, target, jax.random.key(seed), threads=1)
    if not _equal(draws.positions, again.positions):
        _fail(plan, "the same key gave other draws: use no other source of randomness")
    return _check_moments(plan, target, draws, bias)


def _check_functions(plan: Plan, target: KnownGaussian, key: RandomKey) -> None:
    algorithm = plan.bind(target)
    key_init, key_step, key_emit = jax.random.split(key, 3)
    first = algorithm.init(key_init)
    after, info = algorithm.step(key_step, first)
    if jax.tree.structure(after) != jax.tree.structure(first) or not all(
        a.shape == b.shape and a.dtype == b.dtype
        for a, b in zip(jax.tree.leaves(after), jax.tree.leaves(first), strict=True)
    ):
        _fail(plan, "`step` must return a state of the same structure and shapes")
    if not hasattr(info, "_asdict"):
        _fail(plan, "`step` must return a named tuple of numbers beside the state")
    emitted = algorithm.emit(key_emit, after)
    wanted = [leaf.shape for leaf in jax.tree.leaves(target.shapes())]
    found = [leaf.shape[1:] for leaf in jax.tree.leaves(emitted)]
    if found != wanted or not isinstance(emitted, Pair):
        _fail(
            plan,
            "`emit` must return positions as `target.shapes()` describes them, stacked "
            f"along one more axis: expected {wanted} behind it, got {found}",
        )


def _check_moments(
    plan: Plan, target: KnownGaussian, draws: Draws, bias: float
) -> AlgorithmCheck:
    values = np.concatenate([*map(np.asarray, draws.positions)], axis=-1).astype(float)
    flat = values.reshape(-1, 3)
    ordered = draws.plan.is_chain or draws.plan.is_exact
    size = float(np.min(ess_bulk(values))) if ordered else float(len(flat))
    truth = target.covariance()
    width = np.sqrt(np.diag(truth))
    off = np.abs(flat.mean(axis=0) - np.asarray(target.mean)) / width
    apart = np.abs(np.cov(flat.T) - truth) / np.outer(width, width)
    mean_error, spread_error = float(np.max(off)), float(np.max(apart))
    chance = _STANDARD_ERRORS / np.sqrt(size)
    if not mean_error < chance + bias:
        _fail(
            plan,
            f"a mean is off by {mean_error:.3f} standard deviations, where chance "
            f"explains {chance:.3f} ({size:.0f} effective draws)",
        )
    if not spread_error < np.sqrt(2) * chance + bias:
        _fail(
            plan,
            f"a covariance is off by {spread_error:.1%}, where chance explains "
            f"{np.sqrt(2) * chance:.1%} ({size:.0f} effective draws)",
        )
    return AlgorithmCheck(plan.label, size, mean_error, spread_error)


def _equal(one: Any, other: Any) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def _fail(plan: Plan, what: str) -> None:
    raise InferenceError(f"{plan.label} breaks a promise: {what}.")
