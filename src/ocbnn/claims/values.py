r"""Required and forbidden values of outputs.

What is forbidden is a union over j of intersections over k of $f_{jk}(x, y) \le 0$,
with natural sizes $s_{jk}$. The penalty grows with the distance from what is allowed,
$\log g = -\frac12 \sum_i \sum_j \min_k (m_{jk} - f_{jk})_+^2 / t_{jk}^2$. It is zero
where the rule holds by a margin $m$, and its slope pulls a function out from anywhere
inside the forbidden set. The tolerance $t$ is to a claim what the standard deviation
is to an expectation.

The paper's density is $\log g = -\gamma\, \mathrm{mean}_i \sum_j \prod_k
\sigma(f_{jk} / s_{jk})$ with a soft indicator $\sigma$ (`form="indicator"`). It is flat
far inside the forbidden set, and still pushes just outside of it.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ocbnn.claims.base import (
    BoundClaim,
    Density,
    Dial,
    Evaluation,
    Scales,
    Settings,
    Tree,
    Typical,
    Weight,
)
from ocbnn.claims.edge import Edge, edge_at, largest, least, squared_hinge
from ocbnn.claims.settings import DEFAULT_GAMMA
from ocbnn.core.types import Along, Scalar, Site, Slopes
from ocbnn.core.units import Units
from ocbnn.language.binding import bind_condition, mentioned, refuse_inputs_only
from ocbnn.language.conditions import Condition
from ocbnn.language.evaluate import evaluate, truth
from ocbnn.language.form import slotted_terms
from ocbnn.language.normal_form import Atom, Terms, columns, normal_form, slopes_in
from ocbnn.language.schema import Schema
from ocbnn.language.slopes import refuse_nonconvex
from ocbnn.language.standard import standard_terms
from ocbnn.language.tree import Expression

# Random outputs at which `_cancel` tests whether outputs cancel in a sum.
_TRIES = 4


@dataclasses.dataclass(frozen=True)
class Forbidden(BoundClaim):
    """Forbidden values: a union over j of intersections over k of atoms.

    `condition` is the claim itself, for exact checks; `terms` are its negation, so
    comparing the terms is enough.
    """

    terms: Terms
    condition: Condition = dataclasses.field(compare=False)

    can_be_strict: ClassVar[bool] = True
    is_penalty: ClassVar[bool] = True
    remedy: ClassVar[str] = "make it firm"

    @classmethod
    def of(cls, claim: Condition, schema: Schema) -> "Forbidden":
        """What a condition on numbers forbids.

        Raises
        ------
        RuleError
            When it mentions no output.
        """
        bound = bind_condition(claim, schema)
        if not mentioned(bound, "output"):
            refuse_inputs_only(claim, schema)
        return cls(normal_form(bound, negated=True), bound)

    @property
    def trees(self) -> Sequence[Tree]:
        """The condition."""
        return (self.condition,)

    @property
    def has_sides(self) -> bool:
        """Whether a forbidden set is bounded on two sides."""
        terms = ([atom for atom in term if atom.uses_outputs] for term in self.terms)
        return any(len(atoms) > 1 for atoms in terms)

    @property
    def required(self) -> Condition:
        """The claim itself."""
        return self.condition

    @property
    def broken(self) -> Terms:
        """What is forbidden."""
        return self.terms

    def holds(self, X: np.ndarray, Y: np.ndarray, slopes: Slopes) -> np.ndarray:
        """Whether the condition is true, exactly as written."""
        return truth(self.condition, X, Y, np, slopes)

    def idle_settings(self, settings: Settings) -> tuple[Sequence[str], str]:
        """The settings of expectations and classes, and of the other form."""
        idle = ("allowed", "forbidden", "per")
        if settings.is_indicator:
            instead = (
                "this rule has the paper's indicator, because of a number for "
                "`strength`, `tau`, `literal` or `form`, and `strength` is the price "
                "of a violation"
            )
            return (*idle, "weight", "tolerance"), instead
        return idle, "`tolerance` and `weight` are the price of a violation"

    def check(self, settings: Settings) -> None:
        """A hard rule about slopes must be kept by means of functions, too."""
        if settings.strictness == "hard":
            refuse_nonconvex(self.condition, self.terms)

    def dial(self, settings: Settings) -> Dial:
        """The weight, as for other rules; the strength for the paper's form."""
        levels, is_soft = ("firm", "hard"), settings.strictness == "soft"
        if settings.is_indicator:
            value = settings.gamma if is_soft else settings.strictness
            return Dial("strength", value, DEFAULT_GAMMA, levels)
        usual = float(settings.points)
        value = settings.weight or usual
        return Dial("weight", value if is_soft else settings.strictness, usual, levels)

    def best(self, settings: Settings, points: int) -> float:
        """A penalty is zero where the claim holds."""
        return 0.0

    def standard(self, units: Units) -> "Forbidden":
        """The same claim, with shifts and scales folded into its numbers."""
        return dataclasses.replace(self, terms=standard_terms(self.terms, units))

    def unit_scales(self) -> Scales:
        """One for each atom."""
        return tuple(tuple(jnp.ones(()) for _ in atoms) for atoms in self.terms)

    def measured_scales(self, typical: Typical) -> Scales:
        """The natural size of each atom: its slope measured in output scales."""
        return tuple(
            tuple(atom_scale(atom, typical) for atom in term) for term in self.terms
        )

    def compared(self, scales: Scales) -> list[tuple[Expression, float]]:
        """Every atom that mentions outputs."""
        atoms = [atom for term in self.terms for atom in term]
        sizes = [float(size) for size in jax.tree.leaves(scales)]
        pairs = zip(atoms, sizes, strict=True)
        return [(atom.expr, size) for atom, size in pairs if atom.uses_outputs]

    def weight(self, settings: Settings) -> Weight:
        """One per point, like an expectation; the paper's form has one price."""
        if settings.is_indicator:
            return Weight(settings.gamma)
        return Weight.per_point(settings)

    def density(
        self, settings: Settings, scales: Scales, units: Units | None
    ) -> "ForbiddenValues":
        """The penalty by distance, or the paper's negative prior."""
        constants: list[float] = []
        form = slotted_terms(self.terms, constants)
        numbers = jnp.asarray(constants, float)
        if settings.is_indicator:
            return IndicatorPenalty(form, numbers, scales, Edge.of(settings))
        edges = [[edge_at(settings, float(size)) for size in term] for term in scales]
        tolerances, margins = (
            tuple(tuple(edge[part] for edge in term) for term in edges)
            for part in (0, 1)
        )
        arrays = numbers, scales, tolerances, margins
        return DistancePenalty(form, *arrays, _walls(self.terms))


