"""Rules about slopes: how they are written, what they bind to, and when they hold."""

import numpy as np
import pytest

import ocbnn
from ocbnn.errors import DataError, RuleError, RuleSyntaxError
from ocbnn.rules import (
    Schema,
    bind,
    find_conflict,
    inputs,
    output_limits,
    outputs,
    parse_rule,
    require,
)

SCHEMA = Schema(("age", "water"), ("strength", "cost"))
CLASSES = Schema(("age",), ("action",), ("treat", "wait"))
age, water = inputs("age", "water")
strength, cost = outputs("strength", "cost")


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("d(strength, age) >= 0", ocbnn.d(strength, age) >= 0),
        ("strength rises with age", strength.rises_with(age)),
        ("strength falls with water", strength.falls_with(water)),
        ("d(cost, age, water) < 2*cost", ocbnn.d(cost, age, water) < 2 * cost),
        ("d(cost, age) < 2", ocbnn.derivative(cost, age) < 2),
        (
            "strength rises with age and not cost falls with `water`",
            strength.rises_with(age) & ~cost.falls_with(water),
        ),
    ],
)
def test_text_and_python_make_the_same_rule(text, claim):
    rule = parse_rule(text)
    assert rule == require(claim)
    assert parse_rule(str(rule)) == rule


def test_words_are_spelled_as_slopes():
    assert str(parse_rule("y rises with x")) == "d(y, x) >= 0"
    assert str(parse_rule("y falls with `mean x`")) == "d(y, `mean x`) <= 0"


def test_columns_may_be_called_like_the_words():
    rule = parse_rule("d + rises > falls and rises rises with d")
    names = Schema(("d", "falls"), ("rises",))
    assert bind(rule, names).slopes == ((0,),)
    assert parse_rule(str(rule)) == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("d(y) > 0", "0 inputs. Write `d(y, x)`"),
        ("d(y, x, x, x) > 0", "3 inputs. Write `d(y, x)` or `d(y, x, x)`"),
        ("d(2*y, x) > 0", "takes columns.*got (2 * y).*`2 * d(y, x) - 1`"),
        ("y rises x", "`with` belongs: write `y rises with x`"),
        ("y falls with x + 1", "takes columns.*got (x + 1)"),
        ("d(y, x)", "the comparison is missing"),
    ],
)
def test_text_that_is_no_slope_is_pointed_at(text, message):
    pattern = message.replace("(", r"\(").replace(")", r"\)").replace(" * ", r" \* ")
    with pytest.raises(RuleSyntaxError, match=pattern.replace("+", r"\+")):
        parse_rule(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("d(age, water) > 0", "follows age, which is an input.*Write `d.strength, age"),
        ("d(cost, strength) > 0", "along strength, which is an output.*d.cost, age"),
        ("d(cost, wtaer) > 0", "no column wtaer. Did you mean `water`"),
        ("if d(cost, age) > 0 then cost > 1", "region is made of inputs only"),
        ("cost ~ Normal(d(cost, age), 1)", "a mean is made of inputs and numbers"),
    ],
)
def test_slopes_of_the_wrong_columns_are_refused(text, message):
    with pytest.raises(RuleError, match=message):
        bind(text, SCHEMA)


@pytest.mark.parametrize(
    "text", ["d(action, age) > 0", "action in {treat} or action rises with age"]
)
def test_classes_have_no_slope(text):
    with pytest.raises(RuleError, match="slope of a class, and classes have no slope"):
        bind(text, CLASSES)


def test_python_refuses_what_is_no_column():
    with pytest.raises(RuleError, match=r"`d` takes columns.*got \(3\)"):
        ocbnn.d(strength, 3)
    with pytest.raises(RuleError, match="Name columns with `inputs"):
        strength.rises_with("age")


def test_a_rule_asks_for_each_slope_once_whatever_their_order():
    text = "d(cost, water, age) > d(strength, age, water) or cost rises with water"
    assert bind(text, SCHEMA).slopes == ((0, 1), (1,))
    assert bind("cost > 0", SCHEMA).slopes == ()


def test_a_rule_about_slopes_is_judged_by_slopes():
    rule = bind("if age > 0 then d(strength, age) >= 0.1 * cost", SCHEMA)
    X = np.array([[1.0, 0], [1.0, 0], [-1.0, 0]])
    Y = np.array([[0.0, 10], [0, 20], [0, 20]])
    steep = {(0,): np.array([[1.0, np.nan], [1.0, np.nan], [1.0, np.nan]])}
    assert rule.holds(X, Y, steep).tolist() == [True, False, True]
    draws = {(0,): np.stack([steep[0,], 3 * steep[0,]])}
    both = rule.holds(X, np.stack([Y, Y]), draws)
    assert both.tolist() == [[True, False, True], [True, True, True]]


def test_an_expected_slope_holds_within_two_sd():
    rule = bind("d(cost, water) ~ Normal(1, 0.5)", SCHEMA)
    slopes = {(1,): np.array([[np.nan, 1.9], [np.nan, 2.1]])}
    assert rule.holds(np.zeros((2, 2)), np.zeros((2, 2)), slopes).tolist() == [1, 0]


def test_data_rows_have_no_slopes_to_judge():
    rule = bind("strength rises with age", SCHEMA)
    with pytest.raises(DataError, match="slopes, which functions have but rows"):
        rule.holds(np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(DataError, match="laid out like the outputs"):
        rule.holds(np.zeros((2, 2)), np.zeros((2, 2)), {(0,): np.zeros(2)})


def test_slopes_set_no_limits_and_no_conflicts_on_outputs():
    texts = ["d(cost, age) >= 3", "d(cost, water) <= 1 and cost <= 2", "cost >= 1"]
    bounds = [bind(text, SCHEMA) for text in texts]
    low, high = output_limits(bounds, 2)
    assert (low.tolist(), high.tolist()) == ([-np.inf, 1.0], [np.inf, 2.0])
    assert find_conflict(bounds, np.zeros((1, 2))) is None
    conflict = find_conflict([*bounds, bind("cost < 0", SCHEMA)], np.zeros((1, 2)))
    assert conflict is not None
    assert [rule.name for rule in conflict.rules] == ["cost >= 1", "cost < 0"]
