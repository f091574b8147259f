"""Equinox modules and pairs of functions are networks like any other."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.errors import SettingError
from ocbnn.networks import MLP, Applied, EquinoxNetwork

KEY = jax.random.key(0)
XS = jnp.asarray(np.random.default_rng(0).normal(size=(5, 2)), jnp.float32)


def module(seed=0, **options):
    return eqx.nn.MLP(2, 3, 4, 2, key=jax.random.key(seed), **options)


class Counter(eqx.Module):
    """Holds a whole number, which is an array and no weight."""

    slope: jax.Array
    power: jax.Array

    def __call__(self, x):
        return self.slope * x ** self.power.astype(x.dtype)


def test_a_module_with_its_own_weights_put_in_gives_its_own_values():
    network = EquinoxNetwork(module(), inputs=2)
    weights = eqx.filter(module(), eqx.is_inexact_array)
    np.testing.assert_allclose(
        network.batch(weights, XS), jax.vmap(module())(XS), rtol=1e-6
    )
    other = eqx.filter(module(1), eqx.is_inexact_array)
    np.testing.assert_allclose(
        network.batch(other, XS), jax.vmap(module(1))(XS), rtol=1e-6
    )
    assert (network.inputs, network.outputs) == (2, 3)


def test_a_modules_shapes_and_fan_in_are_those_of_its_weights():
    network = EquinoxNetwork(module(), inputs=2)
    assert [a.shape for a in jax.tree.leaves(network.shapes())] == [
        (4, 2),
        (4,),
        (4, 4),
        (4,),
        (3, 4),
        (3,),
    ]
    assert jax.tree.leaves(network.fan_in()) == [2, 1, 4, 1, 4, 1]
    weights = eqx.filter(module(), eqx.is_inexact_array)
    assert jax.tree.structure(network.shapes()) == jax.tree.structure(weights)


def test_a_modules_other_arrays_stay_as_they_are():
    made = Counter(jnp.array([1.0, 1.0]), jnp.array(3))
    network = EquinoxNetwork(made, inputs=2)
    weights = eqx.tree_at(lambda m: m.slope, network.shapes(), jnp.array([2.0, 5.0]))
    value = network.apply(weights, jnp.array([2.0, 1.0]))
    np.testing.assert_allclose(value, [16.0, 5.0])


def test_equal_modules_make_equal_networks_whatever_their_first_weights():
    one, two = EquinoxNetwork(module(0), 2), EquinoxNetwork(module(1), 2)
    assert one == two
    assert hash(one) == hash(two)
    assert one != EquinoxNetwork(module(activation=jnp.tanh), 2)


def test_a_wrapped_module_passes_through_jit_as_an_argument():
    weights = eqx.filter(module(), eqx.is_inexact_array)
    run = jax.jit(lambda network, xs: network.batch(weights, xs))
    np.testing.assert_allclose(
        run(EquinoxNetwork(module(), 2), XS), jax.vmap(module())(XS), rtol=1e-5
    )
    run(EquinoxNetwork(module(1), 2), XS)
    assert run._cache_size() == 1


class Uncallable(eqx.Module):
    weight: jax.Array


@pytest.mark.parametrize(
    ("made", "inputs", "advice"),
    [
        (lambda: Uncallable(jnp.ones(3)), 2, "Uncallable cannot be called"),
        (
            lambda: eqx.nn.MLP(2, "scalar", 4, 1, key=KEY),
            2,
            r"one vector for one input.*\(outputs,\)",
        ),
        (eqx.nn.Identity, 2, "no weights"),
        (module, 3, r"(?s)shape \(3,\).*Build it for 3 inputs"),
    ],
)
def test_modules_that_do_not_fit_are_refused_with_advice(made, inputs, advice):
    with pytest.raises(SettingError, match=advice):
        EquinoxNetwork(made(), inputs)


# Pairs of functions.


def init(key):
    return {"a": jax.random.normal(key, (2, 3)), "b": jnp.zeros(3)}


def apply(weights, x):
    return jnp.sin(x @ weights["a"]) + weights["b"]


def test_a_pair_of_functions_is_a_network():
    network = Applied(init, apply, inputs=2, outputs=3)
    weights = init(jax.random.key(3))
    expected = np.sin(np.asarray(XS) @ np.asarray(weights["a"]))
    np.testing.assert_allclose(network.batch(weights, XS), expected, atol=1e-6)
    assert {k: v.shape for k, v in network.shapes().items()} == {
        "a": (2, 3),
        "b": (3,),
    }
    assert network.fan_in() == {"a": 2, "b": 1}
    assert network == Applied(init, apply, 2, 3)
    assert hash(network) == hash(Applied(init, apply, 2, 3))


def test_a_pair_that_repeats_an_mlp_is_that_mlp():
    mlp = MLP(2, (4,), 3, "tanh")
    weights = jax.tree.map(lambda a: jnp.ones(a.shape) / 3, mlp.shapes())
    pair = Applied(lambda key: weights, mlp.apply, 2, 3)
    np.testing.assert_array_equal(pair.batch(weights, XS), mlp.batch(weights, XS))
    assert jax.tree.leaves(pair.fan_in()) == jax.tree.leaves(mlp.fan_in())


@pytest.mark.parametrize(
    ("inputs", "outputs", "function", "advice"),
    [
        (2, 1, apply, r"shape \(1,\) for one x of shape \(2,\)"),
        (5, 3, apply, r"(?s)shape \(5,\).*Build it for 5 inputs"),
        (2, 3, lambda weights, x: jnp.sum(apply(weights, x)), r"shape \(3,\)"),
        (2, 3, lambda weights, x: [1.0], r"shape \(3,\)"),
    ],
)
def test_pairs_of_a_wrong_shape_are_refused_with_advice(
    inputs, outputs, function, advice
):
    with pytest.raises(SettingError, match=advice):
        Applied(init, function, inputs, outputs)
