"""Positions in groups that fit a processor's cache."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.core.operations import largest_array
from ocbnn.inference import groups
from ocbnn.inference.groups import in_groups

X = jnp.asarray(np.random.default_rng(0).normal(size=(300, 7)), jnp.float32)


def fitted(weight, key):
    noise = jax.random.normal(key, (300,), jnp.float32)
    return jnp.sum((jnp.tanh(X @ weight) - noise[:, None]) ** 2)


@pytest.fixture
def positions():
    return jax.random.normal(jax.random.key(1), (12, 7, 5), jnp.float32)


@pytest.mark.parametrize("room", [1, 3_100, 6_000, 10_000_000])
def test_groups_of_any_size_give_what_all_at_once_give(monkeypatch, positions, room):
    keys = jax.random.split(jax.random.key(2), 12)
    together = jax.vmap(jax.value_and_grad(fitted))(positions, keys)
    monkeypatch.setattr(groups, "_ROOM", room)
    values, grads = in_groups(jax.value_and_grad(fitted), positions, keys)
    np.testing.assert_allclose(values, together[0], rtol=1e-5)
    np.testing.assert_allclose(grads, together[1], rtol=1e-4, atol=1e-4)


def test_groups_are_as_large_as_fits_and_equal(monkeypatch, positions):
    calls = []
    told = lambda function, stacked, batch_size: (
        calls.append(batch_size) or jax.vmap(function)(stacked)
    )
    monkeypatch.setattr(jax.lax, "map", told)
    key = jax.random.key(2)
    for room in (7_600, 1_500, 10, 18_000):
        monkeypatch.setattr(groups, "_ROOM", room)
        in_groups(lambda weight: fitted(weight, key), positions)
    # 300 rows of 5 units: five fit into 7,600, but twelve are not fives.
    assert calls == [4, 1, 1]


def test_a_function_that_asks_python_asks_once(monkeypatch, positions):
    asked = []

    def rows():
        asked.append(1)
        return np.ones((300, 5), np.float32)

    def function(weight):
        shape = jax.ShapeDtypeStruct((300, 5), jnp.float32)
        return jnp.sum(jax.pure_callback(rows, shape) * (X @ weight))

    monkeypatch.setattr(groups, "_ROOM", 1)
    assert largest_array(function, positions[0]) is None
    jax.block_until_ready(jax.jit(lambda p: in_groups(function, p))(positions))
    assert len(asked) == 1
