"""Priors that a person might write, good ones and faulty ones."""

import jax
import jax.numpy as jnp

from ocbnn.priors import Prior

WIDTH = 0.5


class Laplacian(Prior):
    """Independent Laplace distributions, smoothed at zero: those of sech."""

    width: float = WIDTH

    def sample(self, key, network):
        shapes, structure = jax.tree.flatten(network.shapes())
        keys = jax.random.split(key, len(shapes))
        draws = []
        for one, spec in zip(keys, shapes, strict=True):
            u = jax.random.uniform(one, spec.shape, spec.dtype, 1e-6, 1 - 1e-6)
            draws.append(self.width * jnp.log(jnp.tan(0.5 * jnp.pi * u)))
        return jax.tree.unflatten(structure, draws)

    def logdensity(self, network, weights):
        def log(values):
            u = jnp.abs(values / self.width)
            # sech(u) / pi, without overflow.
            sech = jnp.log(2.0) - u - jnp.log1p(jnp.exp(-2 * u))
            return jnp.sum(sech - jnp.log(jnp.pi * self.width))

        return sum(log(leaf) for leaf in jax.tree.leaves(weights))


class TooWide(Laplacian):
    """Draws are a fifth wider than the density says."""

    def sample(self, key, network):
        return jax.tree.map(lambda a: 1.2 * a, super().sample(key, network))


class Shifted(Laplacian):
    """Draws have another centre."""

    def sample(self, key, network):
        return jax.tree.map(lambda a: 0.1 + a, super().sample(key, network))


class Unnormalised(Laplacian):
    """A constant is missing."""

    def logdensity(self, network, weights):
        return super().logdensity(network, weights) - 1.0


class OtherShape(Laplacian):
    """Draws are normals of the same width in the middle."""

    def sample(self, key, network):
        draws = super().sample(key, network)
        # The variance of sech is (pi / 2)^2.
        normal = lambda a: (
            self.width * jnp.pi / 2 * jax.random.normal(key, a.shape, a.dtype)
        )
        return jax.tree.map(normal, draws)


class Stuck(Laplacian):
    """Its density has no slope of its own."""

    def logdensity(self, network, weights):
        return jax.lax.stop_gradient(super().logdensity(network, weights))


class Columns(Laplacian):
    """Draws of another shape."""

    def sample(self, key, network):
        return jax.tree.map(lambda a: a[None], super().sample(key, network))


class EachArray(Laplacian):
    """One density for each weight, not for all."""

    def logdensity(self, network, weights):
        return jnp.ravel(jax.tree.leaves(weights)[0])


class Restless(Laplacian):
    """Draws that the key does not determine."""

    def sample(self, key, network):
        Restless.calls += 1
        draws = super().sample(key, network)
        return jax.tree.map(lambda a: a + Restless.calls, draws)


Restless.calls = 0
