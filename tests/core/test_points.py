"""Points lie where they should, evenly, and are decided by their key."""

import jax
import numpy as np
import pytest
from hypothesis import given, strategies as st

from ocbnn.core.points import (
    BoxPoints,
    OwnPoints,
    PoolPoints,
    like_data_pool,
    rejection_pool,
    sobol,
)
from ocbnn.errors import RegionError

LOWER, UPPER = np.array([-3.0, 10.0, 0.0]), np.array([-1.0, 20.0, 0.5])


def box(count=64, lower=LOWER, upper=UPPER, seed=0):
    return BoxPoints(lower, upper, count, seed)


def drawn(sampler, seed, count):
    return np.asarray(sampler.sample(jax.random.key(seed), count), float)


@given(
    st.sampled_from([1, 2, 9, 64]),
    st.sampled_from([1, 3]),
    st.integers(0, 99),
    st.floats(-1e3, 1e3),
    st.floats(1e-3, 1e3),
)
def test_box_points_never_leave_the_box(count, dimension, seed, low, width):
    lower = np.full(dimension, low)
    upper = lower + width
    points = drawn(box(count, lower, upper, seed), seed, count)
    slack = 4 * np.finfo(np.float32).eps * (abs(low) + width)
    assert points.shape == (count, dimension)
    assert (points >= lower - slack).all()
    assert (points <= upper + slack).all()


def test_every_face_of_the_box_is_visited():
    points = drawn(box(), 1, 64)
    for column in range(3):
        assert (points[:, column] == np.float32(LOWER[column])).any()
        assert (points[:, column] == np.float32(UPPER[column])).any()


def test_no_more_than_a_tenth_of_many_points_is_on_faces():
    points = drawn(box(1000), 1, 1000)
    on_face = ((points == LOWER) | (points == UPPER)).any(axis=1)
    assert 0 < on_face.mean() <= 0.1


@pytest.mark.parametrize("count", [4, 50, 100])
def test_points_on_an_interval_are_all_different_and_touch_both_ends(count):
    points = drawn(box(count, np.array([-1.0]), np.array([1.0])), 3, count)[:, 0]
    assert len(np.unique(points)) == count
    assert {-1.0, 1.0} <= set(points)


def test_a_single_point_lies_inside_and_not_on_a_face():
    point = drawn(box(1), 0, 1)
    assert ((point > LOWER) & (point < UPPER)).all()


@pytest.mark.parametrize("seed", range(5))
def test_points_fill_the_box_and_not_only_its_diagonal(seed):
    points = drawn(box(64), seed, 64)
    unit = (points - LOWER) / (UPPER - LOWER)
    corners = (unit > 0.5) @ np.array([1, 2, 4])
    assert len(np.unique(corners)) == 8
    correlation = np.corrcoef(unit, rowvar=False)[~np.eye(3, dtype=bool)]
    assert np.abs(correlation).max() < 0.5


def test_low_discrepancy_points_beat_random_ones_on_a_smooth_integral():
    # The integral of exp(x + y) over the unit square is (e - 1)².
    truth, count = (np.e - 1) ** 2, 256
    rng = np.random.default_rng(0)
    integral = lambda unit: np.exp(unit.sum(axis=1)).mean()
    even = [integral(sobol(count, 2, seed)) - truth for seed in range(20)]
    random = [integral(rng.random((count, 2))) - truth for _ in range(20)]
    assert np.std(even) < 0.1 * np.std(random)
    # The library's own points keep that, but for the few on faces.
    unit = np.zeros(2), np.ones(2)
    ours = [drawn(box(count, *unit, seed=seed), seed, count) for seed in range(20)]
    assert np.std([integral(points) - truth for points in ours]) < 0.3 * np.std(random)


def test_points_are_decided_by_key_and_seed():
    one = drawn(box(), 5, 64)
    np.testing.assert_array_equal(one, drawn(box(), 5, 64))
    assert not np.array_equal(one, drawn(box(), 6, 64))
    assert not np.array_equal(one, drawn(box(seed=1), 5, 64))


@pytest.mark.parametrize(
    "sampler",
    [
        box(),
        PoolPoints(np.eye(3)),
        OwnPoints(lambda key, count: jax.random.normal(key, (count, 3))),
    ],
    ids=["box", "pool", "own"],
)
def test_points_can_be_drawn_in_compiled_code(sampler):
    compiled = jax.jit(lambda key: sampler.sample(key, 8))(jax.random.key(2))
    np.testing.assert_allclose(compiled, drawn(sampler, 2, 8), rtol=1e-6)


def test_averaged_over_keys_interior_points_are_uniform():
    sampler = box(64, np.zeros(1), np.ones(1))
    keys = jax.random.split(jax.random.key(0), 500)
    points = np.asarray(jax.vmap(lambda k: sampler.sample(k, 64))(keys))[:, 2:]
    share = np.histogram(points, bins=10, range=(0, 1))[0] / points.size
    np.testing.assert_allclose(share, 0.1, atol=0.005)


# Pools.


def test_a_pool_gives_different_rows_while_it_lasts_and_then_repeats_evenly():
    pool = np.arange(14.0).reshape(7, 2)
    few = drawn(PoolPoints(pool), 0, 5)
    assert len(np.unique(few, axis=0)) == 5
    assert all(row in pool.tolist() for row in few.tolist())
    _, counts = np.unique(drawn(PoolPoints(pool), 0, 16), axis=0, return_counts=True)
    assert sorted(counts) == [2, 2, 2, 2, 2, 3, 3]


