"""Columns of which exactly one is 1: a category is one choice."""

import itertools

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ocbnn.core.choices import are_choices, pick, say_point, settle_boxes
from ocbnn.core.points import BoxPoints, like_data_pool, rejection_pool

CHOICES = ((1, 2, 3), (5, 6))


def every_choice():
    """All ways to choose, with zeros for the numbers."""
    result = np.zeros((6, 7))
    for row, (a, b) in zip(result, itertools.product(range(3), range(2)), strict=True):
        row[1 + a] = row[5 + b] = 1.0
    return result


ends = st.sampled_from([-np.inf, -1.0, 0.0, 0.2, 0.5, 1.0, 1.5, np.inf])


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(ends, ends), min_size=7, max_size=7))
def test_a_settled_box_holds_the_choices_that_the_box_held(sides):
    low, high = np.array(sides).T[:, None]
    low, high = np.minimum(low, high), np.maximum(low, high)
    low[:, [0, 4]], high[:, [0, 4]] = -1.0, 1.0
    tight, wide, possible = settle_boxes(low, high, CHOICES)
    points = every_choice()
    inside = ((points >= low) & (points <= high)).all(axis=1)
    still = ((points >= tight) & (points <= wide)).all(axis=1)
    assert possible[0] == inside.any()
    if possible[0]:
        assert np.array_equal(inside, still)
        # Nothing is left open that cannot be chosen, and what must be is.
        columns = [1, 2, 3, 5, 6]
        assert np.array_equal(wide[0, columns], points[inside].max(axis=0)[columns])
        assert np.array_equal(tight[0, columns], points[inside].min(axis=0)[columns])


@pytest.mark.parametrize("upper", [1.0, 0.0])
def test_points_of_every_kind_choose_one_of_each_group(upper):
    lower, higher = np.full(7, 0.0), np.full(7, 1.0)
    lower[[0, 4]], higher[[0, 4]] = -2.0, 3.0
    higher[2] = upper  # one level may be left out
    box = BoxPoints(lower, higher, 64, 0, CHOICES)
    points = np.asarray(box.sample(jax.random.key(1), 64), float)
    contains = lambda X: (X[:, 0] ** 2 <= 2) & (X[:, 1] < 0.5)
    within = higher.copy()
    within[1] = 0.0
    sides = [one[0] for one in settle_boxes(lower[None], within[None], CHOICES)[:2]]
    pool = rejection_pool("ball", contains, *sides, 0, 500, choices=CHOICES)
    rows = pick(np.random.default_rng(0).random((50, 7)), CHOICES)
    moved = like_data_pool(
        "far", lambda X: (X[:, 0] >= 2) & (X[:, 3] > 0.5), (0, 3),
        np.array([2.0, 0, 0, 1, -np.inf, 0, 0]), np.array([3.0, 0, 0, 1, np.inf, 1, 1]),
        rows, np.random.default_rng(1), 500, CHOICES,
    )  # fmt: skip
    for result in (points, pool, moved):
        assert are_choices(result, CHOICES).all()
        assert len(np.unique(result[:, 0])) > 20
    assert (points[:, [1, 3, 5, 6]].mean(axis=0) > 0.15).all()
    assert (points[:, 2].mean() > 0.15) == (upper == 1.0)
    assert (moved[:, 3] == 1).all()
    assert points[:, 0].min() == -2.0
    assert points[:, 0].max() == 3.0


def test_without_choices_points_are_where_they_always_were():
    lower, upper = np.zeros(3), np.ones(3)
    for count in (1, 5, 40):
        plain = BoxPoints(lower, upper, count, 3)
        assert plain.choices == ()
        points = np.asarray(plain.sample(jax.random.key(2), count))
        moved = min(max(6, count // 10), count // 2)
        assert all(points[i, i // 2 % 3] == i % 2 for i in range(moved))


def test_a_choice_is_said_by_its_name_and_level():
    names = ["age", "sex=f", "sex=m", "clinic=a=b", "clinic=c"]
    said = say_point(names, [41.5, 1.0, 0.0, 0.0, 1.0], ((1, 2), (3, 4)))
    assert said == ["age = 41.5", "sex = f", "clinic = c"]
    mixed = say_point(names, [41.5, 0.5, 0.5, 0.0, 1.0], ((1, 2), (3, 4)))
    assert mixed[1] == "sex=f = 0.5"
