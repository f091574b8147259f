"""Log densities whose answers are known in closed form."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.networks import MLP
from ocbnn.posterior import GaussianNoise, Target
from ocbnn.priors import WeightPrior


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


class Banana(Gaussian):
    """`x` and `(y - x²/2) / 0.5` are independent standard normals."""

    @staticmethod
    def straightened(positions):
        x, y = positions[..., 0], positions[..., 1]
        return np.stack([x, (y - 0.5 * x**2) / 0.5], axis=-1)

    def split(self, position):
        x, y = position
        reference = -0.5 * jnp.sum(position**2)
        bent = -0.5 * x**2 - 0.5 * ((y - 0.5 * x**2) / 0.5) ** 2
        return reference, bent - reference


def banana():
    return Banana.make(np.zeros(2), np.eye(2))


class LinearRegression(eqx.Module):
    """Bayesian regression on lines, as a `Target`, and its posterior in closed form."""

    target: Target
    mean: np.ndarray
    covariance: np.ndarray

    @classmethod
    def make(cls, *, rows=40, noise=0.5, batch_size=None, seed=0):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(rows, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
        Y = X @ np.array([[1.0], [-0.5]]) + 0.3 + noise * rng.normal(size=(rows, 1))
        target = Target(
            MLP(2, (), 1),
            WeightPrior(),
            GaussianNoise.fixed(noise),
            X=jnp.asarray(X, float),
            Y=jnp.asarray(Y, float),
            batch_size=batch_size,
        )
        design = np.concatenate([X, np.ones((rows, 1))], axis=1)
        covariance = np.linalg.inv(design.T @ design / noise**2 + np.eye(3))
        mean = covariance @ design.T @ Y[:, 0] / noise**2
        return cls(target, mean, covariance)

    def coefficients(self, draws):
        """(chain, draw, coefficient): two slopes and the intercept."""
        (layer,) = draws.positions.weights
        return np.concatenate([layer.weight[..., 0], layer.bias], axis=-1)
