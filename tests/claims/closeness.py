"""A kind of claim in one file, as a person would add it: an output is near a curve.

`y near 2*x within 0.5` costs nothing within half a unit of the curve, and grows with
the square of the distance beyond it.
"""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ocbnn.claims import BoundClaim, Density, WrittenClaim, register
from ocbnn.claims.base import Weight
from ocbnn.core.types import Scalar
from ocbnn.language.binding import bind_expression
from ocbnn.language.evaluate import evaluate
from ocbnn.language.form import slotted
from ocbnn.language.normal_form import normal_form
from ocbnn.language.standard import standard_expression
from ocbnn.language.tree import Expression, Number
from ocbnn.language.words import spell_number


@register
@dataclasses.dataclass(frozen=True)
class Near(WrittenClaim):
    """The claim as it is written."""

    target: Expression
    curve: Expression
    within: float

    sign = "near"

    def __str__(self):
        return f"{self.target} near {self.curve} within {spell_number(self.within)}"

    @classmethod
    def read(cls, parser, target):
        """Read on from `near`."""
        parser.advance()
        curve = parser.expression()
        parser.take("within", "write `y near 2*x within 0.5`")
        return cls(target, curve, parser.number())

    @property
    def trees(self):
        """What speaks of outputs."""
        return (self.target,)

    @property
    def input_trees(self):
        """What speaks of inputs."""
        return (self.curve,)

    def bind(self, schema):
        """The claim about columns."""
        both = (bind_expression(tree, schema) for tree in (self.target, self.curve))
        return Nearness(*both, self.within)


@dataclasses.dataclass(frozen=True)
class Nearness(BoundClaim):
    """The claim about columns."""

    target: Expression
    curve: Expression
    within: float

    is_penalty = True
    remedy = "raise its weight"

    @property
    def trees(self):
        """Both."""
        return (self.target, self.curve)

    @property
    def required(self):
        """Between two curves."""
        return self.target.between(self.curve - self.within, self.curve + self.within)

    @property
    def broken(self):
        """Beyond either."""
        return normal_form(self.required, negated=True)

    def holds(self, X, Y, slopes):
        """Whether the distance is small enough."""
        gap = evaluate(self.target - self.curve, X, Y, np, slopes)
        return np.abs(gap) <= self.within

    def idle_settings(self, settings):
        """All but the weight."""
        names = ("strength", "allowed", "forbidden", "per", "tau", "literal")
        return names, "`within` and `weight` say how strictly it is held"

    def standard(self, units):
        """The gap in standard units."""
        gap = standard_expression(self.target - self.curve, units)
        return dataclasses.replace(self, target=gap, curve=Number(0.0))

    def weight(self, settings):
        """Once per point, unless it is said."""
        return Weight(settings.weight or 1.0, at_each=settings.weight is None)

    def density(self, settings, scales, units):
        """A squared hinge."""
        numbers = []
        gap = slotted(self.target - self.curve, numbers)
        return Hinge(gap, jnp.asarray(numbers), jnp.asarray(self.within))


class Hinge(Density):
    """What compiled code computes."""

    gap: Expression = eqx.field(static=True)
    numbers: jnp.ndarray
    within: jnp.ndarray

    def log_g(self, evaluation, weight, share) -> Scalar:
        """The squares beyond the edge."""
        beyond = jnp.maximum(-evaluation.each(self.slack), 0.0)
        return -0.5 * share * jnp.sum(beyond**2)

    def slack(self, site) -> Scalar:
        """What is left of the distance."""
        numbers = self.numbers.astype(site.y.dtype)
        gap = evaluate(self.gap, site.x, site.y, jnp, site.slopes, numbers)
        return self.within.astype(gap.dtype) - jnp.abs(gap)
