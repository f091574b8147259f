"""Lines that bound activations, against extended precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.networks.activations import ACTIVATIONS
from ocbnn.proofs.shapes import SHAPES, TRUST, lines, slope_range
from tests.reference import ACTIVATIONS as REFERENCES

pytestmark = pytest.mark.usefixtures("float64")


def intervals(count=4000):
    rng = np.random.default_rng(0)
    middle = 3 * rng.standard_normal(count)
    width = 10 ** rng.uniform(-9, 1.3, count)
    return middle - width / 2, middle + width / 2


def inside(low, high, looks=301):
    share = np.linspace(0, 1, looks)[:, None]
    return np.clip(low + share * (high - low), low, high)


def test_every_activation_has_a_shape():
    assert set(SHAPES) == set(ACTIVATIONS)


@pytest.mark.parametrize("name", SHAPES)
def test_activations_are_as_exact_as_the_proofs_take_them_to_be(name):
    z = np.concatenate([np.linspace(-30, 30, 20001), np.geomspace(1e-12, 1, 500)])
    exact = np.asarray(REFERENCES[name](z.astype(np.longdouble)), np.longdouble)
    result = np.asarray(SHAPES[name].function(jnp.asarray(z)))
    assert np.max(np.abs(result - exact) / (1 + np.abs(z))) < TRUST / 20


@pytest.mark.parametrize("name", SHAPES)
def test_pieces_bend_the_way_they_are_said_to(name):
    shape = SHAPES[name]
    z = jnp.linspace(-12.0, 12.0, 48001)
    slopes = np.asarray(shape.slope(z))
    turn = np.diff(slopes)
    if shape.wave is None:
        which = np.searchsorted(np.asarray(shape.breaks), np.asarray(z[:-1]), "right")
        bend = np.asarray(shape.bends)[which]
        near = np.min(
            np.abs(np.asarray(z[:-1])[:, None] - np.array([*shape.breaks, 1e9])), axis=1
        )
    else:
        bend = -np.sign(np.sin(np.asarray(z[:-1])))
        near = np.abs(np.sin(np.asarray(z[:-1])))
    clear = near > 1e-3
    assert np.all((turn * bend)[clear & (bend != 0)] > -1e-13)
    assert np.all(np.abs(turn[clear & (bend == 0)]) < 1e-13)
    assert np.max(np.abs(slopes)) <= shape.steepest + 1e-9


@pytest.mark.parametrize("name", SHAPES)
def test_lines_bound_an_activation_on_the_whole_interval(name):
    shape = SHAPES[name]
    low, high = intervals()
    result = jax.jit(lambda a, b: lines(shape, a, b))(
        jnp.asarray(low), jnp.asarray(high)
    )
    below, floor, above, ceiling, least, most = map(np.asarray, result)
    z = inside(low, high).astype(np.longdouble)
    exact = np.asarray(REFERENCES[name](z), np.longdouble)
    assert np.all(exact >= below * z + floor)
    assert np.all(exact <= above * z + ceiling)
    assert np.all(exact >= least)
    assert np.all(exact <= most)
    # And they are close: a hair's breadth on short intervals.
    gap = np.max((above - below) * z + ceiling - floor, axis=0)
    short = high - low < 1e-2
    assert np.max(gap[short] / np.maximum((high - low)[short], 1e-9)) < 0.5
    assert np.all((most - least) <= 2.1 * np.ptp(exact, axis=0) + 1e-10)


@pytest.mark.parametrize("name", SHAPES)
def test_slopes_lie_in_their_range(name):
    shape = SHAPES[name]
    low, high = intervals(500)
    least, most = slope_range(shape, jnp.asarray(low), jnp.asarray(high))
    slopes = np.asarray(shape.slope(jnp.asarray(inside(low, high))))
    assert np.all(slopes >= np.asarray(least))
    assert np.all(slopes <= np.asarray(most))
