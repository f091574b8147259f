r"""Classes that are possible, and classes that are not.

The paper's density is $\log \mathrm{Dir}(\mathrm{softmax}\,\phi(x); \alpha)$, with
$\alpha$ large for allowed classes and small for the others. It rewards certainty
without end, and made costly it would shout down the data. So a class that is ruled out,
firmly or without exception, is forbidden like a value: where its logit is the largest.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import gammaln

from ocbnn.claims.base import (
    BoundClaim,
    Density,
    Dial,
    Felt,
    Mask,
    Scales,
    Settings,
    Weight,
)
from ocbnn.claims.edge import Edge, edge_at, largest, squared_hinge
from ocbnn.core.types import Scalar, Site, Slopes
from ocbnn.core.units import Units
from ocbnn.core.words import listing
from ocbnn.errors import RuleError
from ocbnn.language.binding import (
    bind_condition,
    mentioned,
    refuse_inputs_only,
    refuse_membership,
)
from ocbnn.language.conditions import And, Condition, Not, Or
from ocbnn.language.normal_form import Atom, Terms
from ocbnn.language.schema import Schema
from ocbnn.language.tree import Column, Membership

_USUAL_WEIGHT = 1.0


@dataclasses.dataclass(frozen=True)
class AllowedClasses(BoundClaim):
    """Whether each class is allowed, in the schema's order."""

    mask: Mask

    can_be_strict: ClassVar[bool] = True
    remedy: ClassVar[str] = "raise its weight"
    kept_where: ClassVar[str] = (
        "A draw keeps it where its most probable class is one that the rule allows."
    )

    @classmethod
    def of(cls, claim: Condition, schema: Schema) -> "AllowedClasses":
        """The classes that a condition leaves.

        Raises
        ------
        RuleError
            When it leaves all of them or none, or is about something else.
        """
        classes = schema.classes or ()
        mask = tuple(_is_allowed(claim, schema, index) for index in range(len(classes)))
        if all(mask) or not any(mask):
            every = "every class" if all(mask) else "no class"
            raise RuleError(
                f"the claim ({claim}) allows {every} of {listing(classes)}, so it "
                f"{'says nothing' if all(mask) else 'cannot hold'}. Name some of them."
            )
        return cls(mask)

    @property
    def allowed(self) -> Mask:
        """The classes."""
        return self.mask

    @property
    def broken(self) -> Terms:
        """Where a forbidden class comes before all that are allowed."""
        logits = [Column("output", place, "") for place in range(len(self.mask))]
        good = [one for one, allowed in zip(logits, self.mask, strict=True) if allowed]
        bad = [one for one in logits if one not in good]
        return tuple(tuple(Atom(g - b, False) for g in good) for b in bad)

    def holds(self, X: np.ndarray, Y: np.ndarray, slopes: Slopes) -> np.ndarray:
        """Whether each class number is one of them."""
        return np.array(self.mask)[Y]

    def idle_settings(self, settings: Settings) -> tuple[Sequence[str], str]:
        """A hard rule masks classes, and nothing is left to weigh."""
        edge = ("tolerance", "form", "tau", "literal")
        idle = ("strength", "per")
        if settings.held == "hard":
            return (
                (*idle, *edge, "weight", "allowed", "forbidden"),
                "a hard rule gives other classes a probability of zero",
            )
        instead = "`weight`, `allowed` and `forbidden` say how strict it is"
        return (idle if settings.held == "firm" else (*idle, *edge)), instead

    def dial(self, settings: Settings) -> Dial:
        """The weight, or a word."""
        now = settings.weight or _USUAL_WEIGHT
        now = now if settings.held == "soft" else settings.held
        return Dial("weight", now, _USUAL_WEIGHT, ("firm", "hard"))

    def softly(self, settings: Settings) -> bool:
        """Firmness takes nothing from what the rule says softly."""
        return settings.held == "firm"

    def weight(self, settings: Settings) -> Weight:
        """Once in all: as a product over the points it shouts down any data."""
        if settings.held != "soft" and settings.is_indicator:
            return Weight(settings.gamma)
        if settings.held != "soft":
            return Weight(1.0, at_each=True)
        return Weight(_USUAL_WEIGHT if settings.weight is None else settings.weight)

    def density(
        self, settings: Settings, scales: Scales, units: Units | None
    ) -> Density:
        """The paper's positive prior, or what is forbidden."""
        if settings.held == "soft":
            return Dirichlet.of(self.mask, settings)
        if settings.is_indicator:
            return IndicatorOfClasses(self.mask, Edge.of(settings))
        return DistanceOfClasses(self.mask, *edge_at(settings, 1.0))


