"""Fully connected networks compute what plain NumPy computes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from ocbnn.errors import SettingError
from ocbnn.networks import ACTIVATIONS, MLP, Layer
from tests import reference


def random_weights(network, seed=0):
    rng = np.random.default_rng(seed)
    return jax.tree.map(
        lambda spec: jnp.asarray(rng.normal(size=spec.shape), spec.dtype),
        network.shapes(),
    )


@pytest.mark.parametrize("hidden", [(), (5,), (4, 3), (2, 3, 4, 5), (20, 30)])
def test_a_network_of_any_depth_agrees_with_numpy(hidden, float64):
    network = MLP(3, hidden, 2)
    weights = random_weights(network)
    xs = np.random.default_rng(1).normal(size=(7, 3))
    expected = reference.mlp(weights, xs)
    np.testing.assert_allclose(
        network.batch(weights, jnp.asarray(xs)), expected, rtol=1e-12
    )
    one = network.apply(weights, jnp.asarray(xs[4]))
    np.testing.assert_allclose(one, expected[4], rtol=1e-12)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_every_activation_agrees_with_numpy(name, float64):
    network = MLP(2, (6, 5), 2, activation=name)
    weights = random_weights(network)
    xs = np.random.default_rng(1).normal(size=(9, 2))
    expected = reference.mlp(weights, xs, name)
    np.testing.assert_allclose(
        network.batch(weights, jnp.asarray(xs)), expected, rtol=1e-9
    )


def test_the_papers_unit_is_one_at_zero_and_falls_on_both_sides():
    rbf = ACTIVATIONS["rbf"]
    z = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    np.testing.assert_allclose(rbf(jnp.asarray(z)), np.exp(-(z**2)), rtol=1e-6)


@given(st.integers(1, 4), st.lists(st.integers(1, 9), max_size=4), st.integers(1, 3))
def test_shapes_and_fan_in_follow_the_widths(inputs, hidden, outputs):
    network = MLP(inputs, tuple(hidden), outputs)
    widths = [inputs, *hidden, outputs]
    for place, (shape, fan) in enumerate(
        zip(network.shapes(), network.fan_in(), strict=True)
    ):
        assert shape.weight.shape == (widths[place], widths[place + 1])
        assert shape.bias.shape == (widths[place + 1],)
        assert fan == Layer(widths[place], 1)
    assert len(network.shapes()) == len(hidden) + 1


def test_weights_have_the_precision_of_the_day(float64):
    assert MLP(1, 3, 1).shapes()[0].weight.dtype == jnp.float64


@pytest.mark.parametrize(
    "hidden", [10, (10,), [10], np.int64(10), (np.int32(10),)], ids=repr
)
def test_one_hidden_layer_may_be_written_in_several_ways(hidden):
    assert MLP(1, hidden, 1) == MLP(1, (10,), 1)
    assert hash(MLP(1, hidden, 1)) == hash(MLP(1, (10,), 1))


def test_networks_that_differ_do_not_compare_equal():
    network = MLP(2, (3,), 1)
    others = [
        MLP(1, (3,), 1),
        MLP(2, (4,), 1),
        MLP(2, (3,), 2),
        MLP(2, (3,), 1, "tanh"),
    ]
    assert all(network != other for other in others)


@pytest.mark.parametrize(
    "hidden", [0, -3, 2.5, "10", None, (10, 0), (True,), (10, "a")]
)
def test_hidden_sizes_that_are_no_sizes_are_refused_with_advice(hidden):
    with pytest.raises(SettingError, match=r"Write hidden=\(50,\)"):
        MLP(1, hidden, 1)


def test_an_unknown_activation_is_refused_with_those_there_are():
    with pytest.raises(SettingError, match=r"'rfb'.*rbf, tanh, relu"):
        MLP(1, (10,), 1, activation="rfb")


@pytest.mark.parametrize("name", ["rbf", "relu"])
def test_the_arrangement_for_accelerators_computes_the_same(name, float64, monkeypatch):
    network = MLP(3, (40, 8), 2, activation=name)
    weights = random_weights(network)
    xs = jnp.asarray(np.random.default_rng(1).normal(size=(300, 3)))
    along = random_weights(network, seed=2)

    def everything(weights):
        total = lambda w: jnp.sum(jnp.sin(network.batch(w, xs)))
        _, slope = jax.jvp(total, (weights,), (along,))
        return network.batch(weights, xs), jax.grad(total)(weights), slope

    plain = everything(weights)
    monkeypatch.setattr("ocbnn.networks.mlp.is_accelerated", lambda: True)
    monkeypatch.setattr("ocbnn.networks.activations.is_accelerated", lambda: True)
    program = str(jax.make_jaxpr(network.batch)(weights, xs))
    assert "optimization_barrier" in program
    compare = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    jax.tree.map(compare, plain, everything(weights))


def test_few_rows_and_narrow_layers_are_not_arranged(monkeypatch):
    monkeypatch.setattr("ocbnn.networks.mlp.is_accelerated", lambda: True)
    for hidden, rows in (((40,), 100), ((10,), 300)):
        network = MLP(3, hidden, 2)
        program = jax.make_jaxpr(network.batch)(
            random_weights(network), jnp.zeros((rows, 3))
        )
        assert "optimization_barrier" not in str(program)
