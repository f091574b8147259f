"""A conformance check for algorithms, on a posterior known in closed form."""

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
    """A position of two arrays, so that no code can treat it as a vector."""

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
        """The true covariance, for comparison with draws."""
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
        """The reference, and the difference between the normal and the reference."""
        x = jnp.concatenate([position.first, position.rest])
        squares, gap = jnp.sum(x**2), x - self.mean
        reference = -0.5 * squares - 1.5 * jnp.log(2 * jnp.pi)
        return reference, -0.5 * gap @ self.precision @ gap + 0.5 * squares

    def logdensity(self, position: Pair) -> Scalar:
        """The log density, up to a constant."""
        reference, added = self.split(position)
        return reference + added

    def stochastic_logdensity(self, position: Pair, key: RandomKey) -> Scalar:
        """The exact log density: there are no rows to choose from."""
        return self.logdensity(position)

    def parts(self, position: Pair) -> dict[str, Scalar]:
        """Both summands by name."""
        reference, added = self.split(position)
        return {"reference": reference, "added": added}


@dataclasses.dataclass(frozen=True)
class AlgorithmCheck:
    """The result of a check. Print it.

    Attributes
    ----------
    label
        The algorithm.
    ess
        Smallest effective sample size; the number of draws if they are not a chain.
    mean_error
        Largest error of a mean, in standard deviations of the truth.
    spread_error
        Largest error of a covariance, relative to the true standard deviations.
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
        The random seed.
    bias
        Error allowed beyond chance, as a share of the true standard deviations. Leave
        it at zero for an algorithm that is exact in the long run.

    Raises
    ------
    InferenceError
        When a check fails; the message says which.
    """
    target = KnownGaussian()
    _check_functions(plan, target, jax.random.key(seed))
    draws = sample(plan, target, jax.random.key(seed))
    repeated = sample(plan, target, jax.random.key(seed), threads=1)
    if not _are_equal(draws.positions, repeated.positions):
        _fail(plan, "the same key gave other draws: use no other source of randomness")
    return _check_moments(plan, target, draws, bias)


def _check_functions(plan: Plan, target: KnownGaussian, key: RandomKey) -> None:
    algorithm = plan.bind(target)
    key_init, key_step, key_emit = jax.random.split(key, 3)
    state = algorithm.init(key_init)
    next_state, info = algorithm.step(key_step, state)
    if jax.tree.structure(next_state) != jax.tree.structure(state) or not all(
        a.shape == b.shape and a.dtype == b.dtype
        for a, b in zip(
            jax.tree.leaves(next_state), jax.tree.leaves(state), strict=True
        )
    ):
        _fail(plan, "`step` must return a state of the same structure and shapes")
    if not hasattr(info, "_asdict"):
        _fail(plan, "`step` must return a named tuple of numbers beside the state")
    emitted = algorithm.emit(key_emit, next_state)
    expected = [leaf.shape for leaf in jax.tree.leaves(target.shapes())]
    shapes = [leaf.shape[1:] for leaf in jax.tree.leaves(emitted)]
    if shapes != expected or not isinstance(emitted, Pair):
        _fail(
            plan,
            "`emit` must return positions as `target.shapes()` describes them, stacked "
            f"along one more axis: expected {expected} behind it, got {shapes}",
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
    errors = np.abs(flat.mean(axis=0) - np.asarray(target.mean)) / width
    differences = np.abs(np.cov(flat.T) - truth) / np.outer(width, width)
    mean_error, spread_error = float(np.max(errors)), float(np.max(differences))
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


def _are_equal(left: Any, right: Any) -> bool:
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def _fail(plan: Plan, reason: str) -> None:
    raise InferenceError(f"{plan.label} breaks a promise: {reason}.")
