"""What a function pays for a claim: the paper's densities, written for one point.

Each function here takes one `Site` and answers with numbers that `priors.term` adds up
over the points of the region. Natural logarithms throughout.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import gammaln

from ocbnn.core.types import NO_SLOPES, Along, Scalar, Site, Slopes
from ocbnn.priors.indicator import soft_indicator
from ocbnn.rules import AllowedClasses, Atom, Expectation, Forbidden, Rule, evaluate

AtomScales = tuple[tuple[Float[Array, ""], ...], ...]
Terms = tuple[tuple[Atom, ...], ...]
Numbers = Float[Array, " numbers"]


class Edge(eqx.Module):
    """How the edge of a forbidden region is softened."""

    tau0: Float[Array, ""]
    tau1: Float[Array, ""]
    scales: AtomScales
    literal: bool = eqx.field(static=True)

    @classmethod
    def of(cls, rule: Rule, scales: AtomScales) -> "Edge":
        """As a rule asks for it, once the size of every atom is known."""
        tau0, tau1 = (jnp.asarray(tau, float) for tau in rule.tau)
        return cls(tau0, tau1, scales, rule.literal)


class Components(eqx.Module):
    """The spread and the share of every component of an expectation."""

    sds: Float[Array, " components"]
    log_heights: Float[Array, " components"]
    log_shares: Float[Array, " components"]

    @classmethod
    def of(cls, claim: Expectation) -> "Components":
        """Those of a claim, with what follows from them in double precision."""
        sds, shares = np.array(claim.sds), np.array(claim.weights)
        whole = (sds, -np.log(sds) - 0.5 * np.log(2.0 * np.pi), np.log(shares))
        return cls(*(jnp.asarray(numbers, float) for numbers in whole))


class Concentrations(eqx.Module):
    """The parameters of a Dirichlet density, one for each class."""

    alpha: Float[Array, " classes"]
    log_normaliser: Float[Array, ""]

    @classmethod
    def of(cls, claim: AllowedClasses, rule: Rule) -> "Concentrations":
        """Large for allowed classes, small for the others."""
        alpha = np.where(np.array(claim.mask), rule.allowed, rule.forbidden)
        normaliser = gammaln(alpha.sum()) - gammaln(alpha).sum()
        return cls(jnp.asarray(alpha, float), jnp.asarray(normaliser, float))


def softened_violation(
    terms: Terms, numbers: Numbers, edge: Edge, site: Site
) -> Scalar:
    r"""$c(x, y) = \sum_j \prod_k \sigma(f_{jk}(x, y) / s_{jk})$.

    Conditions on inputs alone are exact: they are zero or one and have no slope.
    """
    tau0, tau1 = (tau.astype(site.y.dtype) for tau in (edge.tau0, edge.tau1))
    total = jnp.zeros((), site.y.dtype)
    for atoms, atom_scales in zip(terms, edge.scales, strict=True):
        product = jnp.ones((), site.y.dtype)
        for atom, scale in zip(atoms, atom_scales, strict=True):
            z = evaluate(atom.expr, site.x, site.y, jnp, site.slopes, numbers)
            if atom.uses_outputs:
                factor = soft_indicator(
                    z / scale.astype(z.dtype), tau0, tau1, literal=edge.literal
                )
            else:
                factor = (z < 0 if atom.strict else z <= 0).astype(site.y.dtype)
            product = product * factor
        total = total + product
    return total


def component_logpdfs(
    form: Expectation, numbers: Numbers, parts: Components, site: Site
) -> Float[Array, " components"]:
    r"""$\log N(\phi(x); y_k(x), \sigma_k^2)$ for every component of the mixture."""
    here = (site.x, site.y, jnp, site.slopes, numbers)
    value = evaluate(form.target, *here)
    gaps = jnp.stack([value - evaluate(mean, *here) for mean in form.means])
    gaps = gaps / parts.sds.astype(gaps.dtype)
    return -0.5 * gaps**2 + parts.log_heights.astype(gaps.dtype)


def dirichlet_logpdf(held: Concentrations, site: Site) -> Scalar:
    r"""$\log \mathrm{Dir}(\mathrm{softmax}\,\phi(x); \alpha)$.

    Computed from the logarithm of the softmax, so that a network which is certain
    gives a large number with a finite slope instead of an infinity without one.
    """
    log_p = jax.nn.log_softmax(site.y)
    powers = (held.alpha - 1.0).astype(log_p.dtype)
    return held.log_normaliser.astype(log_p.dtype) + jnp.sum(powers * log_p)


def class_lead(mask: tuple[bool, ...], site: Site) -> Scalar:
    """The largest logit of an allowed class less that of all others."""
    allowed = np.array(mask)
    if allowed.all() or not allowed.any():
        # An infinity less another is no number.
        end = np.inf if allowed.all() else -np.inf
        return jnp.asarray(end, site.y.dtype)
    return jnp.max(site.y[allowed]) - jnp.max(site.y[~allowed])


def softened_class(mask: tuple[bool, ...], edge: Edge, site: Site) -> Scalar:
    """How far the largest logit belongs to a class that is not allowed."""
    tau0, tau1 = (tau.astype(site.y.dtype) for tau in (edge.tau0, edge.tau1))
    return soft_indicator(class_lead(mask, site), tau0, tau1, literal=edge.literal)


def atom_scales(
    forbidden: Forbidden,
    xs: Float[Array, "points inputs"],
    reference: Float[Array, "rows outputs"],
    output_scale: Float[Array, " outputs"],
    slope_scales: Slopes = NO_SLOPES,
) -> AtomScales:
    r"""The natural size of each `f_jk`: its slope measured in output scales.

    $s_{jk}^2 = \mathrm{mean}\, \sum_o (s_o\, \partial f_{jk} / \partial y_o)^2$ over
    the points and some reference outputs, where it is finite; a slope that the claim
    speaks of counts as one more output. For a plain bound on one output this is that
    output's scale, whatever its units, so a rule means the same in metres and in
    millimetres. With all scales one and a plain bound, it is the paper's form.
    """
    scales = (output_scale, dict(slope_scales))
    typical = (reference, _typical_slopes(slope_scales, reference.shape[0]))

    def size(atom: Atom) -> Float[Array, ""]:
        if not atom.uses_outputs:
            return jnp.ones(())
        slope = jax.grad(lambda ys, x: evaluate(atom.expr, x, ys[0], jnp, ys[1]))
        both = jax.vmap(jax.vmap(slope, (0, None)), (None, 0))(typical, xs)
        squares = sum(
            jnp.sum((one * scale[None, None]) ** 2, axis=-1)
            for one, scale in zip(
                jax.tree.leaves(both), jax.tree.leaves(scales), strict=True
            )
        )
        squared = jnp.mean(squares, where=jnp.isfinite(squares))
        return jnp.where(squared > 0, jnp.sqrt(squared), 1.0)

    return tuple(tuple(map(size, atoms)) for atoms in forbidden.terms)


def _typical_slopes(scales: Slopes, rows: int) -> dict[Along, Array]:
    """Slopes up and down by their scale, in as many combinations as there are rows."""
    count = np.arange(rows)
    signs = [1.0 - 2.0 * ((count >> place) & 1) for place in range(len(scales))]
    return {
        along: jnp.asarray(sign, scale.dtype)[:, None] * scale[None]
        for sign, (along, scale) in zip(signs, scales.items(), strict=True)
    }


def unit_scales(forbidden: Forbidden) -> AtomScales:
    """No scaling: the paper's form, for problems that are not standardised."""
    return tuple(tuple(jnp.ones(()) for _ in atoms) for atoms in forbidden.terms)
