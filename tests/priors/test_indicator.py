"""The soft indicator is the paper's, kept between zero and one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from ocbnn.priors import soft_indicator
from tests import reference

Z = np.concatenate([np.linspace(-3, 3, 61), [-1e4, -50.0, 50.0, 1e4]])


@pytest.mark.parametrize("taus", [(15.0, 2.0), (2.0, 15.0), (1.0, 1.0)])
def test_the_soft_indicator_is_a_quarter_of_the_printed_product(taus, float64):
    z = jnp.asarray(Z)
    expected = reference.sigma(Z, *taus)
    np.testing.assert_allclose(soft_indicator(z, *taus), expected, atol=1e-15)
    literal = soft_indicator(z, *taus, literal=True)
    np.testing.assert_allclose(literal, 4 * expected, atol=4e-15)


def test_the_papers_constants_are_the_default(float64):
    z = jnp.asarray(Z)
    np.testing.assert_array_equal(soft_indicator(z), soft_indicator(z, 15.0, 2.0))


@given(st.floats(-1e6, 1e6, width=32), st.floats(0, 10, width=32))
def test_the_soft_indicator_falls_from_one_to_zero(z, step):
    here, there = soft_indicator(jnp.array([z, z + step], jnp.float32))
    assert 0 <= there <= here <= 1


def test_a_function_deep_inside_a_forbidden_region_still_feels_a_slope():
    # The steep factor alone has none there, in single precision.
    slope = jax.grad(soft_indicator)
    assert float(slope(jnp.float32(-3.0))) < -1e-6
    assert float(jax.grad(lambda z: jnp.tanh(-15 * z))(jnp.float32(-3.0))) == 0


@pytest.mark.parametrize("z", [-1e30, -1e4, 0.0, 1e4, 1e30])
def test_value_and_slope_are_finite_everywhere(z):
    value, slope = jax.value_and_grad(soft_indicator)(jnp.float32(z))
    assert np.isfinite([value, slope]).all()