def disc(points):
    return (points**2).sum(axis=1) <= 1.0


def pool_of(contains, lower=(-1.0, -1.0), upper=(1.0, 1.0), **options):
    return rejection_pool(
        "disc", contains, np.array(lower), np.array(upper), 0, **options
    )


def test_rejection_keeps_points_of_a_disc_and_covers_it():
    pool = pool_of(disc)
    assert pool.shape == (4096, 2)
    assert disc(pool).all()
    # Half of a disc's area lies within a radius of 1/√2.
    inner = ((pool**2).sum(axis=1) <= 0.5).mean()
    assert inner == pytest.approx(0.5, abs=0.02)
    np.testing.assert_array_equal(pool, pool_of(disc))


@pytest.mark.parametrize(
    "contains",
    [
        lambda points: np.zeros(len(points), bool),
        lambda points: np.abs(points[:, 0]) < 1e-6,
    ],
    ids=["empty", "thin"],
)
def test_a_region_that_fills_nothing_is_refused_with_advice(contains):
    with pytest.raises(RegionError, match=r"(?s)'disc'.*\[-1.0, -1.0\].*sampler="):
        pool_of(contains)


def test_a_region_that_fills_a_thousandth_is_accepted():
    pool = pool_of(lambda points: np.abs(points[:, 0]) < 1e-3, size=500)
    assert len(pool) == 500
    assert (np.abs(pool[:, 0]) < 1e-3).all()


# Points that look like the data.


def patients(count=500):
    """Pressure, and two columns that depend on each other and not on pressure."""
    rng = np.random.default_rng(1)
    age = rng.normal(60, 10, count)
    return np.stack([rng.normal(80, 10, count), age, 2 * age + rng.normal(size=count)])


def moved(rows, contains, lower, upper, columns=(0,), seed=0):
    return like_data_pool(
        "low",
        contains,
        columns,
        np.array(lower),
        np.array(upper),
        rows,
        np.random.default_rng(seed),
    )


ANY, NONE = -np.inf, np.inf


def test_points_like_the_data_lie_in_the_region_and_keep_the_other_columns():
    rows = patients().T
    low = lambda points: points[:, 0] < 65
    pool = moved(rows, low, [ANY] * 3, [65, NONE, NONE])
    assert low(pool).all()
    known = {tuple(row) for row in rows[:, 1:].tolist()}
    assert all(tuple(row) in known for row in pool[:, 1:].tolist())
    ours, theirs = np.corrcoef(pool[:, 1:].T)[0, 1], np.corrcoef(rows[:, 1:].T)[0, 1]
    assert ours == pytest.approx(theirs, abs=0.01)
    np.testing.assert_array_equal(pool, moved(rows, low, [ANY] * 3, [65, NONE, NONE]))


def test_rows_that_lie_in_the_region_already_stay_as_they_are():
    rows = patients().T
    pool = moved(rows, lambda points: points[:, 0] < 1e9, [ANY] * 3, [1e9, NONE, NONE])
    known = {tuple(row) for row in rows.tolist()}
    assert all(tuple(row) in known for row in pool.tolist())


def test_a_region_with_no_data_in_it_is_filled_evenly_between_its_bounds():
    rows = patients().T
    inside = lambda points: (points[:, 0] > 300) & (points[:, 0] < 310)
    pool = moved(rows, inside, [300, ANY, ANY], [310, NONE, NONE])
    assert inside(pool).all()
    share = np.histogram(pool[:, 0], bins=5, range=(300, 310))[0] / len(pool)
    np.testing.assert_allclose(share, 0.2, atol=0.03)


def test_a_half_space_far_from_the_data_is_reached():
    rows = patients().T
    pool = moved(rows, lambda p: p[:, 0] > 1000, [1000, ANY, ANY], [NONE] * 3)
    assert (pool[:, 0] > 1000).all()


def test_a_rule_everywhere_is_felt_at_the_data_rows_themselves():
    rows = patients().T
    everywhere = lambda points: np.ones(len(points), bool)
    pool = moved(rows, everywhere, [ANY] * 3, [NONE] * 3, columns=())
    known = {tuple(row) for row in rows.tolist()}
    assert all(tuple(row) in known for row in pool.tolist())


def test_moving_columns_leaves_the_users_rows_untouched():
    rows = patients().T
    before = rows.copy()
    moved(rows, lambda points: points[:, 0] < 65, [ANY] * 3, [65, NONE, NONE])
    np.testing.assert_array_equal(rows, before)


def test_rows_that_cannot_be_moved_into_the_region_are_an_error_with_advice():
    never = lambda points: np.zeros(len(points), bool)
    with pytest.raises(RegionError, match=r"(?s)'low'.*columns \[0\].*units"):
        moved(patients(10).T, never, [ANY] * 3, [65, NONE, NONE])


def test_points_beyond_a_single_bound_stay_near_it():
    rows = patients().T
    rows = rows[rows[:, 0] >= 65]
    spread = rows[:, 0].std()
    below = moved(rows, lambda p: p[:, 0] < 65, [ANY] * 3, [65, NONE, NONE])
    gaps = (65 - below[:, 0]) / spread
    # Half-normal: half of them within 0.674 spreads, and hardly any beyond four.
    assert np.median(gaps) == pytest.approx(0.674, abs=0.05)
    assert gaps.max() < 5
    above = moved(rows, lambda p: p[:, 0] > 120, [120, ANY, ANY], [NONE] * 3)
    assert np.median((above[:, 0] - 120) / spread) == pytest.approx(0.674, abs=0.05)
