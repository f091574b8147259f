"""Log densities whose answers are known in closed form."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np


class Gaussian(eqx.Module):
    """N(mean, covariance) as a standard normal reference and what is added to it."""

    mean: jax.Array
    precision: jax.Array

    @classmethod
    def make(cls, mean, covariance):
        return cls(
            jnp.asarray(mean, float), jnp.asarray(np.linalg.inv(covariance), float)
        )

    def logdensity(self, position):
        reference, added = self.split(position)
        return reference + added

    def split(self, position):
        gap = position - self.mean
        reference = -0.5 * jnp.sum(position**2) - 0.5 * position.size * jnp.log(
            2 * jnp.pi
        )
        return reference, -0.5 * gap @ self.precision @ gap + 0.5 * jnp.sum(position**2)

    def stochastic_logdensity(self, position, key):
        return self.logdensity(position)

    def initial(self, key):
        return jax.random.normal(key, self.mean.shape, self.mean.dtype)

    def shapes(self):
        return jax.ShapeDtypeStruct(self.mean.shape, self.mean.dtype)

    def parts(self, position):
        reference, added = self.split(position)
        return {"reference": reference, "added": added}


class TwoHills(Gaussian):
    """Two normals of width 0.3 at ±3, of which the left has a share of 0.3."""

    def split(self, position):
        reference = -0.5 * jnp.sum(position**2 / 9.0) - 0.5 * jnp.log(18 * jnp.pi)
        hills = jnp.stack(
            [
                jnp.log(0.3) - 0.5 * jnp.sum((position + 3.0) ** 2) / 0.09,
                jnp.log(0.7) - 0.5 * jnp.sum((position - 3.0) ** 2) / 0.09,
            ]
        )
        added = jax.nn.logsumexp(hills) - 0.5 * jnp.log(2 * jnp.pi * 0.09) - reference
        return reference, added

    def initial(self, key):
        return 3.0 * jax.random.normal(key, self.mean.shape, self.mean.dtype)


class Faulty(Gaussian):
    """A normal whose part «cliff» is not a number to the right of `edge`."""

    edge: float = 0.0

    def split(self, position):
        reference, added = super().split(position)
        return reference, added + self.cliff(position)

    def cliff(self, position):
        return jnp.where(position[0] > self.edge, jnp.nan, 0.0)

    def parts(self, position):
        reference, added = super().split(position)
        cliff = self.cliff(position)
        return {"reference": reference, "added": added, "cliff": cliff}


COVARIANCE = np.array([[0.5, 0.3], [0.3, 0.4]])
MEAN = np.array([1.0, -2.0])


def known_gaussian():
    return Gaussian.make(MEAN, COVARIANCE)
