r"""Allowed and forbidden classes.

The paper's density is $\log \mathrm{Dir}(\mathrm{softmax}\,\phi(x); \alpha)$, with
$\alpha$ large for allowed classes and small for the others. It rewards certainty
without limit, so with a large weight it would overwhelm the data. A firm or hard rule
therefore forbids a class like a value: where its logit is the largest.
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
    Evaluation,
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
# The Dirichlet α of classes that are not allowed, if a rule does not say.
_FORBIDDEN = 0.01


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
        """The classes that a condition allows.

        Raises
        ------
        RuleError
            When it allows all of them or none, or is not about classes.
        """
        classes = schema.classes or ()
        mask = tuple(_is_allowed(claim, schema, index) for index in range(len(classes)))
        if all(mask) or not any(mask):
            allowed_classes = "every class" if all(mask) else "no class"
            raise RuleError(
                f"the claim ({claim}) allows {allowed_classes} of {listing(classes)}, "
                f"so it {'says nothing' if all(mask) else 'cannot hold'}. Name some of "
                "them."
            )
        return cls(mask)

    @property
    def allowed(self) -> Mask:
        """Whether each class is allowed."""
        return self.mask

    @property
    def broken(self) -> Terms:
        """Where the logit of a forbidden class is at least that of all allowed ones."""
        logits = [Column("output", index, "") for index in range(len(self.mask))]
        good = [logit for logit, ok in zip(logits, self.mask, strict=True) if ok]
        bad = [logit for logit in logits if logit not in good]
        return tuple(tuple(Atom(g - b, False) for g in good) for b in bad)

    def holds(self, X: np.ndarray, Y: np.ndarray, slopes: Slopes) -> np.ndarray:
        """Whether each class number is an allowed class."""
        return np.array(self.mask)[Y]

    def idle_settings(self, settings: Settings) -> tuple[Sequence[str], str]:
        """A hard rule masks classes, so no setting has an effect."""
        edge = ("tolerance", "form", "tau", "literal")
        idle = ("strength", "per")
        if settings.strictness == "hard":
            return (
                (*idle, *edge, "weight", "allowed", "forbidden"),
                "a hard rule gives other classes a probability of zero",
            )
        instead = "`weight`, `allowed` and `forbidden` say how strict it is"
        return (idle if settings.strictness == "firm" else (*idle, *edge)), instead

    def dial(self, settings: Settings) -> Dial:
        """The weight, or "firm" or "hard"."""
        value = settings.weight or _USUAL_WEIGHT
        value = value if settings.strictness == "soft" else settings.strictness
        return Dial("weight", value, _USUAL_WEIGHT, ("firm", "hard"))

    def softly(self, settings: Settings) -> bool:
        """A firm rule keeps its soft density."""
        return settings.strictness == "firm"

    def weight(self, settings: Settings) -> Weight:
        """One in total: one per point would overwhelm the data."""
        if settings.strictness != "soft" and settings.is_indicator:
            return Weight(settings.gamma)
        if settings.strictness != "soft":
            return Weight(1.0, at_each=True)
        return Weight(_USUAL_WEIGHT if settings.weight is None else settings.weight)

    def density(
        self, settings: Settings, scales: Scales, units: Units | None
    ) -> Density:
        """The paper's positive prior if soft, else a penalty for forbidden classes."""
        if settings.strictness == "soft":
            return Dirichlet.of(self.mask, settings)
        if settings.is_indicator:
            return IndicatorOfClasses(self.mask, Edge.of(settings))
        return DistanceOfClasses(self.mask, *edge_at(settings, 1.0))


class Dirichlet(Density):
    r"""$\log \mathrm{Dir}(\mathrm{softmax}\,\phi(x); \alpha)$."""

    mask: Mask = eqx.field(static=True)
    # Whether the rule leaves the concentration of forbidden classes open.
    is_open: bool = eqx.field(static=True)
    alpha: Float[Array, " classes"]
    log_normaliser: Float[Array, ""]

    def __init__(self, mask: Mask, alpha: np.ndarray, *, is_open: bool = False) -> None:
        normaliser = gammaln(alpha.sum()) - gammaln(alpha).sum()
        self.mask, self.is_open = mask, is_open
        self.alpha = jnp.asarray(alpha, float)
        self.log_normaliser = jnp.asarray(normaliser, float)

    @classmethod
    def of(cls, mask: Mask, settings: Settings) -> "Dirichlet":
        """Use large concentrations for allowed classes."""
        forbidden = settings.forbidden
        rest = _FORBIDDEN if forbidden is None else forbidden
        alpha = np.where(np.array(mask), settings.allowed, rest)
        return cls(mask, alpha, is_open=forbidden is None)

    def bounded(self) -> "Dirichlet":
        """The concentration of forbidden classes is 1, if the rule leaves it open."""
        if not self.is_open:
            return self
        alpha = np.asarray(self.alpha, float)
        return Dirichlet(self.mask, np.where(np.array(self.mask), alpha, 1.0))

    @property
    def is_bounded(self) -> bool:
        """A concentration below one rewards diverging logits."""
        return bool(np.asarray(self.alpha).min() >= 1)

    def log_g(self, evaluation: Evaluation, weight: Scalar, share: Scalar) -> Scalar:
        """The weighted sum over all points."""
        return share * jnp.sum(evaluation.each(self._logpdf))

    def _logpdf(self, site: Site) -> Scalar:
        """Computed from the log-softmax.

        So a network that is certain gives a large number with a finite slope instead
        of an infinity.
        """
        log_p = jax.nn.log_softmax(site.y)
        powers = (self.alpha - 1.0).astype(log_p.dtype)
        return self.log_normaliser.astype(log_p.dtype) + jnp.sum(powers * log_p)

    def slack(self, site: Site) -> Scalar:
        """The lead of the allowed classes."""
        return class_lead(self.mask, site)


class ForbiddenClasses(Density):
    """Penalties for a largest logit that belongs to a forbidden class."""

    mask: Mask = eqx.field(static=True)

    has_edge: ClassVar[bool] = True

    def slack(self, site: Site) -> Scalar:
        """The lead of the allowed classes."""
        return class_lead(self.mask, site)


class DistanceOfClasses(ForbiddenClasses):
    """The squared lead of a forbidden class."""

    tolerance: Float[Array, ""]
    margin: Float[Array, ""]

    def log_g(self, evaluation: Evaluation, weight: Scalar, share: Scalar) -> Scalar:
        """The squared leads, in tolerances."""
        edge = (a.astype(evaluation.ys.dtype) for a in (self.tolerance, self.margin))
        tolerance, margin = edge
        penalty = lambda site: squared_hinge(self.slack(site), tolerance, margin)
        return -0.5 * share * jnp.sum(evaluation.each(penalty))


class IndicatorOfClasses(ForbiddenClasses):
    """The paper's soft indicator of the lead of a forbidden class."""

    edge: Edge

    def log_g(self, evaluation: Evaluation, weight: Scalar, share: Scalar) -> Scalar:
        """The mean violation times its price."""
        broken = lambda site: self.edge.inside(self.slack(site))
        return -weight * jnp.mean(evaluation.each(broken))


def class_lead(mask: Mask, site: Site) -> Scalar:
    """The largest logit of the allowed classes less that of the others."""
    allowed = np.array(mask)
    if allowed.all() or not allowed.any():
        # The difference of two infinities would be NaN.
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
            # A list, so that every part is checked and every error is found.
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
