"""The box of outputs allowed by rules that apply at every input."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ocbnn.language.affine import affine
from ocbnn.rules.bound import BoundRule


def output_limits(
    bounds: Sequence[BoundRule], outputs: int
) -> tuple[Float[np.ndarray, " outputs"], Float[np.ndarray, " outputs"]]:
    """Lower and upper limits of each output, ±inf where no rule gives one.

    They follow from rules without a region that bound single outputs by numbers. Other
    rules, and other parts of the same rule, are left to the prior.

    >>> from ocbnn.rules import Schema, bind, parse_rule
    >>> rule = parse_rule("-1 <= a <= 2 and 2 * b <= 3 and a <= b")
    >>> output_limits([bind(rule, Schema(("x",), ("a", "b")))], 2)
    (array([ -1., -inf]), array([2. , 1.5]))
    """
    low, high = np.full(outputs, -np.inf), np.full(outputs, np.inf)
    for bound in bounds:
        if bound.rule.where is not None or bound.claim.required is None:
            continue
        # Each term is forbidden on its own, so a term of one atom is a bound.
        for atoms in bound.claim.broken or ():
            form = affine(atoms[0].expr, "output") if len(atoms) == 1 else None
            if form is None or (bound_of_output := form.edge()) is None:
                continue
            output, edge, is_upper = bound_of_output
            if is_upper:
                high[output] = min(high[output], edge)
            else:
                low[output] = max(low[output], edge)
    return low, high
