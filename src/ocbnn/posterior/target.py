"""The one log density that inference sees, and its named parts.

A `Target` is a pytree: data, points and scales are leaves, everything else is static.
Functions compiled for one target serve every other of the same shape. It needs nothing
of this library around it: hand `target.logdensity` to any sampler that takes a
function of a pytree, and start it at `target.initial(key)`.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Sharding
from jaxtyping import Array, Float

from ocbnn.core.processes import put
from ocbnn.core.ravel import Raveller, Vector
from ocbnn.core.stored import Stored, fetch
from ocbnn.core.types import Function, Inputs, Outputs, RandomKey, Scalar, Targets
from ocbnn.core.units import Units
from ocbnn.errors import DataError, SettingError
from ocbnn.networks import Network
from ocbnn.posterior.collapsed import Collapsed
from ocbnn.posterior.likelihoods import Gaussian, Likelihood
from ocbnn.posterior.position import Model
from ocbnn.priors import Law, RuleTerm, WeightPrior, alike, log_gs

# Row numbers are drawn with 32 bits.
_MOST_ROWS = 2**31 - 1


# Not an Equinox module: bound methods of those are pytrees, which have no hash, and
# `jax.jit(target.logdensity)` asks for one.
@jax.tree_util.register_pytree_with_keys_class
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Target:
    """`log p(W) + log g(W|C) + log p(D|W)`; without data, the constrained prior.

    Attributes
    ----------
    network
        The function family, in standard units.
    weight_prior
        p(W).
    likelihood
        p(D|W), in standard units.
    rules
        The terms of g(W|C), made for these units.
    X
        Inputs in standard units; in memory, or in a file that batches are read from.
    Y
        Targets in standard units, or class numbers; likewise.
    units
        How the two kinds of units relate; None when they are the same.
    batch_size
        Rows per stochastic estimate; all when None.
    """

    network: Network
    weight_prior: WeightPrior
    likelihood: Likelihood
    rules: tuple[RuleTerm, ...] = ()
    X: Inputs | Stored | None = None
    Y: Targets | Stored | None = None
    units: Units | None = None
    batch_size: int | None = None

    def __post_init__(self) -> None:
        if (self.X is None) != (self.Y is None):
            raise DataError("a target needs both inputs X and targets Y, or neither.")
        if self.X is not None and self.Y is not None:
            if self.X.shape[0] != self.Y.shape[0]:
                raise DataError(
                    "X and Y need one row per observation, got "
                    f"{self.X.shape[0]} and {self.Y.shape[0]} rows."
                )
            if self.X.shape[1] != self.network.inputs:
                raise DataError(
                    f"the network takes {self.network.inputs} inputs, but X has "
                    f"{self.X.shape[1]} columns."
                )
        if isinstance(self.X, Stored) or isinstance(self.Y, Stored):
            self._check_stored()
        for term in self.rules:
            term.check_units(self.units)
            self._check_bounded(term)
        Y = self.Y
        if isinstance(Y, Stored):
            Y = jnp.asarray(Y.take(np.zeros(1, int)))
        self.likelihood.check(self.network.outputs, Y)

    def _check_bounded(self, term: RuleTerm) -> None:
        """Normal weights outweigh a reward that grows as they do; scales do not."""
        laws = (term.law,) if term.also is None else (term.law, term.also)
        is_bounded = all(law.density.is_bounded for law in laws)
        if self.weight_prior.kind == "learned" and not is_bounded:
            raise SettingError(
                f"rule {term.bound.name!r} rewards functions the more the surer they "
                "are, without limit, and scales that are learned would follow it to "
                f"infinity: forbidden={term.bound.rule.forbidden:g} is below 1. Give "
                'the rule [forbidden=1], or write weight_prior="fan-in".'
            )

    def _check_stored(self) -> None:
        if not (isinstance(self.X, Stored) and isinstance(self.Y, Stored)):
            raise DataError("X and Y must both be rows in a file, or both in memory.")
        if self.batch_size is None:
            raise SettingError(
                "rows in a file are read in batches: write batch_size=512, say."
            )
        if self.rows > _MOST_ROWS:
            raise DataError(
                f"rows in a file may be {_MOST_ROWS:,} at most, got {self.rows:,}. "
                "Use a part of them."
            )

    def __repr__(self) -> str:
        return eqx.tree_pformat(self)

    def tree_flatten_with_keys(self) -> tuple[list[tuple[Any, Any]], int | None]:
        """Children by name, and what is static: the batch size."""
        *children, (_, batch_size) = vars(self).items()
        named = [(jax.tree_util.GetAttrKey(name), one) for name, one in children]
        return named, batch_size

    @classmethod
    def tree_unflatten(cls, batch_size: int | None, children: Any) -> "Target":
        """The target of these children, unchecked: JAX may put anything into it."""
        made = object.__new__(cls)
        names = [field.name for field in dataclasses.fields(cls)]
        vars(made).update(zip(names, (*children, batch_size), strict=True))
        return made

    @property
    def rows(self) -> int:
        """How many observations there are."""
        return 0 if self.X is None else self.X.shape[0]

    @property
    def data(self) -> tuple[Inputs | None, Targets | None]:
        """All rows.

        Raises
        ------
        SettingError
            When they are in a file, and too many to be asked for at once.
        """
        if isinstance(self.X, Stored) or isinstance(self.Y, Stored):
            raise SettingError(
                f"all {self.rows:,} rows were asked for at once, and they are in a "
                "file. Only algorithms that take batches can use them: SGLD, SGHMC, "
                "SVGD, VI and Ensemble. Others need rows that are in memory."
            )
        return self.X, self.Y

    def shapes(self) -> Model:
        """The structure of a position."""
        return Model(self.network.shapes(), self.likelihood.shapes())

    def ravel(self, position: Model) -> Vector:
        """A position as one flat vector, for samplers that want one."""
        return Raveller(self.shapes()).ravel(position)

    def unravel(self, vector: Vector) -> Model:
        """The position that `ravel` made a vector of."""
        return Raveller(self.shapes()).unravel(vector)

    def initial(self, key: RandomKey) -> Model:
        """A draw from the prior on weights and noise, rules aside."""
        key_weights, key_noise = jax.random.split(key)
        return Model(
            self.weight_prior.sample(key_weights, self.network),
            self.likelihood.sample_parameters(key_noise),
        )

    def placed(self, rows: Sharding, whole: Sharding) -> "Target":
        """The same on several devices: rows laid out one way, all else another."""
        copied = jax.tree.map(lambda a: put(a, whole) if eqx.is_array(a) else a, self)
        if self.X is None or isinstance(self.X, Stored):
            return copied
        data = lambda target: (target.X, target.Y)
        return eqx.tree_at(data, copied, (put(self.X, rows), put(self.Y, rows)))

    def logdensity(self, position: Model) -> Scalar:
        """The exact log density: all data, fixed points."""
        reference, rest = self.split(position)
        return reference + rest

    def split(self, position: Model) -> tuple[Scalar, Scalar]:
        """The part that `initial` draws from, and the part that rules and data add."""
        points = [term.points for term in self.rules]
        logs, data = self._added(position, points, *self.data, 1.0)
        return self._reference(position), data + jnp.sum(logs)

    def stages(self, position: Model) -> tuple[Scalar, ...]:
        """What `initial` draws from, the data, and the rules.

        Data come before rules: among functions that fit, those that a rule leaves are
        found with their right shares. With both switched on together, functions that
        fit badly but keep the rule can win on the way, and the others never come back.
        """
        points = [term.points for term in self.rules]
        logs, data = self._added(position, points, *self.data, 1.0)
        if not self.rules:
            return self._reference(position), data
        rules = jnp.sum(logs)
        if self.X is None:
            return self._reference(position), rules
        return self._reference(position), data, rules

    def stochastic_logdensity(self, position: Model, key: RandomKey) -> Scalar:
        """An estimate from a batch of rows, rescaled, and fresh points for each rule.

        Its mean over keys is the log density with the rules' points averaged out.
        """
        key_rows, key_points = jax.random.split(key)
        X, Y, factor = self._batch(key_rows)
        points = self._fresh_points(key_points)
        logs, data = self._added(position, points, X, Y, factor)
        return self._reference(position) + data + jnp.sum(logs)

    def local_logdensity(self, mean: Model, sd: Model, key: RandomKey) -> Scalar:
        """An estimate of the mean of the log density under independent normal weights.

        The weights' own density has its mean in closed form, and every row of data its
        own noise, drawn at the network's units. A rule speaks of a function, which is
        one draw of all weights.
        """
        key_rows, key_points, key_noise, key_units = jax.random.split(key, 4)
        leaves, structure = jax.tree.flatten(mean)
        keys = jax.random.split(key_noise, len(leaves))
        draw = lambda m, s, k: m + s * jax.random.normal(k, m.shape, m.dtype)
        widths = jax.tree.leaves(sd)
        position: Model = jax.tree.unflatten(structure, map(draw, leaves, widths, keys))
        prior = self.weight_prior.mean_logdensity(
            self.network, mean.weights, sd.weights
        )
        total = prior + self.likelihood.log_prior(position.noise)
        X, Y, factor = self._batch(key_rows)
        if X is not None and Y is not None:
            values = self.network.noisy_batch(mean.weights, sd.weights, key_units, X)
            logs = self.likelihood.loglik(position.noise, X, values, Y)
            total = total + factor * jnp.sum(logs)
        points = self._fresh_points(key_points)
        logs, _ = self._added(position, points, None, None, 1.0)
        return total + jnp.sum(logs)

    def collapsed(self) -> Collapsed | None:
        """The density without the last layer's weights, where they can be integrated.

        That takes normal observations in memory, no rules, and a network that is linear
        in these weights.
        """
        network, likelihood, X = self.network.linear, self.likelihood, self.X
        if network is None or not isinstance(likelihood, Gaussian) or self.rules:
            return None
        if X is None or isinstance(X, Stored):
            return None
        rest = Collapsed(network, self.weight_prior, likelihood, X, self.Y)
        return rest if jax.tree.leaves(rest.shapes()) else None

    def last_layer(self) -> Model:
        """Which arrays of a position belong to the network's last layer."""
        noise = jax.tree.map(lambda _: False, self.likelihood.shapes())
        return Model(self.network.last_layer(), noise)

    def _batch(self, key: RandomKey) -> tuple[Inputs | None, Targets | None, float]:
        """Some rows, and by how much they must be made to count more."""
        X, Y = self.X, self.Y
        if X is None or Y is None:
            return None, None, 1.0
        size = min(self.batch_size or self.rows, self.rows)
        is_whole, factor = size == self.rows, self.rows / size
        numbers = (
            jnp.arange(size)
            if is_whole
            else jax.random.randint(key, (size,), 0, self.rows)
        )
        if isinstance(X, Stored) and isinstance(Y, Stored):
            return (*fetch(X, Y, numbers), factor)
        assert not isinstance(X, Stored)
        assert not isinstance(Y, Stored)
        return (X, Y, factor) if is_whole else (X[numbers], Y[numbers], factor)

    def _fresh_points(self, key: RandomKey) -> list[Float[Array, "_ inputs"]]:
        keys = jax.random.split(key, max(1, len(self.rules)))
        return [t.fresh(k) for t, k in zip(self.rules, keys, strict=False)]

    def parts(self, position: Model) -> dict[str, Scalar]:
        """Every rule's share of the log density beside those of weights and data.

        Of rows in a file, the data's share is an estimate from one batch.

        A function compiled with a target as its argument serves all of its shape, and
        answers with the first one's names; `inference.parts.parts_at` asks anew.
        """
        points = [term.points for term in self.rules]
        rows = (
            self._batch(jax.random.key(0))
            if isinstance(self.X, Stored)
            else (*self.data, 1.0)
        )
        logs, data = self._added(position, points, *rows)
        shares = {"weights": self._reference(position)}
        for term, log in zip(self.rules, logs, strict=True):
            shares[f"rule {term.bound.name!r}"] = log
        return {**shares, "data": data}

    def _reference(self, position: Model) -> Scalar:
        weights = self.weight_prior.logdensity(self.network, position.weights)
        return weights + self.likelihood.log_prior(position.noise)

    def _added(
        self,
        position: Model,
        points: Sequence[Float[Array, "_ inputs"]],
        X: Inputs | None,
        Y: Targets | None,
        factor: float,
    ) -> tuple[Float[Array, " rules"], Scalar]:
        """Each rule's `log g` and the data's log likelihood, in one forward pass."""
        owners, laws, points = self._felt(position, points)
        groups = alike(laws, points)
        # One block for all rules of a form, however many there are.
        xs = [jnp.stack([points[place] for place in places]) for places in groups]
        inner = [block.reshape(-1, block.shape[-1]) for block in xs]
        blocks = [*([] if X is None else [X]), *inner]
        if not blocks:
            return jnp.zeros((0,)), jnp.zeros(())
        values = self.network.batch(position.weights, jnp.concatenate(blocks))
        split = _split_rows(values, [block.shape[0] for block in blocks])
        data = jnp.zeros((), values.dtype)
        if X is not None and Y is not None:
            logs = self.likelihood.loglik(position.noise, X, split[0], Y)
            data, split = factor * jnp.sum(logs), split[1:]
        ys = [
            block.reshape(*places.shape[:2], -1)
            for block, places in zip(split, xs, strict=True)
        ]
        logs = log_gs(laws, groups, xs, ys, self._inner(position))
        if len(laws) > len(self.rules):
            logs = jnp.zeros((len(self.rules),), logs.dtype).at[owners].add(logs)
        return logs, data

    def _felt(
        self, position: Model, points: Sequence[Float[Array, "_ inputs"]]
    ) -> tuple[np.ndarray, list[Law], list[Float[Array, "_ inputs"]]]:
        """All laws: the rule that each belongs to, the law, and where it is felt."""
        function = self._inner(jax.tree.map(jax.lax.stop_gradient, position))
        owners, laws, felt = [], [], []
        for owner, (term, xs) in enumerate(zip(self.rules, points, strict=True)):
            for law, at in term.parts(xs, function):
                owners.append(owner)
                laws.append(law)
                felt.append(at)
        return np.array(owners, int), laws, felt

    def function(self, position: Model) -> Function:
        """The function of one position, from and to the user's units."""
        inner, units = self._inner(position), self.units
        if units is None:
            return inner
        return lambda x: units.traced_outputs(inner(units.traced_inputs(x)))

    def _inner(self, position: Model) -> Function:
        """The function of one position in standard units, as rules see it."""
        return lambda x: self.network.apply(position.weights, x)


def _split_rows(
    values: Outputs, sizes: Sequence[int]
) -> list[Float[Array, "_ outputs"]]:
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [values[a : a + n] for a, n in zip(starts, sizes, strict=True)]
