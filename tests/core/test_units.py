"""Standard units inside, a person's units outside, and no digits lost between."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from ocbnn.core.units import Units

RNG = np.random.default_rng(0)
X = RNG.normal([5.0, -200.0], [0.1, 50.0], (40, 2))
Y = RNG.normal([1e3, 0.0, -2.0], [10.0, 1e-3, 2.0], (40, 3))


def test_columns_become_mean_zero_and_spread_one():
    units = Units.of(X, Y, 3)
    for table in (units.standard_inputs(X), units.standard_outputs(Y)):
        np.testing.assert_allclose(table.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(table.std(axis=0), 1)


def test_outputs_come_back_as_they_went_in():
    units = Units.of(X, Y, 3)
    np.testing.assert_allclose(units.outputs(units.standard_outputs(Y)), Y, rtol=1e-12)


def test_plain_units_convert_nothing():
    units = Units.plain(2, 3)
    np.testing.assert_array_equal(units.standard_inputs(X), X)
    np.testing.assert_array_equal(units.standard_outputs(Y), Y)
    np.testing.assert_array_equal(units.outputs(Y), Y)


def test_class_outputs_are_left_alone():
    units = Units.of(X, None, 4)
    assert units.y_mean.tolist() == [0] * 4
    assert units.y_scale.tolist() == [1] * 4


@given(st.floats(-1e6, 1e6), st.integers(1, 50))
def test_a_constant_column_is_only_shifted(value, rows):
    # Means of equal numbers round, so their spread need not be exactly zero.
    units = Units.of(np.full((rows, 1), value), None, 1)
    assert units.x_scale.tolist() == [1.0]
    np.testing.assert_allclose(
        units.standard_inputs(np.array([[value], [value + 1]]))[:, 0],
        [0, 1],
        atol=1e-8,
    )


def test_seconds_since_1970_lose_no_digits():
    # In single precision, neighbouring numbers of this size are 128 seconds apart.
    seconds = np.arange(60.0)[:, None]
    plain = Units.of(seconds, None, 1).standard_inputs(seconds)
    epoch = Units.of(seconds + 1.7e9, None, 1).standard_inputs(seconds + 1.7e9)
    np.testing.assert_allclose(epoch, plain, atol=1e-7)
    assert len(np.unique(epoch.astype(np.float32))) == 60


@pytest.mark.parametrize("shape", [(), (4,), (2, 4)])
def test_compiled_conversions_agree_with_those_of_data(shape, float64):
    units = Units.of(X, Y, 3)
    xs = RNG.normal(5, 2, (*shape, 2))
    ys = RNG.normal(size=(*shape, 3))
    np.testing.assert_allclose(
        units.traced_inputs(jnp.asarray(xs)), units.standard_inputs(xs), rtol=1e-12
    )
    np.testing.assert_allclose(
        units.traced_outputs(jnp.asarray(ys)), units.outputs(ys), rtol=1e-12
    )


def test_compiled_conversions_keep_the_precision_of_their_argument():
    units = Units.of(X, Y, 3)
    assert units.traced_inputs(jnp.zeros(2, jnp.float32)).dtype == jnp.float32
    assert units.traced_outputs(jnp.zeros(3, jnp.float16)).dtype == jnp.float16


def test_an_input_can_have_a_scale_of_its_own():
    units = Units.of(X, Y, 3).with_scales({1: (-180.0, 2.0)})
    inner = units.standard_inputs(X)
    np.testing.assert_allclose(inner[:, 1], (X[:, 1] + 180) / 2)
    np.testing.assert_allclose(inner[:, 0].mean(), 0, atol=1e-12)
    np.testing.assert_allclose(units.standard_outputs(Y).std(axis=0), 1)
