r"""Linear regression with standard normal coefficients and noise.

Its marginal likelihood $N(t; 0, I + G G^\top)$ and the posterior of its coefficients,
both in double precision: with little noise, 50 columns are too much for seven digits.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.types import RandomKey, Scalar


@jax.custom_jvp
def marginal_energy(
    design: Float[Array, "rows columns"], targets: Float[Array, " rows"]
) -> Scalar:
    r"""$-\log N(t; 0, I + G G^\top)$, without the constant of a normal density.

    Its slope is written out, because solving for the value gives nearly all of it.
    """
    return _energy_and_slopes(design, targets)[0]


@marginal_energy.defjvp
def _(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple:
    energy, *slopes = _energy_and_slopes(*primals)
    pairs = zip(slopes, tangents, strict=True)
    return energy, sum(jnp.sum(slope * tangent) for slope, tangent in pairs)


def _energy_and_slopes(
    design: Float[Array, "rows columns"], targets: Float[Array, " rows"]
) -> tuple[Scalar, Float[Array, "rows columns"], Float[Array, " rows"]]:
    dtype = design.dtype
    with jax.enable_x64(True):
        G, t = _double(design), _double(targets)
        if G.shape[0] <= G.shape[1]:
            factor = _cholesky(G @ G.T)
            solved = _solve(factor, jnp.concatenate([G, t[:, None]], axis=1))
            whitened, residual = solved[:, :-1], solved[:, -1]
            coefficients = G.T @ residual
        else:
            factor = _cholesky(G.T @ G)
            whitened = _solve(factor, G.T).T
            coefficients = whitened.T @ t
            residual = t - G @ coefficients
        # As a sum of squares: a difference of large numbers would lose digits.
        square = residual @ residual + coefficients @ coefficients
        energy = 0.5 * square + jnp.sum(jnp.log(jnp.diagonal(factor)))
        slope = whitened - residual[:, None] * coefficients[None]
        single = lambda a: jax.lax.convert_element_type(a, dtype)
        return single(energy), single(slope), single(residual)


def draw_coefficients(
    key: RandomKey,
    design: Float[Array, "rows columns"],
    targets: Float[Array, " rows"],
) -> Float[Array, " columns"]:
    """One draw of the coefficients from their posterior."""
    noise = jax.random.normal(key, design.shape[1:], design.dtype)
    with jax.enable_x64(True):
        G, t = _double(design), _double(targets)
        factor = _cholesky(G.T @ G)
        mean = _solve(factor, (G.T @ t)[:, None])[:, 0]
        deviation = jax.scipy.linalg.solve_triangular(
            factor, _double(noise), lower=True, trans=1
        )
        return jax.lax.convert_element_type(mean + deviation, design.dtype)


def _double(values: Array) -> Array:
    return jax.lax.convert_element_type(values, jnp.float64)


def _cholesky(product: Float[Array, "size size"]) -> Float[Array, "size size"]:
    """The factor of the identity plus a product."""
    return jnp.linalg.cholesky(product + jnp.eye(len(product), dtype=product.dtype))


def _solve(
    factor: Float[Array, "size size"], right: Float[Array, "size some"]
) -> Float[Array, "size some"]:
    return jax.scipy.linalg.cho_solve((factor, True), right)
