"""How observations scatter around the network's output."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ocbnn.core.types import Inputs, Outputs, Position, RandomKey, Scalar, Targets
from ocbnn.errors import DataError, SettingError
from ocbnn.networks.base import Network, array_spec
from ocbnn.posterior.masks import ClassMask
from ocbnn.priors.weights import WeightPrior

Noise = Float[Array, "#rows outputs"]
# The logit of an impossible class: finite, so that zero times it is zero.
_IMPOSSIBLE = -1e30


class Likelihood(eqx.Module):
    """The density of observations, with or without its own parameters.

    Parameters are part of the position, next to the weights, and have a prior.
    """

    @abc.abstractmethod
    def shapes(self) -> Position:
        """The parameters' structure; an empty dictionary when there are none."""

    @abc.abstractmethod
    def sample_parameters(self, key: RandomKey) -> Position:
        """One draw of the parameters from their prior.

        Parameters
        ----------
        key
            Determines the draw.
        """

    @abc.abstractmethod
    def log_prior(self, parameters: Position) -> Scalar:
        """Log density of the parameters' prior.

        Parameters
        ----------
        parameters
            Its parameters, structured like `shapes()`.
        """

    @abc.abstractmethod
    def loglik(
        self, parameters: Position, inputs: Inputs, outputs: Outputs, targets: Targets
    ) -> Float[Array, " rows"]:
        """Log density of each observed row, given the network's outputs there.

        Parameters
        ----------
        parameters
            Its parameters, structured like `shapes()`.
        inputs
            Inputs of the rows, in standard units.
        outputs
            The network's outputs at these inputs.
        targets
            What was observed: outputs in standard units, or class numbers.
        """

    def check(self, outputs: int, targets: Targets | None) -> None:
        """Refuse a network or targets of the wrong shape, which would broadcast.

        Parameters
        ----------
        outputs
            The number of the network's outputs.
        targets
            The observations; None without data.

        Raises
        ------
        SettingError
            When the likelihood does not fit the network.
        DataError
            When it does not fit the observations.
        """


class Gaussian(Likelihood):
    r"""$y \sim N(\phi(x), \sigma(x)^2)$ for every output. Subclasses define σ."""

    sd: eqx.AbstractVar[Float[Array, " outputs"]]

    @abc.abstractmethod
    def noise(self, parameters: Position, inputs: Inputs) -> Noise:
        """The standard deviation of every output, per input or the same for all.

        Parameters
        ----------
        parameters
            Its parameters, structured like `shapes()`.
        inputs
            Inputs, in standard units.
        """

    def loglik(
        self,
        parameters: Position,
        inputs: Inputs,
        outputs: Outputs,
        targets: Float[Array, "rows outputs"],
    ) -> Float[Array, " rows"]:
        """Independent normals, added up over the outputs of a row."""
        sd = self.noise(parameters, inputs).astype(outputs.dtype)
        gap = (targets - outputs) / sd
        constant = jnp.sum(jnp.log(sd) + 0.5 * jnp.log(2.0 * jnp.pi), axis=1)
        return -0.5 * jnp.sum(gap**2, axis=1) - constant

    def check(self, outputs: int, targets: Targets | None) -> None:
        """One standard deviation and one column of targets per output."""
        if self.sd.shape != (outputs,):
            raise SettingError(
                f"the noise needs one standard deviation for each of {outputs} "
                f"outputs, got an array of shape {self.sd.shape}. Write "
                f"GaussianNoise.fixed(0.1, outputs={outputs})."
            )
        if targets is not None and targets.shape[1:] != (outputs,):
            raise DataError(
                f"targets must have shape (rows, {outputs}), one column per output of "
                f"the network, got {targets.shape}. Write Y[:, None] for one output."
            )


