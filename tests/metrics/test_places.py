"""Ranges of inputs in which something is wrong."""

import numpy as np

from ocbnn.metrics.places import find_places

X = np.linspace(0.0, 10.0, 101)[:, None]


def test_two_runs_along_one_input_are_two_places_the_wider_first():
    x = X[:, 0]
    wrong = ((x >= 1) & (x <= 2)) | ((x >= 6) & (x <= 9))
    places = [str(place) for place in find_places(X, wrong, ["x"])]
    assert places == ["at x in [6, 9]", "at x in [1, 2]"]


def test_one_input_and_every_input_are_said_as_such():
    alone = np.arange(101) == 30
    assert str(find_places(X, alone, ["dose"])[0]) == "at dose = 3"
    assert str(find_places(X, alone | True, ["dose"])[0]) == "everywhere"
    assert find_places(X, alone & False, ["dose"]) == []


def test_places_far_from_zero_are_told_apart():
    x = 2460000 + np.linspace(0, 1, 9)[:, None]
    places = find_places(x, x[:, 0] > 2460000.7, ["day"])
    assert [str(place) for place in places] == ["at day in [2460000.75, 2460001]"]


def test_among_several_inputs_the_column_that_tells_is_named():
    rng = np.random.default_rng(0)
    rows = rng.uniform(0, 1, (500, 3))
    (place,) = find_places(rows, rows[:, 1] > 0.8, ["a", "b", "c"])
    assert place.input == "b"
    assert place.low > 0.7
    assert place.share > 0.9
    assert place.holds(rows, ["a", "b", "c"]).sum() > 50


def test_a_category_is_named_by_its_value():
    rng = np.random.default_rng(0)
    level = rng.integers(3, size=300)
    rows = np.column_stack([rng.random(300), np.eye(3)[level]])
    names = ["dose", "clinic=east", "clinic=north", "clinic=west"]
    (places,) = find_places(rows, level == 1, names, choices=((1, 2, 3),))
    assert str(places) == "at clinic = north"
    assert places.holds(rows, names).tolist() == (level == 1).tolist()
