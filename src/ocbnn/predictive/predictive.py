"""What the draws say about inputs: function values, means, spreads and intervals."""

import dataclasses
from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ocbnn.core.types import Inputs, Position
from ocbnn.core.units import Units
from ocbnn.networks import Network
from ocbnn.posterior import Categorical, GaussianNoise, Likelihood, Model

FunctionValues = Float[np.ndarray, "draws rows outputs"]

# Values held at a time, so that memory does not grow with the number of rows.
_ROOM = 2**20


@dataclasses.dataclass(frozen=True)
class Predictive:
    """A network, its likelihood, and draws of all their weights along one axis.

    Inputs and answers are in a person's units.
    """

    network: Network
    likelihood: Likelihood
    draws: Model
    units: Units | None = None

    @property
    def size(self) -> int:
        """The number of draws."""
        return jax.tree.leaves(self.draws)[0].shape[0]

    def functions(
        self, X: Float[np.ndarray, "rows inputs"], most: int | None = None
    ) -> FunctionValues:
        """Every draw's function at every row; at most `most` draws, evenly chosen."""
        some = self if most is None or most >= self.size else self._some(most)
        return np.concatenate(list(some._blocks(X)), axis=1)

    def mean_and_sd(
        self, X: Float[np.ndarray, "rows inputs"]
    ) -> tuple[Float[np.ndarray, "rows outputs"], Float[np.ndarray, "rows outputs"]]:
        """Mean of the function, and standard deviation of an observation around it."""
        noise = np.mean(self.noise() ** 2, axis=0)
        means, sds = [], []
        for block in self._blocks(X):
            means.append(block.mean(axis=0))
            sds.append(np.sqrt(block.var(axis=0) + noise))
        return np.concatenate(means), np.concatenate(sds)

    def interval(
        self,
        X: Float[np.ndarray, "rows inputs"],
        level: float,
        rng: np.random.Generator | None,
    ) -> tuple[Float[np.ndarray, "rows outputs"], Float[np.ndarray, "rows outputs"]]:
        """Central interval of the function, or of an observation when given `rng`."""
        tails = [(1 - level) / 2, (1 + level) / 2]
        scatter = np.zeros((self.size, 1, self.network.outputs))
        if rng is not None:
            # One for all rows: a row's interval does not depend on its neighbours.
            scatter = self.noise()[:, None] * rng.standard_normal(scatter.shape)
        ends = []
        for functions in self._blocks(X):
            ends.append(np.quantile(functions + scatter, tails, axis=0))
        low, high = np.concatenate(ends, axis=1)
        return low, high

    def probabilities(
        self, X: Float[np.ndarray, "rows inputs"]
    ) -> Float[np.ndarray, "rows classes"]:
        """Mean class probabilities over the draws."""
        if not isinstance(self.likelihood, Categorical):
            raise TypeError("only a categorical likelihood has class probabilities")
        weights = jax.tree.map(jnp.asarray, self.draws.weights)
        means = np.concatenate(
            [
                np.asarray(_mean_softmax(self.network, weights, xs), float)[:count]
                for xs, count in self._padded(X)
            ]
        )
        # Single precision adds up to one only nearly, and some callers insist.
        return means / means.sum(axis=1, keepdims=True)

    def noise(self) -> Float[np.ndarray, "draws outputs"]:
        """Every draw's noise standard deviation; zero for classes."""
        if not isinstance(self.likelihood, GaussianNoise):
            return np.zeros((self.size, self.network.outputs))
        scale = 1.0 if self.units is None else self.units.y_scale
        if self.likelihood.known:
            return scale * np.tile(np.asarray(self.likelihood.sd), (self.size, 1))
        return scale * np.exp(np.asarray(self.draws.noise["log_sd"], float))

    def _some(self, most: int) -> "Predictive":
        rows = np.unique(np.linspace(0, self.size - 1, most).astype(int))
        draws = jax.tree.map(lambda a: a[rows], self.draws)
        return dataclasses.replace(self, draws=draws)

    def _blocks(self, X: Float[np.ndarray, "rows inputs"]) -> Iterator[FunctionValues]:
        """Function values in a person's units, a block of rows at a time."""
        weights = jax.tree.map(jnp.asarray, self.draws.weights)
        for xs, count in self._padded(X):
            values = np.asarray(_values(self.network, weights, xs), float)[:, :count]
            yield values if self.units is None else self.units.outputs(values)

    def _padded(
        self, X: Float[np.ndarray, "rows inputs"]
    ) -> Iterator[tuple[jax.Array, int]]:
        """Blocks of rows in standard units, and how many of them are real.

        Blocks are padded to one of few sizes, so that new row counts do not compile.
        """
        room = max(16, 2 ** int(np.log2(max(16, _ROOM // self.size))))
        X = np.asarray(X, float)
        X = X if self.units is None else self.units.standard_inputs(X)
        for start in range(0, len(X), room):
            rows = X[start : start + room]
            size = min(room, max(16, 2 ** int(np.ceil(np.log2(len(rows))))))
            padded = np.concatenate([rows, np.repeat(rows[-1:], size - len(rows), 0)])
            yield jnp.asarray(padded, float), len(rows)


@eqx.filter_jit
def _values(network: Network, weights: Position, xs: Inputs) -> jax.Array:
    return jax.vmap(network.batch, in_axes=(0, None))(weights, xs)


@eqx.filter_jit
def _mean_softmax(network: Network, weights: Position, xs: Inputs) -> jax.Array:
    logits = jax.vmap(network.batch, in_axes=(0, None))(weights, xs)
    return jnp.mean(jax.nn.softmax(logits, axis=-1), axis=0)
