"""How well rules hold is counted as one would by hand."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ocbnn.metrics import check_rule
from ocbnn.rules import Schema, bind, parse_rule

LINE = Schema(("x",), ("y",))
CLASSES = Schema(("x",), ("y",), ("a", "b", "c"))
RNG = np.random.default_rng(0)


def bound(text, schema=LINE):
    return bind(parse_rule(text), schema)


GAP = bound("if -1 <= x <= 1 then 0 <= y <= 2")


@given(st.integers(1, 5), st.integers(1, 7), st.integers(0, 999))
def test_violation_is_the_share_of_pairs_and_of_draws_that_break_the_rule(
    draws, points, seed
):
    rng = np.random.default_rng(seed)
    xs = rng.uniform(-1, 1, (points, 1))
    values = rng.normal(1, 1, (draws, points, 1))
    wrong = [[not 0 <= y <= 2 for (y,) in draw] for draw in values]
    check = check_rule(GAP, xs, values)
    assert check.violation == pytest.approx(sum(map(sum, wrong)) / (draws * points))
    assert check.draws_violating == pytest.approx(sum(map(any, wrong)) / draws)
    assert (check.worst_point is None) == (check.violation == 0)


def test_the_worst_point_is_the_one_most_draws_get_wrong():
    xs = np.array([[-0.5], [0.0], [0.5]])
    values = np.array([[[1.0], [3.0], [3.0]], [[1.0], [1.0], [3.0]]])
    check = check_rule(GAP, xs, values)
    assert check.worst_point == (0.5,)
    assert (check.violation, check.draws_violating) == (0.5, 1.0)
    assert check.rule == GAP.name


def test_points_on_the_edge_count_though_rounding_put_them_outside():
    edge = bound("if -0.3 <= x <= 0.3 then y >= 0")
    xs = np.array([[-0.3], [0.3]], np.float32).astype(float)
    assert not edge.applies(xs).any()
    check = check_rule(edge, xs, np.full((4, 2, 1), -1.0))
    assert (check.violation, check.draws_violating) == (1.0, 1.0)


def test_expectations_are_broken_more_than_two_sd_from_every_mean():
    fork = bound("if -1<=x<=1 then y ~ 0.5*Normal(x, 0.5) + 0.5*Normal(5, 0.1)")
    xs = np.zeros((6, 1))
    values = np.array([0.99, -1.01, 4.81, 5.21, 3.0, 5.0]).reshape(1, 6, 1)
    assert check_rule(fork, xs, values).violation == pytest.approx(3 / 6)


def test_class_numbers_are_judged_by_the_allowed_classes():
    rule = bound("if -1 <= x <= 1 then y in {a, c}", CLASSES)
    xs = np.zeros((3, 1))
    check = check_rule(rule, xs, np.array([[0, 1, 2], [0, 0, 2], [1, 1, 1]]))
    assert check.violation == pytest.approx(4 / 9)
    assert check.draws_violating == pytest.approx(2 / 3)


def test_data_rows_count_only_inside_the_region():
    X = np.array([[-2.0], [-1.0], [0.0], [1.0], [3.0]])
    observed = np.array([[9.0], [9.0], [1.0], [1.0], [9.0]])
    predicted = np.array([[1.0], [9.0], [9.0], [1.0], [1.0]])
    check = check_rule(
        GAP,
        np.zeros((1, 1)),
        np.ones((2, 1, 1)),
        X=X,
        observed=observed,
        predicted=predicted,
    )
    assert check.rows_in_region == 3
    assert check.data_violation == pytest.approx(1 / 3)
    assert check.prediction_violation == pytest.approx(2 / 3)
    assert (check.violation, check.worst_point) == (0.0, None)


def test_strict_and_other_bounds_differ_on_data():
    X = np.array([[65.0]])
    options = {"X": X, "observed": np.array([[-1.0]])}
    shares = [
        check_rule(
            bound(f"if 0 <= x {op} 65 then y > 0"), X, np.ones((1, 1, 1)), **options
        ).data_violation
        for op in ("<", "<=")
    ]
    assert shares == [None, 1.0]


def test_data_without_a_row_in_the_region_say_nothing():
    check = check_rule(
        GAP,
        np.zeros((1, 1)),
        np.ones((1, 1, 1)),
        X=np.full((4, 1), 9.0),
        observed=np.zeros((4, 1)),
        predicted=np.zeros((4, 1)),
    )
    assert check.rows_in_region == 0
    assert check.data_violation is None
    assert check.prediction_violation is None


def test_class_data_are_judged_by_their_numbers():
    rule = bound("if -1 <= x <= 1 then y in {a}", CLASSES)
    check = check_rule(
        rule,
        np.zeros((1, 1)),
        np.array([[0]]),
        X=np.array([[0.0], [0.5], [7.0]]),
        observed=np.array([0, 1, 1]),
        predicted=np.array([2, 2, 0]),
    )
    assert (check.data_violation, check.prediction_violation) == (0.5, 1.0)
