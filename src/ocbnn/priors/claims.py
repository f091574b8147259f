"""What a function pays for a claim: the paper's densities, written for one point.

Each function here takes one `Site` and answers with numbers that `priors.term` adds up
over the points of the region. Natural logarithms throughout.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ocbnn.core.types import NO_SLOPES, Along, Scalar, Site, Slopes
from ocbnn.priors.indicator import soft_indicator
from ocbnn.rules import AllowedClasses, Atom, Expectation, Forbidden, Rule, evaluate

AtomScales = tuple[tuple[Float[Array, ""], ...], ...]


def softened_violation(
    forbidden: Forbidden, scales: AtomScales, rule: Rule, site: Site
) -> Scalar:
    r"""$c(x, y) = \sum_j \prod_k \sigma(f_{jk}(x, y) / s_{jk})$.

    Conditions on inputs alone are exact: they are zero or one and have no slope.
    """
    tau0, tau1 = rule.tau
    total = jnp.zeros((), site.y.dtype)
    for atoms, atom_scales in zip(forbidden.terms, scales, strict=True):
        product = jnp.ones((), site.y.dtype)
        for atom, scale in zip(atoms, atom_scales, strict=True):
            z = evaluate(atom.expr, site.x, site.y, jnp, site.slopes)
            if atom.uses_outputs:
                factor = soft_indicator(
                    z / scale.astype(z.dtype), tau0, tau1, literal=rule.literal
                )
            else:
                factor = (z < 0 if atom.strict else z <= 0).astype(site.y.dtype)
            product = product * factor
        total = total + product
    return total


def component_logpdfs(
    expectation: Expectation, site: Site
) -> Float[Array, " components"]:
    r"""$\log N(\phi(x); y_k(x), \sigma_k^2)$ for every component of the mixture."""
    value = evaluate(expectation.target, site.x, site.y, jnp, site.slopes)
    logs = []
    for mean, sd in zip(expectation.means, expectation.sds, strict=True):
        gap = (value - evaluate(mean, site.x, site.y, jnp)) / sd
        logs.append(-0.5 * gap**2 - jnp.log(sd) - 0.5 * jnp.log(2.0 * jnp.pi))
    return jnp.stack(logs)


def dirichlet_logpdf(allowed: AllowedClasses, rule: Rule, site: Site) -> Scalar:
    r"""$\log \mathrm{Dir}(\mathrm{softmax}\,\phi(x); \alpha)$.

    Computed from the logarithm of the softmax, so that a network which is certain
    gives a large number with a finite slope instead of an infinity without one.
    """
    alpha = jnp.where(jnp.array(allowed.mask), rule.allowed, rule.forbidden).astype(
        site.y.dtype
    )
    log_p = jax.nn.log_softmax(site.y)
    normaliser = jax.scipy.special.gammaln(jnp.sum(alpha)) - jnp.sum(
        jax.scipy.special.gammaln(alpha)
    )
    return normaliser + jnp.sum((alpha - 1.0) * log_p)


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
