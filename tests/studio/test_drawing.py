"""Drawings become rules, and boxes of rules can be moved."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ocbnn.errors import RuleError
from ocbnn.projects.columns import Rows
from ocbnn.rules import Schema, bind, parse_rule
from ocbnn.studio.document import View
from ocbnn.studio.drawing import (
    DrawnBox,
    DrawnClasses,
    DrawnCurve,
    DrawnLimits,
    MovedBox,
    fine,
    moved_text,
    rule_text,
    shape_of,
    with_name,
)
from ocbnn.studio.sentences import in_words
from ocbnn.studio.strictness import strictness_of, with_strength, with_weight
from ocbnn.studio.viewport import window

VIEW = View()
LINE = Rows(
    np.linspace(-3, 3, 10)[:, None],
    np.linspace(-20, 5, 10)[:, None],
    Schema(("x",), ("y",)),
    0,
    np.arange(1, 11),
)
WIDE = Rows(
    np.random.default_rng(0).uniform(-3, 3, (30, 3)),
    np.random.default_rng(1).uniform(-3, 3, (30, 2)),
    Schema(("a b", "z", "w"), ("out one", "y")),
    0,
    np.arange(1, 31),
)
COLOURS = Rows(
    np.random.default_rng(0).uniform(-3, 3, (30, 2)),
    np.array(["red", "blue sky"] * 15),
    Schema(("x0", "x1"), ("y",), ("blue sky", "red")),
    0,
    np.arange(1, 31),
)
ends = st.tuples(
    st.floats(-4, 4, allow_subnormal=False), st.floats(-4, 4, allow_subnormal=False)
).filter(lambda pair: abs(pair[0] - pair[1]) > 0.5)


def drawn(drawing, rows, view=VIEW):
    viewport = window(view, rows)
    text = rule_text(drawing, viewport)
    return text, bind(parse_rule(text), rows.schema), viewport


@pytest.mark.parametrize("kind", ["forbid", "band"])
@given(x=ends, y=ends)
def test_a_drawn_box_is_the_rule_and_the_rule_is_the_box(kind, x, y):
    _, bound, seen = drawn(DrawnBox(kind=kind, view=VIEW, x=x, y=y), LINE)
    shape = shape_of(bound, seen)
    assert shape["kind"] == kind
    np.testing.assert_allclose(shape["x"], sorted(x), atol=0.01)
    np.testing.assert_allclose(shape["y"], sorted(y), atol=0.1)
    inside = np.array([[np.mean(shape["x"])]]), np.array([[np.mean(shape["y"])]])
    assert bound.holds(*inside)[0] == (kind == "band")
    far = np.array([[np.mean(shape["x"])]]), np.array([[shape["y"][1] + 1.0]])
    assert bound.holds(*far)[0] == (kind == "forbid")


@given(x=ends, y=ends)
def test_a_moved_box_keeps_the_rule_s_name_and_settings(x, y):
    text = "my box: if -1 <= x <= 1 then not (-5 <= y <= 3) [points=9, strength=firm]"
    viewport = window(VIEW, LINE)
    bound = bind(parse_rule(text), LINE.schema)
    result = parse_rule(
        moved_text(text, bound, MovedBox(kind="forbid", x=x, y=y), viewport)
    )
    assert (result.name, result.points, result.strength) == ("my box", 9, "firm")
    shape = shape_of(bind(result, LINE.schema), viewport)
    np.testing.assert_allclose(shape["x"], sorted(x), atol=0.01)
    np.testing.assert_allclose(shape["y"], sorted(y), atol=0.1)


def test_a_moved_box_keeps_what_the_view_does_not_show():
    text = "if 0 <= `a b` <= 1 and z >= 0.5 and w <= 2 then 0 <= y <= 1"
    view = View(along=["a b"], at={"z": 1.0, "w": 0.0}, output="y")
    bound = bind(parse_rule(text), WIDE.schema)
    viewport = window(view, WIDE)
    shape = MovedBox(kind="band", x=(0.5, 2.0), y=(-1.0, 1.0))
    result = moved_text(text, bound, shape, viewport)
    assert result == "if 0.5 <= `a b` <= 2 and z >= 0.5 and w <= 2 then -1 <= y <= 1"
    outside = window(View(along=["a b"], at={"z": 0.0}, output="y"), WIDE)
    assert shape_of(bound, outside) is None


@pytest.mark.parametrize(
    "text",
    [
        "if 0 <= x <= 1 then y >= 0",
        "if 0 <= x <= 1 then y <= x",
        "if x >= 0 then 0 <= y <= 1",
        "if 0 <= x <= 1 then y ~ Normal(0, 1)",
        "y rises with x",
        "if 0 <= x^2 <= 1 then 0 <= y <= 1",
    ],
)
def test_what_is_no_plain_box_has_no_shape(text):
    viewport = window(VIEW, LINE)
    assert shape_of(bind(parse_rule(text), LINE.schema), viewport) is None


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_a_drawn_curve_is_expected_as_simply_as_it_can_be(degree):
    rng = np.random.default_rng(degree)
    truth = np.polynomial.Polynomial([1.0, -2.0, 1.5, 0.7][: degree + 1])
    x = np.linspace(-2.5, 2.0, 80)
    points = np.column_stack([x, truth(x) + rng.normal(0, 0.05, 80)])
    drawing = DrawnCurve(kind="curve", view=VIEW, points=points.tolist())
    text, bound, _ = drawn(drawing, LINE)
    assert f"x^{degree + 1}" not in text
    inside = np.linspace(-2.4, 1.9, 50)
    near = truth(inside)[:, None]
    assert bound.holds(inside[:, None], near).all()
    sd = bound.claim.sds[0]
    assert not bound.holds(inside[:, None], near + 3 * sd).any()


def test_a_curve_far_from_zero_is_written_from_its_middle():
    days = Rows(
        2460000 + np.linspace(0, 4, 10)[:, None],
        1e9 + np.linspace(-20, 5, 10)[:, None],
        LINE.schema,
        0,
        np.arange(1, 11),
    )
    x = np.linspace(0.5, 3.5, 80)
    truth = lambda x: 1e9 - 2 * x + 1.5 * (x - 2) ** 2
    points = np.column_stack([2460000 + x, truth(x)])
    drawing = DrawnCurve(kind="curve", view=VIEW, points=points.tolist())
    text, bound, _ = drawn(drawing, days)
    assert "(x - 2460002)^2" in text
    inside = np.linspace(0.6, 3.4, 50)
    sd = bound.claim.sds[0]
    assert bound.holds(2460000 + inside[:, None], truth(inside)[:, None]).all()
    far = truth(inside)[:, None] + 3 * sd
    assert not bound.holds(2460000 + inside[:, None], far).any()


def test_classes_and_limits_are_drawn_on_maps():
    view = View(along=["x0", "x1"])
    drawing = DrawnClasses(
        kind="class", view=view, x=(0, 1), y=(-1, 2), classes=["blue sky"]
    )
    text, bound, seen = drawn(drawing, COLOURS, view)
    assert text == 'if 0 <= x0 <= 1 and -1 <= x1 <= 2 then y in {"blue sky"}'
    assert shape_of(bound, seen) == {"kind": "region", "x": (0, 1), "y": (-1, 2)}
    view = View(along=["a b", "w"], output="out one")
    drawing = DrawnLimits(kind="limits", view=view, x=(0, 1), y=(1, 2), low=0.25)
    text, _, _ = drawn(drawing, WIDE, view)
    claim = "if 0 <= `a b` <= 1 and 1 <= w <= 2 then `out one` >= 0.25"
    # The third input has no bounds, so its values are those of rows.
    assert text == f"{claim} [sampler=like-data]"


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(RuleError, match="no size along x: both of its ends are 1"):
        drawn(DrawnBox(kind="forbid", view=VIEW, x=(1, 1.0001), y=(0, 3)), LINE)
    limits = {"kind": "limits", "view": View(along=["z", "w"]), "x": (0, 1)}
    with pytest.raises(RuleError, match="least or a greatest"):
        drawn(DrawnLimits(**limits, y=(0, 1)), WIDE, limits["view"])
    with pytest.raises(RuleError, match="Exchange them"):
        drawn(DrawnLimits(**limits, y=(0, 1), low=2, high=1), WIDE, limits["view"])


def test_strength_and_name_are_part_of_the_text():
    text = "if 0 <= x <= 1 then y >= 0"
    assert with_strength(text, "firm") == f"{text} [strength=firm]"
    assert with_strength(with_strength(text, "firm"), "soft") == text
    assert with_strength(text, 50.0) == f"{text} [strength=50]"
    assert with_weight(with_strength(text, "firm"), 2.0) == f"{text} [weight=2]"
    assert with_weight(f"{text} [weight=2]", None) == text
    assert with_name(text, "floor") == f"floor: {text}"
    assert with_name(f"floor: {text}", "") == text


@pytest.mark.parametrize(
    ("text", "rows", "by", "now", "words"),
    [
        ("if 0 <= x <= 1 then y >= 0", LINE, "weight", 50.0, ["firm", "hard"]),
        (
            "if 0 <= x <= 1 then y >= 0 [form=indicator]",
            LINE,
            "strength",
            1e4,
            ["firm", "hard"],
        ),
        ("if 0 <= x <= 1 then y ~ Normal(0, 1)", LINE, "weight", 50.0, []),
        ("if x0 >= 0 then y in {red}", COLOURS, "weight", 1.0, ["firm", "hard"]),
        (
            "if x0 >= 0 then y in {red} [strength=hard]",
            COLOURS,
            "weight",
            "hard",
            ["firm", "hard"],
        ),
    ],
)
def test_each_kind_of_rule_says_how_strictly_it_is_held(text, rows, by, now, words):
    result = strictness_of(bind(parse_rule(text), rows.schema))
    assert (result["by"], result["now"], result["words"]) == (by, now, words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "if 31.6 <= `mean bp` <= 62.4 then 3.5 <= `dose (mg)` <= 6.9",
            "Where mean bp is 31.6 to 62.4: dose (mg) is 3.5 to 6.9",
        ),
        (
            "if -1 <= x <= 1 then not (2 <= y <= 3)",
            "Where x is -1 to 1: y is never 2 to 3",
        ),
        ("y >= 0", "Everywhere: y is at least 0"),
        ("0 < y", "Everywhere: y is above 0"),
        ("y rises with x", "Everywhere: y never falls with x"),
        ("y falls with x", "Everywhere: y never rises with x"),
        ("d(y, x, x) <= 0", "Everywhere: y bends downwards along x"),
        ("1 <= d(y, x) <= 2", "Everywhere: the slope of y along x is 1 to 2"),
        (
            "if `sex=male` >= 0.5 and x > 3 then action in {treat, wait}",
            "Where sex is male and x is above 3: action is treat or wait",
        ),
        ("if x < 65 then y not in {a, b}", "Where x is below 65: y is neither a nor b"),
        ("y not in {a}", "Everywhere: y is not a"),
        (
            "if 0 <= x <= 1 then y ~ Normal(2*x^2, 0.5)",
            "Where x is 0 to 1: y is about 2 * x², give or take 0.5",
        ),
        (
            "if x < 0 or x > 1 then y > 0 and z > 0",
            "Where x is below 0 or x is above 1: y is above 0 and z is above 0",
        ),
        ("(if a > 0 then b > 0)", "Everywhere: (if a > 0 then b > 0)"),
        (
            "x >= 0 and (a > 0 or b > 0)",
            "Everywhere: x is at least 0 and (a is above 0 or b is above 0)",
        ),
        ("not (y > 0)", "Everywhere: never (y is above 0)"),
        ("a + 2 * b <= 3.1", "Everywhere: a + 2 * b is at most 3.1"),
        ("y^9^9 <= 1", "Everywhere: y ** 9⁹ is at most 1"),
    ],
)
def test_rules_are_said_in_words(text, words):
    assert in_words(parse_rule(text)) == words


@given(st.floats(-1e6, 1e6), st.floats(0.01, 1e6))
def test_numbers_are_as_exact_as_a_hand(value, size):
    limits = (value - size, value + size)
    result = fine(value, limits)
    assert abs(result - value) <= size / 100
    assert len(f"{abs(result) / size:.12g}") < 20


def test_a_rule_that_is_moved_says_no_more_about_a_category_than_before():
    hot = np.eye(3)[np.arange(30) % 3]
    rows = Rows(
        np.column_stack([WIDE.X[:, 0], hot]),
        WIDE.y[:, :1],
        Schema(("x", "who=a", "who=b", "who=c"), ("y",), choices=((1, 2, 3),)),
        0,
        WIDE.numbers,
    )
    viewport = window(VIEW, rows)
    to = MovedBox(kind="forbid", x=(1.0, 2.0), y=(0.0, 1.0))
    for where, said in (
        ("", "if 1 <= x <= 2 then"),
        (" and `who=b` >= 0.5", "`who=b` >= 0.5"),
        (" and `who=b` < 0.5", "`who=b` < 0.5 then"),
    ):
        text = f"if 0 <= x <= 1{where} then not (0 <= y <= 1)"
        moved = moved_text(text, bind(text, rows.schema), to, viewport)
        assert said in moved
        assert "<= `who" not in moved
        region = bind(moved, rows.schema).region
        assert region.lower[1:] == bind(text, rows.schema).region.lower[1:]
        assert region.upper[1:] == bind(text, rows.schema).region.upper[1:]
    # The category is bounded by what it is, so points can be drawn evenly.
    drawing = DrawnBox(kind="forbid", x=(0, 1), y=(0, 1), view=VIEW)
    assert "like-data" not in rule_text(drawing, viewport)
