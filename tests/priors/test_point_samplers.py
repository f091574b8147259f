"""Each rule gets its points where it asks for them, or an error that helps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.core.points import BoxPoints, OwnPoints, PoolPoints
from ocbnn.errors import RegionError
from ocbnn.rules import Schema, inputs, outputs, require
from tests.priors.terms import BOX, term_of

X0, X1, Y0 = inputs("x0"), inputs("x1"), outputs("y0")
WHERE = X0.between(-1, 1) & X1.between(0, 2)


def own(sampler, where=WHERE, points=10):
    return term_of(require(Y0 > 1, where, sampler=sampler, points=points))


def test_a_box_gets_even_points():
    term = term_of(f"{BOX} y0 > 1")
    assert isinstance(term.sampler, BoxPoints)
    assert term.bound.applies(np.asarray(term.points)).all()


def test_a_general_region_gets_a_pool_of_points_inside():
    term = term_of("if x0^2 + x1^2 <= 1 and -1<=x0<=1 and -1<=x1<=1 then y0 > 1")
    assert isinstance(term.sampler, PoolPoints)
    for points in (term.points, term.fresh(jax.random.key(3))):
        assert term.bound.applies(np.asarray(points)).all()
        assert len(np.unique(points, axis=0)) == 50


def test_both_halves_of_a_union_are_visited():
    points = term_of("if (0<=x0<=1 or 4<=x0<=5) and 0<=x1<=1 then y0 > 1").points
    assert 15 < (np.asarray(points)[:, 0] > 3).sum() < 35


@pytest.mark.parametrize(
    "where", ["x0 < 65", "x0 > 1 and 0 <= x1 <= 1", "x0 + x1 < 3 and x1 < 1"]
)
def test_an_unbounded_region_names_the_column_and_the_three_ways_out(where):
    advice = r"(?s)no bounds for 'x0'.*`0 <= x0 <= 1`.*like-data.*sampler=function"
    with pytest.raises(RegionError, match=advice):
        term_of(f"if {where} then y0 > 1")


def test_every_unbounded_column_is_named():
    with pytest.raises(RegionError, match="no bounds for 'x0', 'x1'"):
        term_of("y0 > 1")


def test_points_like_the_data_come_from_the_data():
    rows = np.random.default_rng(0).normal(80, 5, (200, 2))
    term = term_of("if x0 < 65 then y0 > 1 [sampler=like-data]", rows=rows)
    points = np.asarray(term.points)
    assert (points[:, 0] < 65).all()
    assert np.isin(points[:, 1], rows[:, 1].astype(np.float32)).all()


@pytest.mark.parametrize("rows", [None, np.zeros((0, 2))])
def test_points_like_the_data_need_data(rows):
    with pytest.raises(RegionError, match="there are no data"):
        term_of("if x0 < 65 then y0 > 1 [sampler=like-data]", rows=rows)


# A person's own points.


def test_given_points_are_used():
    given = np.array([[0.0, 1.0], [0.5, 0.5], [-1.0, 2.0]])
    points = own(given, points=3).points
    assert {tuple(p) for p in np.asarray(points).tolist()} == {
        tuple(p) for p in given.tolist()
    }


@pytest.mark.parametrize("shape", [(5,), (5, 3), (0, 2), (2, 5, 2)])
def test_given_points_of_a_wrong_shape_are_refused(shape):
    with pytest.raises(RegionError, match=r"shape \(points, 2\).*got \("):
        own(np.zeros(shape))


def test_given_points_outside_the_region_are_refused_and_shown():
    given = np.array([[0.0, 1.0], [3.0, 1.0], [0.0, -1.0]])
    with pytest.raises(RegionError, match=r"2 of the 3 points.*\[3.0, 1.0\]"):
        own(given)


def uniform(key, count):
    return jax.random.uniform(key, (count, 2), minval=0.0, maxval=1.0)


def test_a_sampler_of_ones_own_is_called_with_key_and_count():
    term = own(uniform)
    assert isinstance(term.sampler, OwnPoints)
    key = jax.random.key(4)
    np.testing.assert_array_equal(term.fresh(key), uniform(key, 10))


@pytest.mark.parametrize(
    "sampler",
    [
        lambda key, count: jax.random.uniform(key, (count,)),
        lambda key, count: jax.random.uniform(key, (count, 3)),
        lambda key, count: jax.random.uniform(key, (count + 1, 2)),
        lambda key, count: [0.0, 1.0],
    ],
)
def test_a_sampler_of_a_wrong_shape_is_refused(sampler):
    with pytest.raises(RegionError, match=r"shape \(10, 2\) when called with \(key"):
        own(sampler)


def test_a_sampler_that_leaves_the_region_is_refused():
    with pytest.raises(RegionError, match=r"10 of the 10 points.*outside"):
        own(lambda key, count: 5.0 + uniform(key, count))


def test_a_sampler_may_reach_the_edges_of_its_region():
    # In single precision 0.3 is a hair above 0.3, and -0.3 a hair below -0.3.
    where = X0.between(-0.3, 0.3) & X1.between(-0.3, 0.3)
    corners = jnp.array([[-0.3, -0.3], [-0.3, 0.3], [0.3, -0.3], [0.3, 0.3]])
    assert own(lambda key, count: corners, where, points=4).count == 4


def test_the_points_of_a_large_table_do_not_depend_on_the_order_of_columns():
    # The same rule on swapped columns constrains the other column.
    swapped = Schema(("x1", "x0"), ("y0", "y1", "y2"))
    points = np.asarray(term_of(f"{BOX} y0 > 1", swapped).points)
    assert (points[:, 0] >= 0).all()
    assert points[:, 0].max() == 2
    assert points[:, 1].min() == -1
