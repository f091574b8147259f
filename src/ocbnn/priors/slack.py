r"""How far a function is from breaking a claim, as a signed distance for one point.

What is forbidden is a union over j of intersections over k of $f_{jk} \le 0$, so
$\min_j \max_k f_{jk} / s_{jk}$ is below zero exactly where the claim is broken, and has
a slope nearly everywhere. Searches for the worst input go down along it.
"""

import jax.numpy as jnp

from ocbnn.core.types import Scalar, Site
from ocbnn.priors.claims import Components, Edge, Numbers, class_lead
from ocbnn.priors.law import Law
from ocbnn.rules import AllowedClasses, Expectation, Forbidden, evaluate


def slack_at(law: Law, site: Site) -> Scalar:
    """What is left at one site before the claim is broken; below zero, it is.

    In the natural sizes of the rule: for bounds, the scale of what is bounded; for an
    expectation, standard deviations short of two; for classes, the difference between
    the largest logit that is allowed and the largest that is not.

    Raises:
        TypeError: For a custom rule, which has no notion of being broken.
    """
    numbers = law.numbers.astype(site.y.dtype)
    match law.form, law.held:
        case Forbidden(), Edge() as edge:
            slack = _forbidden(law.form, numbers, edge, site)
        case Expectation(), Components() as parts:
            slack = _expected(law.form, numbers, parts, site)
        case AllowedClasses(mask), _:
            slack = class_lead(mask, site)
        case _:
            raise TypeError("a custom rule has no notion of being broken")
    # Where an expression has no value, the claim is taken to be on its edge.
    return jnp.where(jnp.isnan(slack), 0.0, slack)


def _forbidden(form: Forbidden, numbers: Numbers, edge: Edge, site: Site) -> Scalar:
    terms = []
    for atoms, scales in zip(form.terms, edge.scales, strict=True):
        found = [jnp.asarray(-jnp.inf, site.y.dtype)]
        for atom, scale in zip(atoms, scales, strict=True):
            z = evaluate(atom.expr, site.x, site.y, jnp, site.slopes, numbers)
            if atom.uses_outputs:
                found.append(z / scale.astype(z.dtype))
            else:
                is_met = z < 0 if atom.strict else z <= 0
                found.append(jnp.where(is_met, -jnp.inf, jnp.inf).astype(z.dtype))
        terms.append(jnp.max(jnp.stack(found)))
    return jnp.min(jnp.stack(terms))


def _expected(
    form: Expectation, numbers: Numbers, parts: Components, site: Site
) -> Scalar:
    here = (site.x, site.y, jnp, site.slopes, numbers)
    value = evaluate(form.target, *here)
    gaps = jnp.stack([value - evaluate(mean, *here) for mean in form.means])
    return jnp.max(2.0 - jnp.abs(gaps) / parts.sds.astype(gaps.dtype))