class Dirichlet(Density):
    r"""$\log \mathrm{Dir}(\mathrm{softmax}\,\phi(x); \alpha)$."""

    mask: Mask = eqx.field(static=True)
    alpha: Float[Array, " classes"]
    log_normaliser: Float[Array, ""]

    @classmethod
    def of(cls, mask: Mask, settings: Settings) -> "Dirichlet":
        """Concentrations that are large for allowed classes."""
        alpha = np.where(np.array(mask), settings.allowed, settings.forbidden)
        normaliser = gammaln(alpha.sum()) - gammaln(alpha).sum()
        return cls(mask, jnp.asarray(alpha, float), jnp.asarray(normaliser, float))

    @property
    def is_bounded(self) -> bool:
        """Below one, a concentration rewards logits that run away."""
        return bool(np.asarray(self.alpha).min() >= 1)

    def log_g(self, felt: Felt, weight: Scalar, share: Scalar) -> Scalar:
        """The share of every point."""
        return share * jnp.sum(felt.each(self._logpdf))

    def _logpdf(self, site: Site) -> Scalar:
        """From the logarithm of the softmax.

        So a network that is certain gives a large number with a finite slope, and not
        an infinity without one.
        """
        log_p = jax.nn.log_softmax(site.y)
        powers = (self.alpha - 1.0).astype(log_p.dtype)
        return self.log_normaliser.astype(log_p.dtype) + jnp.sum(powers * log_p)

    def slack(self, site: Site) -> Scalar:
        """The lead of the allowed classes."""
        return class_lead(self.mask, site)


class ForbiddenClasses(Density):
    """How far the largest logit belongs to a class that is not allowed."""

    mask: Mask = eqx.field(static=True)

    has_edge: ClassVar[bool] = True

    def slack(self, site: Site) -> Scalar:
        """The lead of the allowed classes."""
        return class_lead(self.mask, site)


class DistanceOfClasses(ForbiddenClasses):
    """By how much another class leads, squared."""

    tolerance: Float[Array, ""]
    margin: Float[Array, ""]

    def log_g(self, felt: Felt, weight: Scalar, share: Scalar) -> Scalar:
        """The leads, in tolerances."""
        edge = (a.astype(felt.ys.dtype) for a in (self.tolerance, self.margin))
        tolerance, margin = edge
        behind = lambda site: squared_hinge(self.slack(site), tolerance, margin)
        return -0.5 * share * jnp.sum(felt.each(behind))


class IndicatorOfClasses(ForbiddenClasses):
    """The paper's soft indicator of another class that leads."""

    edge: Edge

    def log_g(self, felt: Felt, weight: Scalar, share: Scalar) -> Scalar:
        """The mean violation, at its price."""
        broken = lambda site: self.edge.inside(self.slack(site))
        return -weight * jnp.mean(felt.each(broken))


def class_lead(mask: Mask, site: Site) -> Scalar:
    """The largest logit of an allowed class less that of all others."""
    allowed = np.array(mask)
    if allowed.all() or not allowed.any():
        # An infinity less another is not a number.
        end = np.inf if allowed.all() else -np.inf
        return jnp.asarray(end, site.y.dtype)
    return largest(site.y[allowed]) - largest(site.y[~allowed])


def _is_allowed(claim: Condition, schema: Schema, index: int) -> bool:
    match claim:
        case Membership(output, labels):
            if schema.column(output).kind != "output":
                refuse_membership(claim, schema)
            return index in {schema.class_index(label) for label in labels}
        case Not(part):
            return not _is_allowed(part, schema, index)
        case And(parts):
            # A list, so that every part is looked at and every error is found.
            return all([_is_allowed(part, schema, index) for part in parts])
        case Or(parts):
            return any([_is_allowed(part, schema, index) for part in parts])
    if not mentioned(bind_condition(claim, schema), "output"):
        refuse_inputs_only(claim, schema)
    output, classes = schema.outputs[0], listing(schema.classes or ())
    raise RuleError(
        f"({claim}) compares {output}, which is a class: classes have no order. Write "
        f"`{output} in {{...}}` with some of {classes}."
    )
