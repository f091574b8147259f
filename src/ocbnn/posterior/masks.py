"""Which classes hard rules leave at an input, inside compiled code."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool

from ocbnn.core.types import Inputs
from ocbnn.core.units import Units
from ocbnn.rules import AllowedClasses, BoundRule
from ocbnn.rules.evaluate import truth


class ClassMask(eqx.Module):
    """Rules that forbid classes without exception, and the units of their inputs."""

    units: Units
    rules: tuple[BoundRule, ...] = eqx.field(static=True)

    def __call__(self, inputs: Inputs) -> Bool[Array, "rows classes"]:
        """Whether each class is allowed at inputs in standard units."""
        mean, scale = jnp.asarray(self.units.x_mean), jnp.asarray(self.units.x_scale)
        mean, scale = mean.astype(inputs.dtype), scale.astype(inputs.dtype)
        xs = mean[None] + scale[None] * inputs
        allowed = jnp.ones((1, 1), dtype=bool)
        for bound in self.rules:
            assert isinstance(bound.claim, AllowedClasses)
            condition = bound.region.condition
            inside = jnp.ones(xs.shape[0], dtype=bool)
            if condition is not None:
                inside = truth(condition, xs, None, jnp)
            mask = jnp.asarray(bound.claim.mask)
            allowed = allowed & (~inside[:, None] | mask[None])
        return allowed
