"""Which classes hard rules allow at an input, inside compiled code."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool

from ocbnn.core.types import Inputs
from ocbnn.core.units import Units
from ocbnn.language.evaluate import truth
from ocbnn.language.standard import standard_condition
from ocbnn.rules import BoundRule, Condition


class ClassMask(eqx.Module):
    """Rules that forbid classes without exception, for inputs in standard units."""

    regions: tuple[Condition | None, ...] = eqx.field(static=True)
    allowed: tuple[tuple[bool, ...], ...] = eqx.field(static=True)

    def __init__(self, units: Units, rules: Sequence[BoundRule]) -> None:
        conditions = [bound.region.condition for bound in rules]
        self.regions = tuple(
            None if condition is None else standard_condition(condition, units)
            for condition in conditions
        )
        self.allowed = tuple(
            bound.claim.allowed for bound in rules if bound.claim.allowed is not None
        )

    def __call__(self, inputs: Inputs) -> Bool[Array, "rows classes"]:
        """Whether each class is allowed at inputs in standard units."""
        allowed = jnp.ones((1, 1), dtype=bool)
        for region, mask in zip(self.regions, self.allowed, strict=True):
            inside = jnp.ones(inputs.shape[0], dtype=bool)
            if region is not None:
                inside = truth(region, inputs, None, jnp)
            allowed = allowed & (~inside[:, None] | jnp.asarray(mask)[None])
        return allowed
