"""Bounds on networks, against exact rational arithmetic and against each other."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.language.intervals import Interval
from ocbnn.networks.mlp import Layer
from ocbnn.proofs.bounds import Functionals, bound_network, bound_slopes
from ocbnn.proofs.shapes import SHAPES
from tests.proofs.networks import random_draws, values

pytestmark = pytest.mark.usefixtures("float64")


def one_draw(draws, number):
    double = lambda a: jnp.asarray(a[number], jnp.float64)
    return tuple(Layer(double(w), double(b)) for w, b in draws)


def plain(outputs, inputs):
    return Functionals(
        jnp.eye(outputs), jnp.zeros((outputs, inputs)), *2 * (jnp.zeros(outputs),)
    )


def exactly(layers, x):
    """A relu network's outputs in rational arithmetic: no rounding at all."""
    here = [Fraction(float(v)) for v in x]
    for place, (weight, bias) in enumerate(layers):
        here = [
            sum(
                (Fraction(float(w)) * v for w, v in zip(column, here, strict=True)),
                Fraction(float(b)),
            )
            for column, b in zip(np.asarray(weight).T, np.asarray(bias), strict=True)
        ]
        if place < len(layers) - 1:
            here = [max(v, Fraction(0)) for v in here]
    return here


def test_bounds_hold_in_exact_arithmetic_where_there_is_no_room_to_spare():
    rng = np.random.default_rng(1)
    draws = random_draws(rng, (3, 6, 5, 2), 40, scale=100.0)
    bound = jax.jit(
        lambda weights, x: (
            bound_network(weights, SHAPES["relu"], Interval(x, x), plain(2, 3)).range
        )
    )
    for number in range(40):
        x = rng.standard_normal(3) * 10.0 ** rng.integers(-3, 4)
        weights = one_draw(draws, number)
        low, high = bound(weights, jnp.asarray(x))
        for place, value in enumerate(exactly(weights, x)):
            assert Fraction(float(low[place])) <= value <= Fraction(float(high[place]))
            size = max(1.0, abs(float(value)))
            assert float(high[place] - low[place]) < 1e-6 * size


@pytest.mark.parametrize("activation", ["rbf", "relu", "sin"])
def test_relaxation_is_as_good_as_the_box_is_small(activation):
    rng = np.random.default_rng(2)
    widths = (2, 8, 8, 1)
    draws = random_draws(rng, widths, 20, scale=0.7)
    bound = jax.jit(
        lambda weights, low, high: (
            bound_network(
                weights, SHAPES[activation], Interval(low, high), plain(1, 2)
            ).range
        )
    )
    loose = {0.2: [], 0.02: []}
    for number in range(20):
        middle = rng.standard_normal(2)
        for width, result in loose.items():
            box = middle - width / 2, middle + width / 2
            low, high = bound(one_draw(draws, number), *map(jnp.asarray, box))
            X = box[0] + rng.random((2000, 2)) * width
            seen = values(draws, number, X, activation)[:, 0]
            assert float(low[0]) <= seen.min()
            assert seen.max() <= float(high[0])
            result.append(float(high[0] - low[0]) - np.ptp(seen))
    # The error of a line shrinks with the square of the width, that of an interval
    # with the width itself; relu has kinks, so only most boxes do.
    assert np.median(loose[0.02]) < 0.04 * np.median(loose[0.2]) + 0.002


def test_functionals_of_several_outputs_are_bounded_together():
    # Two outputs that are the same differ by nothing, which intervals cannot see.
    rng = np.random.default_rng(3)
    ((first,), (last,)) = zip(random_draws(rng, (1, 6, 1), 1), strict=True)
    twice = Layer(
        np.concatenate([last.weight, last.weight], axis=2),
        np.concatenate([last.bias, last.bias], axis=1),
    )
    weights = one_draw((first, twice), 0)
    difference = Functionals(
        jnp.array([[1.0, -1.0]]), jnp.zeros((1, 1)), *2 * (jnp.zeros(1),)
    )
    box = Interval(jnp.array([-1.0]), jnp.array([1.0]))
    bound = jax.jit(lambda w: bound_network(w, SHAPES["rbf"], box, difference).range)
    result = bound(weights)
    assert float(result.high[0] - result.low[0]) < 1e-9


@pytest.mark.parametrize("activation", ["rbf", "tanh", "relu"])
def test_slopes_of_the_network_lie_within_their_bounds(activation):
    rng = np.random.default_rng(4)
    draws = random_draws(rng, (2, 6, 5, 2), 10)
    shape = SHAPES[activation]

    def forward(weights, x):
        *inner, last = weights
        for layer in inner:
            x = shape.function(x @ layer.weight + layer.bias)
        return x @ last.weight + last.bias

    @jax.jit
    def both(weights, low, high, X):
        result = bound_slopes(weights, shape, Interval(low, high), (1,))
        return result, jax.vmap(jax.jacfwd(lambda x: forward(weights, x)))(X)[:, :, 1]

    for number in range(10):
        middle, width = rng.standard_normal(2), 0.3
        X = middle + width * (2 * rng.random((300, 2)) - 1)
        box = (middle - width, middle + width, X)
        result, slopes = both(one_draw(draws, number), *map(jnp.asarray, box))
        assert np.all(np.asarray(slopes) >= np.asarray(result.low))
        assert np.all(np.asarray(slopes) <= np.asarray(result.high))
