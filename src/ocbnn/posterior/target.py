"""The log density that inference sees, and its named parts.

A `Target` is a pytree: data, points and scales are leaves, everything else is static.
Functions compiled for one target serve every other of the same shape. Other libraries
can use it, too: pass `target.logdensity` to any sampler that takes a function of a
pytree, and start it at `target.initial(key)`.
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
from ocbnn.networks import Network, ScaledNetwork
from ocbnn.posterior.collapsed import Collapsed
from ocbnn.posterior.likelihoods import Gaussian, Likelihood
from ocbnn.posterior.position import Model
from ocbnn.priors import Law, Prior, RuleTerm, alike, log_gs

# Row numbers are drawn with 32 bits.
_MAX_ROWS = 2**31 - 1


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
        Inputs in standard units, in memory or in a file from which batches are read.
    Y
        Targets in standard units, or class numbers; likewise.
    units
        How standard and user's units relate; None when they are the same.
    batch_size
        Rows per stochastic estimate; all when None.

    Raises
    ------
    DataError
        When `X` and `Y` do not fit each other or the network.
    SettingError
        When rows in a file have no `batch_size`, or a rule rewards ever larger weights
        without limit and `weight_prior` does not outweigh it.
    """

    network: Network
    weight_prior: Prior
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
        object.__setattr__(self, "rules", tuple(map(self.bounded, self.rules)))
        Y = self.Y
        if isinstance(Y, Stored):
            Y = jnp.asarray(Y.take(np.zeros(1, int)))
        self.likelihood.check(self.network.outputs, Y)

    def bounded(self, term: RuleTerm) -> RuleTerm:
        """The term without rewards that the prior on weights does not outweigh.

        Normal priors on weights outweigh rewards without limit, heavy tails and priors
        on scales do not. Where a rule leaves its settings open, they become such that
        the reward is limited.

        Parameters
        ----------
        term
            A rule's term.

        Raises
        ------
        SettingError
            When its settings say otherwise.
        """
        if self.weight_prior.has_light_tails:
            return term
        term = term.bounded()
        if all(law.density.is_bounded for law in term.laws):
            return term
        is_learned = isinstance(self.network, ScaledNetwork)
        kind = type(self.weight_prior).__name__
        consequence = (
            "so learned scales would grow to infinity"
            if is_learned
            else f"and the tails of the weight prior {kind} may be too heavy for that"
        )
        raise SettingError(
            f"rule {term.bound.name!r} rewards ever larger logits without limit, "
            f"{consequence}: forbidden={term.bound.rule.forbidden:g} is below 1. Give "
            'the rule [forbidden=1], or write weight_prior="fan-in".'
        )

    def _check_stored(self) -> None:
        if not (isinstance(self.X, Stored) and isinstance(self.Y, Stored)):
            raise DataError("X and Y must both be rows in a file, or both in memory.")
        if self.batch_size is None:
            raise SettingError(
                "rows in a file are read in batches. Write for example batch_size=512."
            )
        if self.rows > _MAX_ROWS:
            raise DataError(
                f"a file may have at most {_MAX_ROWS:,} rows, got {self.rows:,}. "
                "Use a part of them."
            )

    def __repr__(self) -> str:
        return eqx.tree_pformat(self)

    def tree_flatten_with_keys(self) -> tuple[list[tuple[Any, Any]], int | None]:
        """Children by name, and what is static: the batch size."""
        *children, (_, batch_size) = vars(self).items()
        named = [(jax.tree_util.GetAttrKey(name), child) for name, child in children]
        return named, batch_size

    @classmethod
    def tree_unflatten(cls, batch_size: int | None, children: Any) -> "Target":
        """The target of these children, unchecked, because JAX may pass any objects.

        Parameters
        ----------
        batch_size
            What is static.
        children
            All other fields, in their order.
        """
        target = object.__new__(cls)
        names = [field.name for field in dataclasses.fields(cls)]
        vars(target).update(zip(names, (*children, batch_size), strict=True))
        return target

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
            When they are in a file, too large to be read at once.
        """
        if isinstance(self.X, Stored) or isinstance(self.Y, Stored):
            raise SettingError(
                f"this algorithm needs all {self.rows:,} rows at once, and they are in "
                "a file. Use one that takes batches: SGLD, SGHMC, SVGD, VI or "
                "Ensemble."
            )
        return self.X, self.Y

    def shapes(self) -> Model:
        """The structure of a position."""
        return Model(self.network.shapes(), self.likelihood.shapes())

    def ravel(self, position: Model) -> Vector:
        """A position as one flat vector, for samplers that want one.

        Parameters
        ----------
        position
            Weights and noise, structured like `shapes()`.
        """
        return Raveller(self.shapes()).ravel(position)

    def unravel(self, vector: Vector) -> Model:
        """The position that `ravel` made a vector of.

        Parameters
        ----------
        vector
            The vector.
        """
        return Raveller(self.shapes()).unravel(vector)

    def initial(self, key: RandomKey) -> Model:
        """A draw from the prior on weights and noise, without rules.

        Parameters
        ----------
        key
            Determines the draw.
        """
        key_weights, key_noise = jax.random.split(key)
        return Model(
            self.weight_prior.sample(key_weights, self.network),
            self.likelihood.sample_parameters(key_noise),
        )

    def placed(self, rows: Sharding, whole: Sharding) -> "Target":
        """The target on several devices.

        Parameters
        ----------
        rows
            How rows of data are sharded.
        whole
            Where everything else is, replicated.
        """
        replicated = jax.tree.map(
            lambda a: put(a, whole) if eqx.is_array(a) else a, self
        )
        if self.X is None or isinstance(self.X, Stored):
            return replicated
        data = lambda target: (target.X, target.Y)
        return eqx.tree_at(data, replicated, (put(self.X, rows), put(self.Y, rows)))

    def logdensity(self, position: Model) -> Scalar:
        """The exact log density: all data, fixed points.

        Parameters
        ----------
        position
            Weights and noise, structured like `shapes()`.

        Returns
        -------
        Scalar
            The sum of `parts`, up to a constant.
        """
        reference, rest = self.split(position)
        return reference + rest

    def split(self, position: Model) -> tuple[Scalar, Scalar]:
        """The part that `initial` draws from, and the part that rules and data add.

        Parameters
        ----------
        position
            Weights and noise, structured like `shapes()`.
        """
        points = [term.points for term in self.rules]
        logs, data = self._rule_and_data_terms(position, points, *self.data, 1.0)
        return self._reference(position), data + jnp.sum(logs)

    def stages(self, position: Model) -> tuple[Scalar, ...]:
        """The density that `initial` draws from, then the data's, then the rules'.

        Data come before rules: functions that fit and keep the rules then get their
        right shares. If both were tempered together, functions that keep the rules but
        fit badly could win on the way, and the others would never come back.

        Parameters
        ----------
        position
            Weights and noise, structured like `shapes()`.
        """
        points = [term.points for term in self.rules]
        logs, data = self._rule_and_data_terms(position, points, *self.data, 1.0)
        if not self.rules:
            return self._reference(position), data
        rules = jnp.sum(logs)
        if self.X is None:
            return self._reference(position), rules
        return self._reference(position), data, rules

    def stochastic_logdensity(self, position: Model, key: RandomKey) -> Scalar:
        """An estimate from a batch of rows, rescaled, and fresh points for each rule.

        Its mean over keys is the log density with the rules' points averaged out.

        Parameters
        ----------
        position
            Weights and noise, structured like `shapes()`.
        key
            Chooses the rows and the points.
        """
        key_rows, key_points = jax.random.split(key)
        X, Y, factor = self._batch(key_rows)
        points = self._fresh_points(key_points)
        logs, data = self._rule_and_data_terms(position, points, X, Y, factor)
        return self._reference(position) + data + jnp.sum(logs)

    def local_logdensity(self, mean: Model, sd: Model, key: RandomKey) -> Scalar:
        """An estimate of the mean of the log density under independent normal weights.

        The mean of the weights' density has a closed form for normal priors; others are
        evaluated at one draw of all weights. Every row of data has its
        own noise, drawn at the network's units. A rule applies to a function, so it is
        evaluated at one draw of all weights.

        Parameters
        ----------
        mean
            Means of weights and noise, structured like `shapes()`.
        sd
            Their standard deviations, likewise.
        key
            Chooses the draw, the rows and the points.
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
        if prior is None:
            prior = self.weight_prior.logdensity(self.network, position.weights)
        total = prior + self.likelihood.log_prior(position.noise)
        X, Y, factor = self._batch(key_rows)
        if X is not None and Y is not None:
            values = self.network.noisy_batch(mean.weights, sd.weights, key_units, X)
            logs = self.likelihood.loglik(position.noise, X, values, Y)
            total = total + factor * jnp.sum(logs)
        points = self._fresh_points(key_points)
        logs, _ = self._rule_and_data_terms(position, points, None, None, 1.0)
        return total + jnp.sum(logs)

    def collapsed(self) -> Collapsed | None:
        """The density without the last layer's weights, where they can be integrated.

        That takes normal observations in memory, no rules, and a network that is linear
        in these weights, which the prior must know to be normal.
        """
        network, likelihood = self.network.linear, self.likelihood
        if network is None or not isinstance(likelihood, Gaussian) or self.rules:
            return None
        if isinstance(self.X, Stored) or isinstance(self.Y, Stored):
            return None
        if self.X is None or self.Y is None:
            return None
        if self.weight_prior.last_layer_sd(network) is None:
            return None
        rest = Collapsed(network, self.weight_prior, likelihood, self.X, self.Y)
        return rest if jax.tree.leaves(rest.shapes()) else None

    def last_layer(self) -> Model:
        """Which arrays of a position belong to the network's last layer."""
        noise = jax.tree.map(lambda _: False, self.likelihood.shapes())
        return Model(self.network.last_layer(), noise)

    def _batch(self, key: RandomKey) -> tuple[Inputs | None, Targets | None, float]:
        """A batch of rows, and the factor by which their density is rescaled."""
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
        """The shares of weights, each rule and the data in the log density, by name.

        For rows in a file, the data's share is an estimate from one batch.

        A function compiled with a target as its argument serves all targets of its
        shape, but returns the names of the first; `inference.parts.parts_at` does not.

        Parameters
        ----------
        position
            Weights and noise, structured like `shapes()`.

        Returns
        -------
        dict[str, Scalar]
            "weights" (with the noise), "rule 'NAME'" for each rule, and "data".
        """
        points = [term.points for term in self.rules]
        rows = (
            self._batch(jax.random.key(0))
            if isinstance(self.X, Stored)
            else (*self.data, 1.0)
        )
        logs, data = self._rule_and_data_terms(position, points, *rows)
        shares = {"weights": self._reference(position)}
        for term, log in zip(self.rules, logs, strict=True):
            shares[f"rule {term.bound.name!r}"] = log
        return {**shares, "data": data}

    def _reference(self, position: Model) -> Scalar:
        weights = self.weight_prior.logdensity(self.network, position.weights)
        return weights + self.likelihood.log_prior(position.noise)

    def _rule_and_data_terms(
        self,
        position: Model,
        points: Sequence[Float[Array, "_ inputs"]],
        X: Inputs | None,
        Y: Targets | None,
        factor: float,
    ) -> tuple[Float[Array, " rules"], Scalar]:
        """Each rule's `log g` and the data's log likelihood, in one forward pass."""
        owners, laws, points = self._evaluation_points(position, points)
        groups = alike(laws, points)
        # One block for all rules of the same form.
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

    def _evaluation_points(
        self, position: Model, points: Sequence[Float[Array, "_ inputs"]]
    ) -> tuple[np.ndarray, list[Law], list[Float[Array, "_ inputs"]]]:
        """All laws: the rule each belongs to, the law, and where it is evaluated."""
        function = self._inner(jax.tree.map(jax.lax.stop_gradient, position))
        owners, laws, points_of_laws = [], [], []
        for owner, (term, xs) in enumerate(zip(self.rules, points, strict=True)):
            for law, law_points in term.parts(xs, function):
                owners.append(owner)
                laws.append(law)
                points_of_laws.append(law_points)
        return np.array(owners, int), laws, points_of_laws

    def function(self, position: Model) -> Function:
        """The function of one position, from and to the user's units.

        Parameters
        ----------
        position
            Weights and noise, structured like `shapes()`.

        Returns
        -------
        Function
            Maps one input vector to one output vector: logits for classes.
        """
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