class GaussianNoise(Gaussian):
    r"""Noise that is the same at every input, known or inferred.

    When inferred, $\log\sigma_o \sim N(\log s_o, w^2)$ for each output $o$.

    Attributes
    ----------
    sd
        The standard deviation of each output, in standard units; if inferred, the
        median $s$ of its prior.
    spread
        The standard deviation $w$ of its logarithm, if inferred.
    known
        Whether it is known.
    """

    sd: Float[Array, " outputs"]
    spread: float = 0.0
    known: bool = eqx.field(static=True, default=True)

    @classmethod
    def fixed(cls, sd: float, outputs: int = 1) -> "GaussianNoise":
        """Noise of one known standard deviation.

        Parameters
        ----------
        sd
            The standard deviation, above zero.
        outputs
            The number of outputs, which all have it.

        Raises
        ------
        SettingError
            When it is not a number above zero.
        """
        _check_positive(sd, "noise")
        return cls(jnp.full((outputs,), float(sd)))

    @classmethod
    def inferred(
        cls, median: float, outputs: int = 1, spread: float = 1.0
    ) -> "GaussianNoise":
        """Noise that is learned, one standard deviation per output.

        Parameters
        ----------
        median
            The median of its prior, above zero.
        outputs
            The number of outputs.
        spread
            The standard deviation of its logarithm: two thirds of the prior lie within
            a factor of e to the power of it.

        Raises
        ------
        SettingError
            When median or spread is not a number above zero.
        """
        _check_positive(median, "the median of the noise")
        _check_positive(spread, "the spread of the noise prior")
        return cls(jnp.full((outputs,), float(median)), spread, known=False)

    def shapes(self) -> Position:
        """One log standard deviation per output, if inferred."""
        return {} if self.known else {"log_sd": array_spec(self.sd.size)}

    def noise(self, parameters: Position, inputs: Inputs) -> Noise:
        """The standard deviation of every output, the same for all inputs."""
        sd = self.sd if self.known else jnp.exp(parameters["log_sd"])
        return sd[None]

    def sample_parameters(self, key: RandomKey) -> Position:
        """Log-normal noise."""
        if self.known:
            return {}
        step = self.spread * jax.random.normal(key, self.sd.shape, self.sd.dtype)
        return {"log_sd": jnp.log(self.sd) + step}

    def log_prior(self, parameters: Position) -> Scalar:
        """Density of the logarithm of the noise, which is the sampled parameter."""
        if self.known:
            return jnp.zeros(())
        gap = (parameters["log_sd"] - jnp.log(self.sd)) / self.spread
        constant = jnp.log(self.spread) + 0.5 * jnp.log(2 * jnp.pi)
        return jnp.sum(-0.5 * gap**2 - constant)


class VaryingNoise(Gaussian):
    r"""Noise that depends on the input, by a small network of its own.

    $\log\sigma_o(x) = \log s_o + w\,\psi_o(x)$, where the weights of $\psi$ are part of
    the position and have the `fan-in` prior.

    Attributes
    ----------
    sd
        The median $s$ of the prior at every input, for each output.
    network
        The network $\psi$, with as many outputs as the function has.
    spread
        The factor $w$ by which its values count.
    """

    sd: Float[Array, " outputs"]
    network: Network
    spread: float = 1.0

    def shapes(self) -> Position:
        """The weights of the noise's network."""
        return self.network.shapes()

    def noise(self, parameters: Position, inputs: Inputs) -> Noise:
        """The standard deviation of every output at every input."""
        logs = self.spread * self.network.batch(parameters, inputs)
        return self.sd.astype(logs.dtype)[None] * jnp.exp(logs)

    def sample_parameters(self, key: RandomKey) -> Position:
        """Weights from their prior."""
        return WeightPrior("fan-in").sample(key, self.network)

    def log_prior(self, parameters: Position) -> Scalar:
        """The prior of the weights."""
        return WeightPrior("fan-in").logdensity(self.network, parameters)

    def check(self, outputs: int, targets: Targets | None) -> None:
        """One output of the noise's network for each of the function's."""
        super().check(outputs, targets)
        if self.network.outputs != outputs:
            raise SettingError(
                f"the noise's network must have {outputs} outputs, as many as the "
                f"function has, got {self.network.outputs}."
            )


class Categorical(Likelihood):
    """Classes with probabilities `softmax φ(x)`, among those that a mask allows.

    Attributes
    ----------
    mask
        The classes that hard rules allow at each input; None if all are allowed.
    """

    mask: ClassMask | None = None

    def shapes(self) -> Position:
        """No parameters."""
        return {}

    def sample_parameters(self, key: RandomKey) -> Position:
        """No parameters."""
        return {}

    def log_prior(self, parameters: Position) -> Scalar:
        """No parameters."""
        return jnp.zeros(())

    def loglik(
        self,
        parameters: Position,
        inputs: Inputs,
        outputs: Outputs,
        targets: Int[Array, " rows"],
    ) -> Float[Array, " rows"]:
        """The log probability of the observed class."""
        # A product, not an index: the gradient of an index is a slow scatter.
        observed = jax.nn.one_hot(targets, outputs.shape[1], dtype=outputs.dtype)
        if self.mask is not None:
            # Rounding may move a row into a region; what was observed is possible.
            allowed = self.mask(inputs) | (observed > 0)
            outputs = jnp.where(allowed, outputs, _IMPOSSIBLE)
        logs = jax.nn.log_softmax(outputs, axis=1)
        return jnp.sum(observed * logs, axis=1)

    def check(self, outputs: int, targets: Targets | None) -> None:
        """One whole number per row."""
        if targets is None:
            return
        if targets.ndim != 1 or not jnp.issubdtype(targets.dtype, jnp.integer):
            raise DataError(
                f"classes must be whole numbers from 0 to {outputs - 1}, one per row, "
                f"got {targets.dtype} of shape {targets.shape}."
            )


def _check_positive(value: float, what: str) -> None:
    if not 0 < value < float("inf"):
        raise SettingError(
            f"{what} must be a number above zero, got {value}. Write for example 0.1."
        )