class ForbiddenValues(Density):
    """Penalties for forbidden values."""

    terms: Terms = eqx.field(static=True)
    numbers: Float[Array, " numbers"]
    scales: Scales

    has_edge: ClassVar[bool] = True

    def sizes(self) -> Scales:
        """The natural size of every atom."""
        return self.scales

    def slack(self, site: Site) -> Scalar:
        r"""$\min_j \max_k f_{jk} / s_{jk}$, negative exactly where violated."""
        terms = []
        for atoms, scales in zip(self.terms, self.scales, strict=True):
            gaps = [jnp.asarray(-jnp.inf, site.y.dtype)]
            for atom, scale in zip(atoms, scales, strict=True):
                z = self._value(atom, site)
                if atom.uses_outputs:
                    gaps.append(z / scale.astype(z.dtype))
                else:
                    gaps.append(jnp.where(_is_met(atom, z), -jnp.inf, jnp.inf))
            terms.append(largest(gaps))
        return least(terms)

    def _value(self, atom: Atom, site: Site) -> Scalar:
        numbers = self.numbers.astype(site.y.dtype)
        return evaluate(atom.expr, site.x, site.y, jnp, site.slopes, numbers)


class DistancePenalty(ForbiddenValues):
    r"""$-\frac12 \sum_i v(x_i, \phi(x_i))^2$, with the distance $v$ in tolerances.

    Squared distances of conditions that must all hold add up; among alternatives, only
    the nearest counts.
    """

    tolerances: Scales
    margins: Scales
    # Terms that bound the same thing on opposite sides, with room in between.
    walls: tuple[tuple[int, int], ...] = eqx.field(static=True)

    def log_g(self, evaluation: Evaluation, weight: Scalar, share: Scalar) -> Scalar:
        """The squared distances from what is allowed."""
        return -0.5 * share * jnp.sum(evaluation.each(self.squared_distance))

    def squared_distance(self, site: Site) -> Scalar:
        """Squared distance to the allowed values less a margin, in tolerances."""
        values = [[self._value(atom, site) for atom in atoms] for atoms in self.terms]
        total = jnp.zeros((), site.y.dtype)
        edges = zip(self.terms, self.tolerances, self.margins, strict=True)
        for index, (atoms, *sizes) in enumerate(edges):
            if not any(atom.uses_outputs for atom in atoms):
                continue  # No output can satisfy this, so there is no slope to follow.
            penalties = [jnp.asarray(jnp.inf, site.y.dtype)]
            applies = jnp.asarray(True)
            room = self._room(index, values)
            for atom, value, *edge in zip(atoms, values[index], *sizes, strict=True):
                if not atom.uses_outputs:
                    applies &= _is_met(atom, value)
                    continue
                tolerance, margin = (size.astype(value.dtype) for size in edge)
                penalties.append(squared_hinge(value, tolerance, margin, room))
            total = total + jnp.where(applies, least(penalties), 0.0)
        return total

    def _room(self, term: int, values: list[list[Scalar]]) -> Scalar | None:
        """The allowed width between a term and those opposite to it."""
        widths = [
            jax.lax.stop_gradient(values[a][0] + values[b][0])
            for a, b in self.walls
            if term in (a, b)
        ]
        return least(widths) if widths else None


