"""Predictions from draws: function values, means, spreads and intervals."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Float

from ocbnn.core.rows import evenly
from ocbnn.core.slopes import slope_scale, slopes_at
from ocbnn.core.types import Along, Input, Inputs, Position
from ocbnn.core.units import Units
from ocbnn.inference import Draws
from ocbnn.inference.layout import chosen_devices
from ocbnn.networks import Network
from ocbnn.posterior import (
    Categorical,
    Gaussian,
    GaussianNoise,
    Likelihood,
    Model,
    Target,
    TruncatedGaussian,
)
from ocbnn.predictive import mixtures, truncated

FunctionValues = Float[np.ndarray, "draws rows outputs"]
NoiseValues = Float[np.ndarray, "draws #rows outputs"]
Limits = tuple[Float[np.ndarray, " outputs"], Float[np.ndarray, " outputs"]]

# Values of a network's widest layer in memory at a time: memory does not grow with the
# number of rows, and new values are still in the processor's cache.
_MAX_VALUES = 2**22


class Summary(NamedTuple):
    """A summary of an observation at every row, with one column for each output."""

    mean: Float[np.ndarray, "rows *outputs"]
    sd: Float[np.ndarray, "rows *outputs"]
    lower: Float[np.ndarray, "rows *outputs"]
    upper: Float[np.ndarray, "rows *outputs"]


@dataclasses.dataclass(frozen=True)
class Predictive:
    """A network, its likelihood, and draws of all their weights along one axis.

    Inputs and predictions are in the user's units. Rows are divided among `devices`.
    """

    network: Network
    likelihood: Likelihood
    draws: Model
    units: Units | None = None
    devices: tuple[Any, ...] = ()

    @classmethod
    def of(
        cls, target: Target, draws: Model, devices: tuple[Any, ...] = ()
    ) -> "Predictive":
        """Predictions with draws from a target, its learned scales put into weights."""
        network, weights = target.network.plain(draws.weights)
        plain = Model(weights, draws.noise)
        return cls(network, target.likelihood, plain, target.units, devices)

    @property
    def size(self) -> int:
        """The number of draws."""
        return jax.tree.leaves(self.draws)[0].shape[0]

    def functions(
        self, X: Float[np.ndarray, "rows inputs"], most: int | None = None
    ) -> FunctionValues:
        """Every draw's function at every row; at most `most` draws, evenly chosen."""
        chosen = self.thinned(most)
        return np.concatenate(list(chosen._blocks(X)), axis=1)

    def inner_functions(self, X: Float[np.ndarray, "rows inputs"]) -> FunctionValues:
        """Every draw's function at every row, in the network's units.

        Far from zero, user's units leave few digits for differences between draws.
        """
        return np.concatenate(list(self._inner_blocks(X)), axis=1)

    def slopes(
        self,
        X: Float[np.ndarray, "rows inputs"],
        alongs: Sequence[Along],
        most: int | None = None,
    ) -> dict[Along, FunctionValues]:
        """Derivatives of the functions of the draws that `functions` uses."""
        chosen = self.thinned(most)
        weights = jax.tree.map(jnp.asarray, chosen.draws.weights)
        blocks = [
            jax.tree.map(
                lambda values, count=count: np.asarray(values, float)[:, :count],
                _slopes(self.network, weights, xs, tuple(alongs)),
            )
            for xs, count in chosen._padded(X)
        ]
        units = self.units or Units.plain(self.network.inputs, self.network.outputs)
        return {
            along: np.concatenate([block[along] for block in blocks], axis=1)
            * slope_scale(along, units.y_scale, units.x_scale)
            for along in alongs
        }

    def mean_and_sd(
        self, X: Float[np.ndarray, "rows inputs"]
    ) -> tuple[Float[np.ndarray, "rows outputs"], Float[np.ndarray, "rows outputs"]]:
        """Mean and standard deviation of an observation.

        Without limits on observations the mean is also that of the function.
        """
        moments = (self._moments(*block) for block in self._observed_blocks(X))
        mean, sd = self._joined(moments, len(X), 2)
        return mean, sd

    def interval(
        self,
        X: Float[np.ndarray, "rows inputs"],
        level: float,
        *,
        observed: bool,
    ) -> tuple[Float[np.ndarray, "rows outputs"], Float[np.ndarray, "rows outputs"]]:
        """Central interval of the function, or of an observation of it."""
        if observed:
            limits, blocks = self.limits(), self._observed_blocks(X)
            ends = [mixtures.central(*block, level, limits) for block in blocks]
        else:
            ends = [_ends(values, level) for values in self._blocks(X)]
        low, high = np.concatenate(ends, axis=1)
        return low, high

    def summary(self, X: Float[np.ndarray, "rows inputs"], level: float) -> Summary:
        """Mean, standard deviation and interval of an observation, in one pass."""
        limits = self.limits()
        columns = (
            (*self._moments(*block), *mixtures.central(*block, level, limits))
            for block in self._observed_blocks(X)
        )
        return Summary(*self._joined(columns, len(X), 4))

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
        # In single precision the sum is only close to one, and some callers check it.
        return means / means.sum(axis=1, keepdims=True)

    def noise(self) -> Float[np.ndarray, "draws outputs"] | None:
        """Every draw's noise if it is the same for all inputs; zero for classes."""
        likelihood = self._gaussian()
        if likelihood is None:
            return np.zeros((self.size, self.network.outputs))
        if not isinstance(likelihood, GaussianNoise):
            return None
        if likelihood.known:
            return self._scale * np.tile(np.asarray(likelihood.sd), (self.size, 1))
        return self._scale * np.exp(np.asarray(self.draws.noise["log_sd"], float))

    def noise_at(
        self, X: Float[np.ndarray, "rows inputs"], most: int | None = None
    ) -> FunctionValues:
        """Every draw's noise at every row, for the draws that `functions` uses."""
        chosen = self.thinned(most)
        constant = chosen.noise()
        if constant is not None:
            return np.repeat(constant[:, None], len(X), axis=1)
        return np.concatenate(list(chosen._noise_blocks(X)), axis=1)

    def limits(self) -> Limits | None:
        """The least and the greatest observation there can be, if there is one."""
        if not isinstance(self.likelihood, TruncatedGaussian):
            return None
        ends = (np.asarray(self.likelihood.low), np.asarray(self.likelihood.high))
        low, high = ends if self.units is None else map(self.units.outputs, ends)
        return low, high

    def _joined(
        self, blocks: Iterable[Sequence[np.ndarray]], rows: int, count: int
    ) -> list[np.ndarray]:
        """Each of `count` numbers of all rows, from those of blocks of rows."""
        # Written where they stay: a list of blocks would need the memory twice.
        whole = [np.empty((rows, self.network.outputs)) for _ in range(count)]
        start = 0
        for parts in blocks:
            stop = start + len(parts[0])
            for all_rows, part in zip(whole, parts, strict=True):
                all_rows[start:stop] = part
            start = stop
        return whole

    def _moments(
        self, values: FunctionValues, noise: NoiseValues
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of an observation at a block of rows."""
        limits, centre, variance = self.limits(), values, noise**2
        if limits is not None:
            centre, variance = truncated.mean_and_variance(*limits, values, noise)
        sd = np.sqrt(centre.var(axis=0) + variance.mean(axis=0))
        return centre.mean(axis=0), sd

    @property
    def _scale(self) -> float | np.ndarray:
        return 1.0 if self.units is None else self.units.y_scale

    def _gaussian(self) -> Gaussian | None:
        inner = self.likelihood
        inner = inner.inner if isinstance(inner, TruncatedGaussian) else inner
        return inner if isinstance(inner, Gaussian) else None

    def thinned(self, most: int | None) -> "Predictive":
        """At most `most` of the draws, evenly chosen; all when None."""
        if most is None or most >= self.size:
            return self
        rows = evenly(self.size, most)
        draws = jax.tree.map(lambda a: a[rows], self.draws)
        return dataclasses.replace(self, draws=draws)

    def _blocks(self, X: Float[np.ndarray, "rows inputs"]) -> Iterator[FunctionValues]:
        """Function values in the user's units, a block of rows at a time."""
        for values in self._inner_blocks(X):
            yield values if self.units is None else self.units.outputs(values)

    def _inner_blocks(
        self, X: Float[np.ndarray, "rows inputs"]
    ) -> Iterator[FunctionValues]:
        weights = jax.tree.map(jnp.asarray, self.draws.weights)
        for xs, count in self._padded(X):
            yield np.asarray(_values(self.network, weights, xs), float)[:, :count]

    def _observed_blocks(
        self, X: Float[np.ndarray, "rows inputs"]
    ) -> Iterator[tuple[FunctionValues, NoiseValues]]:
        """Function values and the noise around them, a block of rows at a time."""
        yield from zip(self._blocks(X), self._noise_blocks(X), strict=True)

    def _noise_blocks(
        self, X: Float[np.ndarray, "rows inputs"]
    ) -> Iterator[NoiseValues]:
        """The noise at the same blocks of rows, or one row if all have the same."""
        constant, likelihood = self.noise(), self._gaussian()
        parameters = jax.tree.map(jnp.asarray, self.draws.noise)
        for xs, count in self._padded(X):
            if constant is not None or likelihood is None:
                yield np.asarray(constant)[:, None]
            else:
                noise = np.asarray(_noise(likelihood, parameters, xs), float)
                yield self._scale * noise[:, :count]

    def _padded(
        self, X: Float[np.ndarray, "rows inputs"]
    ) -> Iterator[tuple[jax.Array, int]]:
        """Blocks of rows in standard units, and how many of them are not padding.

        Blocks are padded to one of few sizes, so that new row counts do not compile.
        """
        block_size = 2 ** int(
            np.log2(max(16, _MAX_VALUES // (self.size * self._width)))
        )
        put = self._put()
        X = np.asarray(X, float)
        X = X if self.units is None else self.units.standard_inputs(X)
        for start in range(0, len(X), block_size):
            rows = X[start : start + block_size]
            size = min(block_size, max(16, 2 ** int(np.ceil(np.log2(len(rows))))))
            padded = np.concatenate([rows, np.repeat(rows[-1:], size - len(rows), 0)])
            yield put(jnp.asarray(padded, float)), len(rows)

    @property
    def _width(self) -> int:
        """The width of the widest layer, which bounds memory per draw and row."""
        leaves = jax.tree.leaves(self.draws.weights)
        return max(self.network.outputs, *(leaf.shape[-1] for leaf in leaves))

    def _put(self) -> Callable[[jax.Array], jax.Array]:
        """A function that shards rows; their number is a power of two, at least 16."""
        if not self.devices:
            return lambda rows: rows
        count = 2 ** int(np.log2(min(16, len(self.devices))))
        mesh = Mesh(np.array(self.devices[:count]), ("rows",))
        return lambda rows: jax.device_put(
            rows, NamedSharding(mesh, PartitionSpec("rows"))
        )


def predict_with(target: Target, draws: Draws, devices: object = None) -> Predictive:
    """Predictions with draws from a target, with rows divided among devices."""
    chosen = () if devices is None else chosen_devices(devices)
    # Each process predicts by itself, so that one can predict without the others.
    local_devices = tuple(
        device for device in chosen if device.process_index == jax.process_index()
    )
    return Predictive.of(target, draws.stacked(), local_devices)


def _ends(values: FunctionValues, level: float) -> Float[np.ndarray, "2 rows outputs"]:
    return np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)


@eqx.filter_jit
def _values(network: Network, weights: Position, xs: Inputs) -> jax.Array:
    return jax.vmap(network.batch, in_axes=(0, None))(weights, xs)


@eqx.filter_jit
def _noise(likelihood: Gaussian, parameters: Position, xs: Inputs) -> jax.Array:
    return jax.vmap(likelihood.noise, in_axes=(0, None))(parameters, xs)


@eqx.filter_jit
def _slopes(
    network: Network, weights: Position, xs: Inputs, alongs: tuple[Along, ...]
) -> dict[Along, jax.Array]:
    def at_one(weights: Position, x: Input) -> dict[Along, jax.Array]:
        return slopes_at(lambda x: network.apply(weights, x), x, alongs)

    return jax.vmap(jax.vmap(at_one, (None, 0)), (0, None))(weights, xs)


@eqx.filter_jit
def _mean_softmax(network: Network, weights: Position, xs: Inputs) -> jax.Array:
    logits = jax.vmap(network.batch, in_axes=(0, None))(weights, xs)
    return jnp.mean(jax.nn.softmax(logits, axis=-1), axis=0)
