"""Contradictions are found, and only the rules that make them are blamed."""

import numpy as np
import pytest

from ocbnn.rules import Schema, bind, find_conflict, parse_rule

ONE = Schema(("x",), ("y",))
TWO = Schema(("x",), ("y", "z"))
CLASSES = Schema(("x",), ("y",), ("a", "b", "c"))
GRID = np.linspace(-2, 2, 41)[:, None]


def conflict(*texts, schema=ONE, X=GRID):
    return find_conflict([bind(parse_rule(text), schema) for text in texts], X)


@pytest.mark.parametrize(
    ("schema", "texts", "at_fault"),
    [
        (ONE, ["y < 1 and y > 2", "y < 5"], [0]),
        (ONE, ["y < 9", "if x > 0 then y > 3", "if x > 1 then y < 1"], [1, 2]),
        (ONE, ["y < 1", "y >= 1"], [0, 1]),
        (ONE, ["y < x", "y > x + 1"], [0, 1]),
        (ONE, ["0 <= y <= 2", "not y < 1.5", "y <= 1"], [1, 2]),
        (ONE, ["y < 1 or y > 2", "y < 2", "y > 1"], [0, 1, 2]),
        (ONE, ["y - y > 1"], [0]),
        (ONE, ["(if x > 0 then y > 3) and y < 2"], [0]),
        (TWO, ["y + z < 1", "y > 1", "z > 0", "z < 9"], [0, 1, 2]),
        (TWO, ["y < z and z < y"], [0]),
        (CLASSES, ["y in {a, b}", "y in {b, c}", "y in {a, c}"], [0, 1, 2]),
        (CLASSES, ["y in {a}", "if x > 1 then y in {c}"], [0, 1]),
    ],
)
def test_the_rules_at_fault_are_found(schema, texts, at_fault):
    result = conflict(*texts, schema=schema)
    assert result is not None
    assert [str(rule.rule) for rule in result.rules] == [
        str(parse_rule(texts[index])) for index in at_fault
    ]
    message = result.message()
    assert f"x = {result.x[0]:g}" in message
    assert all(str(rule.rule) in message for rule in result.rules)
    assert "arrow" in message  # Says narrow the region.


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        (ONE, ["y <= 1", "y >= 1"]),
        (ONE, ["if x > 0 then y > 3", "if x < 0 then y < 1"]),
        (ONE, ["y < 1 or y > 2", "y > 1.5"]),
        (ONE, ["y ** 2 > 1", "-1 <= y <= 1.5"]),
        (ONE, ["y ** 2 >= 1", "-1 <= y <= 1"]),
        (ONE, ["y < 1", "log(y) > -9", "not log(y) <= -9"]),
        (ONE, ["y ~ Normal(0, 1)", "y ~ Normal(9, 1)"]),
        (ONE, ["y * x < 1", "y > 0.1"]),
        (TWO, ["y <= z and z <= y", "y > 3"]),
        (TWO, ["y > 1", "z < 1"]),
        (CLASSES, ["y in {a, b}", "y in {b, c}"]),
    ],
)
def test_rules_that_agree_are_left_alone(schema, texts):
    assert conflict(*texts, schema=schema) is None


def test_many_points_are_thinned_and_none_is_needed():
    none = np.zeros((0, 1))
    assert conflict("y < 1", "y > 2", X=np.zeros((5000, 1))) is not None
    assert conflict("y < 1", "y > 2", X=none) is not None
    assert conflict("y < x", "y > 2 - x", X=none) is None
    assert find_conflict([], GRID) is None


@pytest.mark.parametrize(
    "texts",
    [
        # Too thin for any row: one where claims are the same, one where they vary.
        ["if 0 <= x <= 1.0001 then y < 1", "if 1 <= x <= 2 then y > 2"],
        ["if 0 <= x <= 1.0001 then y < x", "if 1 <= x <= 2 then y > x + 1"],
        ["if x <= 1.0001 then y < 1", "if x >= 1 then y > 2"],
        ["if x < -9 or 0 <= x < 1.0001 then y < 1", "if 1 <= x <= 2 then y > 2"],
    ],
)
def test_a_thin_overlap_is_searched_and_named(texts):
    result = conflict(*texts, X=np.array([[-0.5], [0.5], [1.5]]))
    assert result is not None
    assert 1 <= result.x[0] <= 1.0001
    assert "All of them speak of x between 1 and 1.0001" in result.message()


def test_three_boxes_that_meet_in_a_small_corner_are_found():
    schema = Schema(("a", "b", "c"), ("y",), ("p", "q", "r"))
    texts = [
        "if 0 <= a <= 1 and 0 <= b <= 1 and 0 <= c <= 1 then y in {p, q}",
        "if 0.999 <= a <= 2 and 0 <= c <= 1 then y in {q, r}",
        "if 0 <= b <= 0.001 and 0.999 <= c <= 3 then y in {p, r}",
    ]
    result = conflict(*texts, schema=schema, X=np.zeros((0, 3)))
    assert result is not None
    assert len(result.rules) == 3
    assert "a between 0.999 and 1" in result.message()