class IndicatorPenalty(ForbiddenValues):
    r"""$-\gamma\, \mathrm{mean}_i\, c(x_i, \phi(x_i))$, the paper's negative prior."""

    edge: Edge

    is_limited: ClassVar[bool] = True

    def log_g(self, evaluation: Evaluation, weight: Scalar, share: Scalar) -> Scalar:
        """The mean violation times its price."""
        return -weight * jnp.mean(evaluation.each(self.violation))

    def violation(self, site: Site) -> Scalar:
        r"""$c(x, y) = \sum_j \prod_k \sigma(f_{jk}(x, y) / s_{jk})$.

        Conditions on inputs alone are exact: zero or one, without a slope.
        """
        total = jnp.zeros((), site.y.dtype)
        for atoms, scales in zip(self.terms, self.scales, strict=True):
            product = jnp.ones((), site.y.dtype)
            for atom, scale in zip(atoms, scales, strict=True):
                z = self._value(atom, site)
                if atom.uses_outputs:
                    factor = self.edge.inside(z / scale.astype(z.dtype))
                else:
                    factor = _is_met(atom, z).astype(site.y.dtype)
                product = product * factor
            total = total + product
        return total


def _is_met(atom: Atom, value: Scalar) -> Bool[Array, ""]:
    return value < 0 if atom.strict else value <= 0


def _walls(terms: Terms) -> tuple[tuple[int, int], ...]:
    """Pairs of terms like those of `0 <= y <= 1`, whose sum is the width between them.

    Whether outputs cancel in the sum is tested at random outputs.
    """
    single_atoms = [
        (index, term[0].expr)
        for index, term in enumerate(terms)
        if len(term) == 1 and term[0].uses_outputs
    ]
    pairs = itertools.combinations(single_atoms, 2)
    return tuple((a, b) for (a, left), (b, right) in pairs if _cancel(left + right))


def _cancel(total: Expression) -> bool:
    """Whether an expression is the same whatever the outputs and their slopes are."""
    rng = np.random.default_rng(0)
    width = 1 + max((column.index for column in columns(total)), default=0)
    x, y = rng.uniform(0.1, 1, (1, width)), rng.uniform(0.1, 1, (_TRIES, width))
    slopes = {
        slope.along: rng.uniform(0.1, 1, (_TRIES, width)) for slope in slopes_in(total)
    }
    values = evaluate(total, np.repeat(x, _TRIES, axis=0), y, np, slopes)
    size = np.abs(values).max() + 1.0
    return bool(np.isfinite(values).all() and np.ptp(values) <= 1e-9 * size)


def atom_scale(atom: Atom, typical: Typical) -> Float[Array, ""]:
    r"""The natural size of one `f_jk`: its slope measured in output scales.

    $s_{jk}^2 = \mathrm{mean}\, \sum_o (s_o\, \partial f_{jk} / \partial y_o)^2$ over
    the points and some reference outputs, where it is finite; a slope that the claim
    uses counts as one more output. For a plain bound on one output this is that
    output's scale, whatever its units, so a rule means the same in metres and in
    millimetres. With unit scales and a plain bound, it is the paper's form.
    """
    if not atom.uses_outputs:
        return jnp.ones(())
    scales = (typical.output_scale, dict(typical.slopes))
    around = (typical.ys, _typical_slopes(typical.slopes, typical.ys.shape[0]))
    slope = jax.grad(lambda ys, x: evaluate(atom.expr, x, ys[0], jnp, ys[1]))
    slopes = jax.vmap(jax.vmap(slope, (0, None)), (None, 0))(around, typical.xs)
    squares = sum(
        jnp.sum((part * scale[None, None]) ** 2, axis=-1)
        for part, scale in zip(
            jax.tree.leaves(slopes), jax.tree.leaves(scales), strict=True
        )
    )
    squared = jnp.mean(squares, where=jnp.isfinite(squares))
    return jnp.where(squared > 0, jnp.sqrt(squared), 1.0)


def _typical_slopes(scales: Slopes, rows: int) -> dict[Along, Array]:
    """Slopes of plus and minus their scale, in a different combination for each row."""
    count = np.arange(rows)
    signs = [1.0 - 2.0 * ((count >> bit) & 1) for bit in range(len(scales))]
    return {
        along: jnp.asarray(sign, scale.dtype)[:, None] * scale[None]
        for sign, (along, scale) in zip(signs, scales.items(), strict=True)
    }
