"""Exact answers on data: strict is strict, and normal forms mean what was written."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from ocbnn.errors import DataError, RegionError, RuleError
from ocbnn.language.evaluate import truth
from ocbnn.language.normal_form import normal_form
from ocbnn.rules import (
    Binary,
    Column,
    Number,
    Schema,
    bind,
    custom,
    evaluate,
    functions,
    inputs,
    parse_rule,
)
from ocbnn.rules.region import region_of
from tests.rules.strategies import build, comparisons, conditions, plans

ONE = Schema(("x",), ("y",))
x, y = Column("input", 0, "x"), Column("output", 0, "y")
X = np.array([[64.9], [65.0], [65.1]])


@pytest.mark.parametrize(
    ("op", "inside"),
    [("<", [1, 0, 0]), ("<=", [1, 1, 0]), (">", [0, 0, 1]), (">=", [0, 1, 1])],
)
def test_a_pressure_of_exactly_65_tells_strict_from_not(op, inside):
    region = bind(parse_rule(f"if x {op} 65 then y < 0"), ONE)
    assert region.applies(X).tolist() == [bool(i) for i in inside]
    claim = bind(parse_rule(f"y {op} 65"), ONE)
    assert claim.holds(X, X).tolist() == [bool(i) for i in inside]
    negated = bind(parse_rule(f"not y {op} 65"), ONE)
    assert negated.holds(X, X).tolist() == [not i for i in inside]


def test_outside_its_region_a_rule_holds():
    rule = bind(parse_rule("if x < 65 then y > 100"), ONE)
    assert rule.holds(X, X).tolist() == [False, True, True]


def test_leading_axes_of_outputs_are_kept():
    rule = bind(parse_rule("if x < 65.05 then 5 - x <= y"), ONE)
    Y = np.random.default_rng(0).normal(-60, 1, (2, 4, 3, 1))
    expected = (X[:, 0] >= 65.05) | (5 - X[:, 0] <= Y[..., 0])
    np.testing.assert_array_equal(rule.holds(X, Y), expected)
    assert rule.holds(X, Y[0, 0, :, 0]).shape == (3,)


def test_an_expectation_holds_within_two_sd_of_any_mean():
    rule = bind(parse_rule("y ~ Normal(x, 1) + Normal(0, 0.5)"), ONE)
    Y = np.array([[66.8], [1.0], [1.1]])
    assert rule.holds(X, Y).tolist() == [True, True, False]


def test_class_rules_look_up_the_class():
    schema = Schema(("x",), ("y",), ("a", "b"))
    rule = bind(parse_rule("if x < 65 then y in {b}"), schema)
    assert rule.holds(X, np.array([[0, 0, 0], [1, 1, 1]])).tolist() == [
        [False, True, True],
        [True, True, True],
    ]
    with pytest.raises(DataError, match="positions 0 to 1"):
        rule.holds(X, np.array([0, 1, 2]))
    with pytest.raises(DataError, match="whole numbers"):
        rule.holds(X, np.array([0.0, 1.0, 1.0]))


def test_custom_rules_cannot_be_broken():
    rule = bind(custom(lambda xs, ys: 0.0), ONE)
    assert rule.holds(X, np.zeros((5, 3, 1))).tolist() == [[True] * 3] * 5


def test_outputs_of_the_wrong_shape_are_refused():
    rule = bind(parse_rule("y < 1"), ONE)
    with pytest.raises(DataError, match=r"\(\.\.\., 3, 1\)"):
        rule.holds(X, np.zeros((3, 2)))


EXPRESSIONS = {
    "arithmetic": (2 * x + y / 4 - x * y, lambda x, y: 2 * x + y / 4 - x * y),
    "power": (x**2 + y**-1 + 2**x, lambda x, y: x**2 + 1 / y + 2**x),
    "root": (functions.sqrt(x**2) ** 0.5, lambda x, y: np.sqrt(np.abs(x))),
    "calls": (
        functions.exp(-x) + functions.tanh(y) + functions.sin(x) + functions.cos(x),
        lambda x, y: np.exp(-x) + np.tanh(y) + np.sin(x) + np.cos(x),
    ),
    "choice": (
        functions.max(x, y, 0.5) - functions.min(x, y) + abs(y) + functions.tan(x),
        lambda x, y: np.maximum(np.maximum(x, y), 0.5) - np.minimum(x, y)
        + np.abs(y) + np.tan(x),
    ),
    "constant": (
        functions.log(2) + Number(1) / 4,
        lambda x, y: np.log(2) + 0.25 + 0 * x,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", EXPRESSIONS)
def test_expressions_evaluate_like_the_arithmetic_they_spell(case, float64):
    expr, reference = EXPRESSIONS[case]
    xs, ys = np.random.default_rng(1).uniform(0.1, 2, (2, 7, 1))
    expected = reference(xs[:, 0], ys[:, 0])
    np.testing.assert_allclose(evaluate(expr, xs, ys, np), expected, rtol=1e-14)
    traced = jax.jit(lambda a, b: evaluate(expr, a, b, jnp))(xs, ys)
    np.testing.assert_allclose(traced, expected, rtol=1e-12)


@pytest.mark.parametrize("case", EXPRESSIONS)
def test_float32_stays_float32_under_strict_promotion(case):
    expr, _ = EXPRESSIONS[case]
    one = jnp.ones(1, jnp.float32)
    assert evaluate(expr, one, one, jnp).dtype == jnp.float32
    assert evaluate(expr, one, one, jnp).shape == ()


def test_whole_powers_have_gradients_at_and_below_zero():
    slope = jax.grad(lambda v: evaluate(x**2, v, None, jnp))
    assert slope(jnp.array([-3.0]))[0] == -6
    assert slope(jnp.array([0.0]))[0] == 0


def test_impossible_arithmetic_gives_inf_or_nan_without_a_warning():
    zero = np.zeros((1, 1))
    assert evaluate(1 / x, zero, None, np)[0] == np.inf
    assert np.isnan(evaluate(functions.log(x - 1), zero, None, np)[0])
    assert evaluate(Number(1) / 0, zero, None, np)[0] == np.inf
    assert np.isnan(evaluate(Number(-1) ** 0.5, zero, None, np)[0])


def test_names_must_be_bound_before_they_have_values():
    with pytest.raises(RuleError, match="bind"):
        evaluate(inputs("x"), np.zeros((1, 1)), None, np)


# Halves are exact in floating point, so the boundary is hit and decided exactly.
halves = st.integers(-6, 6).map(lambda i: i / 2)
small = st.one_of(
    st.sampled_from([x, y, x - y]),
    plans(Number, halves),
    plans(Binary, st.just("+"), st.just(x), plans(Number, halves)),
)
claims = conditions(comparisons(small), max_leaves=5)


@given(condition=claims, values=st.lists(st.tuples(halves, halves), min_size=1))
@settings(max_examples=150)
def test_normal_forms_are_true_exactly_where_the_condition_is(condition, values):
    condition = build(condition)
    points = np.array(values)
    xs, ys = points[:, :1], points[:, 1:]
    expected = truth(condition, xs, ys, np)
    for negated in (False, True):
        terms = normal_form(condition, negated=negated)
        result = np.zeros(len(xs), bool)
        for term in terms:
            result |= np.all([atom.holds(xs, ys) for atom in term], axis=0)
        np.testing.assert_array_equal(result, expected != negated)


one_input = st.just(x) | plans(Number, halves)


@given(condition=conditions(comparisons(one_input)), v=halves)
def test_the_box_holds_every_point_of_the_region(condition, v):
    condition = build(condition)
    point = np.array([[v]])
    try:
        region = region_of(condition, ["x"], "any")
    except RegionError:
        assert not truth(condition, point, None, np)[0]
        return
    assert region.contains(point)[0] == truth(condition, point, None, np)[0]
    assume(region.contains(point)[0])
    lower, upper = region.box()
    assert lower[0] <= v <= upper[0]
