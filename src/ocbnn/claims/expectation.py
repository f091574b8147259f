r"""Expectations: an expression of outputs is normal around a mean, or one of several.

The paper's density is $\sum_i \log \sum_k \omega_k N(\phi(x_i); y_k(x_i), \sigma_k^2)$.
An expectation holds within two standard deviations of any mean.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ocbnn.claims.base import (
    BoundClaim,
    Curve,
    Density,
    Dial,
    Evaluation,
    Scales,
    Settings,
    Tree,
    Weight,
    WrittenClaim,
)
from ocbnn.claims.settings import positive
from ocbnn.core.sentences import Sentence
from ocbnn.core.types import Scalar, Site, Slopes
from ocbnn.core.units import Units
from ocbnn.core.words import listing
from ocbnn.errors import RuleError, SettingError
from ocbnn.language.binding import bind_expression, mentioned
from ocbnn.language.conditions import And, Condition, Or
from ocbnn.language.evaluate import evaluate
from ocbnn.language.form import slotted
from ocbnn.language.grammar import WHOLE_CLAIM, Parser
from ocbnn.language.normal_form import Terms, normal_form
from ocbnn.language.schema import Schema
from ocbnn.language.standard import standard_expression
from ocbnn.language.tree import Comparison, Expression, Number, as_expression
from ocbnn.language.words import spell_number

# Standard deviations from a mean that an expectation allows.
_NEAR = 2


@dataclasses.dataclass(frozen=True)
class Expect(WrittenClaim):
    """The claim that an expression is normal around a mean, or one of several."""

    target: Expression
    means: tuple[Expression, ...]
    sds: tuple[float, ...]
    weights: tuple[float, ...]

    sign: ClassVar[str | None] = "~"
    whole: ClassVar[str] = WHOLE_CLAIM

    def __post_init__(self) -> None:
        counts = len(self.means), len(self.sds), len(self.weights)
        if not self.means or len(set(counts)) > 1:
            raise RuleError(
                "each component of an expectation has one mean, one sd and one weight, "
                f"got {counts[0]}, {counts[1]} and {counts[2]}. Write "
                "`expect(y, [m1, m2], sd=[s1, s2], weights=[0.5, 0.5])`."
            )
        sds = tuple(positive(sd, "sd") for sd in self.sds)
        weights = tuple(positive(weight, "weights") for weight in self.weights)
        total = math.fsum(weights)
        # Weights that already sum to one stay as written, so text round-trips exactly.
        if abs(total - 1.0) > 1e-9:
            weights = tuple(weight / total for weight in weights)
        object.__setattr__(self, "sds", sds)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "target", as_expression(self.target, "expect"))
        means = tuple(as_expression(mean, "expect") for mean in self.means)
        object.__setattr__(self, "means", means)

    def __str__(self) -> str:
        normals = [
            f"Normal({mean}, {spell_number(sd)})"
            for mean, sd in zip(self.means, self.sds, strict=True)
        ]
        if len(normals) > 1:
            weights = map(spell_number, self.weights)
            normals = [f"{w}*{n}" for w, n in zip(weights, normals, strict=True)]
        return f"{self.target} ~ {' + '.join(normals)}"

    @classmethod
    def read(cls, parser: Parser, target: Expression) -> "Expect":
        """Parse `~ Normal(5 - x, 0.5)`, or a mixture."""
        parser.advance()
        start = parser.here
        parts = [_normal(parser)]
        while parser.sees("+"):
            parser.advance()
            parts.append(_normal(parser))
        if parser.sees("and", "or"):
            raise parser.fail(cls.whole)
        means, sds, weights = zip(*parts, strict=True)
        try:
            return cls(target, means, sds, weights)
        except (RuleError, SettingError) as error:
            raise parser.fail(Sentence(error), start) from None

    @property
    def trees(self) -> Sequence[Tree]:
        """The target."""
        return (self.target,)

    @property
    def input_trees(self) -> Sequence[Expression]:
        """The means."""
        return self.means

    def bind(self, schema: Schema) -> "Expectation":
        """Bind to columns; only the target may mention outputs."""
        if schema.is_classification:
            raise RuleError(
                f"`~ Normal` needs a real output, but {schema.outputs[0]} is a class. "
                f"Write `{schema.outputs[0]} in {{{(schema.classes or ('',))[0]}}}`."
            )
        target = bind_expression(self.target, schema)
        means = tuple(bind_expression(mean, schema) for mean in self.means)
        if not mentioned(target, "output"):
            raise RuleError(
                f"({self.target}) mentions no output, so nothing is expected of the "
                f"function. Write an output first: `{schema.outputs[0]} ~ Normal(...)`."
            )
        for mean in means:
            wrong = mentioned(mean, "output")
            if wrong:
                raise RuleError(
                    f"the mean ({mean}) mentions the output {listing(wrong)}, but a "
                    "mean is made of inputs and numbers. Move it to the left: "
                    f"`{self.target} - ... ~ Normal(...)`."
                )
        return Expectation(target, means, self.sds, self.weights)

    def sentence(self, spelled: Callable[[Expression], str]) -> str:
        """For example "y is about 3, give or take 0.5"."""
        parts = [
            f"about {spelled(mean)}, give or take {spelled(Number(sd))}"
            for mean, sd in zip(self.means, self.sds, strict=True)
        ]
        return f"{spelled(self.target)} is {'; or '.join(parts)}"


def _normal(parser: Parser) -> tuple[Expression, float, float]:
    weight = 1.0
    if parser.here.kind == "number":
        weight = parser.number()
        parser.take("*", "write `0.5*Normal(x, 0.1) + 0.5*Normal(-x, 0.1)`")
    example = "write `y ~ Normal(5 - x, 0.5)`: a mean and a standard deviation"
    parser.take("Normal", example)
    parser.take("(", example)
    mean = parser.expression()
    parser.take(",", example)
    sd = parser.number()
    parser.take(")", example)
    return mean, sd, weight


@dataclasses.dataclass(frozen=True)
class Expectation(BoundClaim):
    """`target` is normal around one of `means`, with `sds`, in shares `weights`."""

    target: Expression
    means: tuple[Expression, ...]
    sds: tuple[float, ...]
    weights: tuple[float, ...]

    remedy: ClassVar[str] = "raise its weight or points, or lower its sd"
    kept_where: ClassVar[str] = "A draw keeps it where it lies within 2 sd of a mean."

    @property
    def trees(self) -> Sequence[Tree]:
        """Target and means."""
        return (self.target, *self.means)

    @property
    def has_sides(self) -> bool:
        """Whether there are several means."""
        return len(self.means) > 1

    @property
    def broken(self) -> Terms:
        """More than 2 sd from every mean."""
        bands = [
            And(
                (
                    Comparison("<=", mean - _NEAR * sd, self.target),
                    Comparison("<=", self.target, mean + _NEAR * sd),
                )
            )
            for mean, sd in zip(self.means, self.sds, strict=True)
        ]
        condition: Condition = bands[0] if len(bands) == 1 else Or(tuple(bands))
        return normal_form(condition, negated=True)

    @property
    def curves(self) -> tuple[Curve, ...]:
        """The means."""
        pairs = zip(self.means, self.sds, strict=True)
        return tuple(Curve(self.target, mean, sd) for mean, sd in pairs)

    def holds(self, X: np.ndarray, Y: np.ndarray, slopes: Slopes) -> np.ndarray:
        """Whether the target lies within 2 sd of any mean."""
        value = evaluate(self.target, X, Y, np, slopes)
        is_near = [
            np.abs(value - evaluate(mean, X, Y, np)) <= _NEAR * sd
            for mean, sd in zip(self.means, self.sds, strict=True)
        ]
        return functools.reduce(np.logical_or, is_near)

    def idle_settings(self, settings: Settings) -> tuple[Sequence[str], str]:
        """The settings of penalties and of class rules."""
        return (
            ("strength", "tolerance", "form", "allowed", "forbidden", "tau", "literal"),
            "the sd of `Normal` and `weight` say how strictly it is held",
        )

    def dial(self, settings: Settings) -> Dial:
        """The weight; its default is the number of points."""
        usual = float(settings.points)
        return Dial("weight", settings.weight or usual, usual, ())

    def best(self, settings: Settings, points: int) -> float:
        """The height of the density at a mean."""
        heights = -np.log(np.sqrt(2 * np.pi) * np.array(self.sds))
        total = points if settings.weight is None else settings.weight
        shares = np.log(np.array(self.weights))
        if settings.per == "region":
            return float(np.logaddexp.reduce(shares + total * heights))
        return float(total * np.logaddexp.reduce(shares + heights))

    def standard(self, units: Units) -> "Expectation":
        """As differences of target and mean, since both may be large numbers."""
        gaps = [standard_expression(self.target - mean, units) for mean in self.means]
        return dataclasses.replace(self, target=Number(0.0), means=tuple(gaps))

    def compared(self, scales: Scales) -> list[tuple[Expression, float]]:
        """The gap to each mean, with its standard deviation."""
        pairs = zip(self.means, self.sds, strict=True)
        return [(self.target - mean, sd) for mean, sd in pairs]

    def weight(self, settings: Settings) -> Weight:
        """One per point, unless a weight is given."""
        return Weight.per_point(settings)

    def density(
        self, settings: Settings, scales: Scales, units: Units | None
    ) -> "NormalMixture":
        """The paper's positive prior."""
        numbers: list[float] = []
        target = slotted(self.target, numbers)
        means = tuple(slotted(mean, numbers) for mean in self.means)
        sds, shares = np.array(self.sds), np.array(self.weights)
        # Computed in double precision before the cast.
        constants = (sds, -np.log(sds) - 0.5 * np.log(2.0 * np.pi), np.log(shares))
        return NormalMixture(
            target,
            means,
            settings.per == "region",
            jnp.asarray(numbers, float),
            *(jnp.asarray(values, float) for values in constants),
        )


