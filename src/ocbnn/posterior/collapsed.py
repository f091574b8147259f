r"""A posterior with the weights of the network's last layer integrated out.

Given everything else, a network's outputs are linear in these weights. With normal
observations and no rules they are therefore normal, too, and $p(D \mid W')$, with $W'$
all but these weights, has a closed form. A sampler of $p(W')\, p(D \mid W')$ is not
slowed down by how strongly these weights depend on the noise, the scales and one
another. They are drawn afterwards, given the rest of each draw, and together the draws
are from the same posterior (Liu 1994 calls such a sampler collapsed).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.types import Inputs, Position, RandomKey, Scalar
from ocbnn.networks.base import LinearNetwork
from ocbnn.posterior.likelihoods import Gaussian
from ocbnn.posterior.position import Model
from ocbnn.posterior.regression import draw_coefficients, marginal_energy
from ocbnn.priors import Prior


class Collapsed(eqx.Module):
    """The log density of positions without a last layer, and how to complete them."""

    network: LinearNetwork
    weight_prior: Prior
    likelihood: Gaussian
    X: Inputs
    Y: Float[Array, "rows outputs"]

    def reduced(self, position: Model) -> Model:
        """A whole position without its last layer, in whose place is None."""
        rest = eqx.filter(position.weights, self.network.last_layer(), inverse=True)
        return Model(rest, position.noise)

    def shapes(self) -> Model:
        """The structure of a position."""
        noise = self.likelihood.shapes()
        return self.reduced(Model(self.network.shapes(), noise))

    def initial(self, key: RandomKey) -> Model:
        """A draw from the prior."""
        key_weights, key_noise = jax.random.split(key)
        weights = self.weight_prior.sample(key_weights, self.network)
        return self.reduced(
            Model(weights, self.likelihood.sample_parameters(key_noise))
        )

    def logdensity(self, position: Model) -> Scalar:
        """The log density of what is left."""
        prior, data = self.split(position)
        return prior + data

    def stochastic_logdensity(self, position: Model, key: RandomKey) -> Scalar:
        """The log density itself, which needs all rows."""
        return self.logdensity(position)

    def split(self, position: Model) -> tuple[Scalar, Scalar]:
        """The prior, and the marginal likelihood."""
        weights = self._filled(position)
        # The prior's density at zero, where the last layer was put, is taken out again.
        at_zero = -jnp.sum(jnp.log(self._prior_sd()) + 0.5 * jnp.log(2.0 * jnp.pi))
        prior = self.weight_prior.logdensity(self.network, weights) - at_zero
        designs, targets, sd = self._regressions(weights, position.noise)
        energies = jax.vmap(marginal_energy)(designs, targets)
        constant = jnp.sum(jnp.log(sd) + 0.5 * jnp.log(2.0 * jnp.pi))
        log_prior = self.likelihood.log_prior(position.noise)
        return prior + log_prior, -jnp.sum(energies) - constant

    def parts(self, position: Model) -> dict[str, Scalar]:
        """The named summands."""
        weights, data = self.split(position)
        return {"weights": weights, "data": data}

    def completed(self, key: RandomKey, position: Model) -> Model:
        """The position with a last layer, drawn given the data and the rest."""
        weights = self._filled(position)
        designs, targets, _ = self._regressions(weights, position.noise)
        keys = jax.random.split(key, len(designs))
        coefficients = jax.vmap(draw_coefficients)(keys, designs, targets)
        last = coefficients.T * self._prior_sd()
        return Model(self.network.with_last_weights(weights, last), position.noise)

    def _filled(self, position: Model) -> Position:
        """Weights with zeros in their last layer."""
        zeros = lambda spec: jnp.zeros(spec.shape, spec.dtype)
        return eqx.combine(position.weights, jax.tree.map(zeros, self.network.shapes()))

    def _prior_sd(self) -> Float[Array, "features outputs"]:
        sd = self.weight_prior.last_layer_sd(self.network)
        assert sd is not None
        return sd

    def _regressions(
        self, weights: Position, noise: Position
    ) -> tuple[
        Float[Array, "outputs rows features"],
        Float[Array, "outputs rows"],
        Float[Array, "rows outputs"],
    ]:
        """For each output, one with standard normal coefficients and noise."""
        sd = self.likelihood.noise(noise, self.X).astype(self.Y.dtype)
        sd = jnp.broadcast_to(sd, self.Y.shape)
        basis = self.network.basis(weights, self.X)
        designs = basis[None] * self._prior_sd().T[:, None, :] / sd.T[:, :, None]
        return designs, (self.Y / sd).T, sd
