"""A smooth indicator of whether a number is at most zero."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def soft_indicator(
    z: Float[Array, "*shape"],
    tau0: float | Float[Array, ""] = 15.0,
    tau1: float | Float[Array, ""] = 2.0,
    *,
    literal: bool = False,
) -> Float[Array, "*shape"]:
    r"""$\sigma(z) = \frac14 (\tanh(-\tau_0 z) + 1)(\tanh(-\tau_1 z) + 1)$.

    One where `z` is far below zero, a quarter at zero, and nothing far above it. The
    steep factor decides, the flat one keeps a slope for functions deep inside a
    forbidden region.

    Parameters
    ----------
    z
        The numbers.
    tau0
        Steepness of the steep factor.
    tau1
        Steepness of the flat factor.
    literal
        Whether to leave out the quarter, as the paper prints it; the values then range
        to four. Its authors' code has the quarter.

    Examples
    --------
    >>> float(soft_indicator(jnp.array(-3.0))), float(soft_indicator(jnp.array(0.0)))
    (0.999..., 0.25)
    """
    product = (jnp.tanh(-tau0 * z) + 1.0) * (jnp.tanh(-tau1 * z) + 1.0)
    return product if literal else 0.25 * product
