"""What a view shows: its limits, the rules in it, and the functions."""

import numpy as np
import pytest

from ocbnn.core.choices import are_choices
from ocbnn.errors import SettingError
from ocbnn.projects.columns import Rows
from ocbnn.rules import Schema, bind, parse_rule
from ocbnn.studio.document import View
from ocbnn.studio.function_summaries import summarize
from ocbnn.studio.layers import layer_of, numbers
from ocbnn.studio.viewport import filled_in, window

rng = np.random.default_rng(0)
ROWS = Rows(
    rng.uniform(0, 10, (50, 3)),
    rng.normal(size=(50, 1)),
    Schema(("a", "b", "c"), ("y",)),
    0,
    np.arange(1, 51),
)


def bound(text, rows=ROWS):
    return bind(parse_rule(text), rows.schema)


def test_what_a_view_leaves_open_is_chosen_from_the_data():
    viewport = window(View(), ROWS)
    assert viewport.shown == (0,)
    low, high = viewport.xlim
    assert low < ROWS.X[:, 0].min() < ROWS.X[:, 0].max() < high
    assert viewport.limits[0] < ROWS.y.min() < ROWS.y.max() < viewport.limits[1]
    np.testing.assert_allclose(
        viewport.inputs[:, 1:], np.median(ROWS.X, axis=0)[None, 1:].repeat(161, 0)
    )


def test_a_category_is_held_at_its_most_frequent_value():
    hot = np.eye(3)[rng.choice(3, 50, p=[0.2, 0.2, 0.6])]
    names = ("dose", "who=a", "who=b", "who=c")
    X = np.column_stack([ROWS.X[:, 0], hot])
    schema = Schema(names, ("y",), choices=((1, 2, 3),))
    viewport = window(View(), Rows(X, ROWS.y, schema, 0, ROWS.numbers))
    np.testing.assert_array_equal(viewport.inputs[0, 1:], [0, 0, 1])


def test_along_a_category_there_is_nothing_between_its_values():
    X = np.column_stack([np.eye(3)[rng.integers(3, size=50)], ROWS.X[:, 0]])
    schema = Schema(("who=a", "who=b", "who=c", "dose"), ("y",), choices=((0, 1, 2),))
    rows = Rows(X, ROWS.y, schema, 0, ROWS.numbers)
    # A view begins with an input that is an amount.
    assert window(View(), rows).shown == (3,)
    for along in (["who=a"], ["who=b", "dose"], ["who=a", "who=c"]):
        viewport = window(View(along=along), rows)
        assert are_choices(viewport.inputs, schema.choices).all()
        assert {*viewport.inputs[:, viewport.shown[0]]} == {0.0, 1.0}


def test_regions_of_rules_are_shown_unless_they_are_far_away():
    near, far = bound("if 11 <= a <= 14 then y > 0"), bound("if a >= 400 then y > 0")
    assert window(View(), ROWS, [near]).xlim[1] > 14
    assert window(View(), ROWS, [near, far]).xlim[1] < 20


def test_a_view_that_is_filled_in_says_the_same():
    view = View(along=["b", "c"], at={"a": 3.0})
    first = window(view, ROWS)
    again = window(filled_in(view, ROWS), ROWS)
    np.testing.assert_array_equal(first.inputs, again.inputs)
    assert first.limits == again.limits
    assert first.inputs.shape == (41 * 41, 3)
    assert (first.inputs[:, 0] == 3.0).all()


def test_columns_that_are_not_there_are_refused():
    with pytest.raises(SettingError, match="shows 'd', which is not an input"):
        window(View(along=["d"]), ROWS)
    with pytest.raises(SettingError, match="twice"):
        window(View(along=["a", "a"]), ROWS)


def area(layer):
    """The area of all closed outlines, by the shoelace formula."""
    total, x, y = 0.0, [], []
    for one, two in zip(layer["fill"]["x"], layer["fill"]["y"], strict=True):
        if one is None:
            total += abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2
            x, y = [], []
        else:
            x.append(one)
            y.append(two)
    return total


def test_layers_cover_what_rules_say():
    viewport = window(View(ranges={"a": (0, 10), "y": (-2, 2)}), ROWS)
    box = layer_of(bound("if 1 <= a <= 4 then not (-1 <= y <= 1)"), viewport)
    assert box["kind"] == "forbidden"
    np.testing.assert_allclose(area(box), 6.0, rtol=1e-3)
    expected = layer_of(
        bound("if 2 <= a <= 4 then y ~ Normal(0.1 * a, 0.25)"), viewport
    )
    assert expected["kind"] == "expected"
    np.testing.assert_allclose(area(expected), 2.0, rtol=1e-3)
    pairs = zip(expected["line"]["x"], expected["line"]["y"], strict=True)
    line = np.array([(x, y) for x, y in pairs if y is not None])
    np.testing.assert_allclose(line[:, 1], 0.1 * line[:, 0], rtol=1e-5)
    slope = layer_of(bound("if 2 <= a <= 4 then y rises with a"), viewport)
    assert slope["kind"] == "region"
    np.testing.assert_allclose(area(slope), 8.0, rtol=1e-3)


def test_a_map_shows_regions():
    view = View(along=["a", "b"], ranges={"a": (0, 10), "b": (0, 10)})
    viewport = window(view, ROWS)
    layer = layer_of(bound("if 1 <= a <= 3 and 2 <= b <= 7 then y > 0"), viewport)
    assert layer["kind"] == "region"
    np.testing.assert_allclose(area(layer), 10.0, rtol=1e-3)


def test_functions_are_summed_up_as_curves_and_maps():
    viewport = window(View(), ROWS)
    values = rng.normal(size=(500, 161, 1)) * 2.0 + np.arange(161)[None, :, None]
    summary = summarize(values, viewport)
    np.testing.assert_allclose(summary["mean"], np.arange(161), atol=0.5)
    width = np.subtract(summary["function_high"], summary["function_low"])
    np.testing.assert_allclose(width.mean(), 2 * 1.96 * 2.0, rtol=0.05)
    assert len(summary["functions"]) == 40
    viewport = window(View(along=["a", "b"]), ROWS)
    x, y = np.meshgrid(*viewport.axes)
    table = summarize((x + 10 * y).reshape(1, -1, 1), viewport)
    np.testing.assert_allclose(table["z"], x + 10 * y, rtol=1e-4)


def test_classes_have_probabilities_that_add_up_to_one():
    rows = Rows(
        ROWS.X,
        np.array(["u", "v"] * 25),
        Schema(("a", "b", "c"), ("y",), ("u", "v")),
        0,
        ROWS.numbers,
    )
    summary = summarize(rng.normal(size=(30, 161, 2)), window(View(), rows))
    np.testing.assert_allclose(np.sum(summary["probability"], axis=0), 1.0, rtol=1e-4)
    assert summary["classes"] == ["u", "v"]


def test_numbers_that_are_none_are_told_so():
    assert numbers([1.0, np.nan, -np.inf]) == [1.0, None, None]


def test_numbers_far_from_zero_keep_the_digits_that_can_be_seen():
    days = 2460000 + np.linspace(0, 1, 9)
    assert numbers(days) == days.tolist()
    assert numbers(1e12 * days) == (1e12 * days).tolist()
    assert numbers([0.1 + 0.2, 1.0]) == [0.3, 1.0]