class NormalMixture(Density):
    """One of several normal densities, chosen at each point or once per region."""

    target: Expression = eqx.field(static=True)
    means: tuple[Expression, ...] = eqx.field(static=True)
    by_region: bool = eqx.field(static=True)
    numbers: Float[Array, " numbers"]
    sds: Float[Array, " components"]
    log_heights: Float[Array, " components"]
    log_shares: Float[Array, " components"]

    def log_g(self, evaluation: Evaluation, weight: Scalar, share: Scalar) -> Scalar:
        """The weighted sum over all points; with `by_region`, per component first."""
        logs = evaluation.each(self._logpdfs)
        shares = self.log_shares.astype(logs.dtype)
        if self.by_region:
            return jax.nn.logsumexp(shares + share * jnp.sum(logs, axis=0))
        mixed = jax.nn.logsumexp(shares[None] + logs, axis=1)
        return share * jnp.sum(mixed)

    def slack(self, site: Site) -> Scalar:
        """Two less the distance to the nearest mean, in standard deviations."""
        return jnp.max(_NEAR - jnp.abs(self._gaps(site)))

    def _logpdfs(self, site: Site) -> Float[Array, " components"]:
        gaps = self._gaps(site)
        return -0.5 * gaps**2 + self.log_heights.astype(gaps.dtype)

    def _gaps(self, site: Site) -> Float[Array, " components"]:
        """Distances from each mean, in its standard deviations."""
        numbers = self.numbers.astype(site.y.dtype)
        arguments = (site.x, site.y, jnp, site.slopes, numbers)
        value = evaluate(self.target, *arguments)
        gaps = jnp.stack([value - evaluate(mean, *arguments) for mean in self.means])
        return gaps / self.sds.astype(gaps.dtype)
