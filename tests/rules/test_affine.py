"""One reader of affine expressions: in fractions, at a point, at rows, at any input."""

import operator
from fractions import Fraction

import numpy as np
from hypothesis import assume, given, strategies as st

from ocbnn.language.affine import affine, affine_rows, exact_affine, is_straight
from ocbnn.language.normal_form import columns
from ocbnn.rules import (
    Binary,
    Call,
    Column,
    Comparison,
    Negate,
    Number,
    Schema,
    Slope,
    bind,
    evaluate,
    require,
)
from ocbnn.rules.pieces import allowed_pieces
from tests.rules.strategies import build, plans

INPUTS = [Column("input", i, f"x{i}") for i in range(2)]
OUTPUTS = [Column("output", i, f"y{i}") for i in range(2)]
SLOPE = Slope(OUTPUTS[0], (INPUTS[0],))
ARITHMETIC = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": lambda a, b: a if b == 1 else None,
}

numbers = plans(Number, st.integers(-4, 4).map(float))
inputs, outputs = st.sampled_from(INPUTS), st.sampled_from(OUTPUTS)
values = st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=2).map(np.array)
tables = st.lists(values, min_size=1, max_size=4).map(np.array)


def _grow(inner):
    return st.one_of(
        plans(Negate, inner),
        plans(Binary, st.sampled_from(["+", "-", "*", "/", "**"]), inner, inner),
        plans(Call, st.sampled_from(["abs", "tanh"]), st.tuples(inner)),
        plans(Call, st.just("max"), st.tuples(inner, inner)),
    )


def _trees(*leaves):
    return st.recursive(st.one_of(numbers, *leaves), _grow, max_leaves=8)


def _affine_trees(variables):
    known = st.recursive(
        numbers | inputs,
        lambda inner: (
            plans(Call, st.just("tanh"), st.tuples(inner))
            | plans(Binary, st.sampled_from("+-*"), inner, inner)
        ),
        max_leaves=4,
    )
    some = plans(Number, st.sampled_from([-3.0, 0.5, 7.0]))
    return st.recursive(
        variables | known,
        lambda inner: st.one_of(
            plans(Negate, inner),
            plans(Binary, st.sampled_from("+-"), inner, inner),
            plans(Binary, st.just("*"), known, inner),
            plans(Binary, st.just("*"), inner, known),
            plans(Binary, st.just("/"), inner, some),
        ),
        max_leaves=8,
    )


def _in_fractions(expr, x, y):
    """An expression's value without rounding; None where it has none in fractions."""
    match expr:
        case Number(value):
            return Fraction(value)
        case Column(kind, index):
            return Fraction((x if kind == "input" else y)[index])
        case Negate(part):
            return _in_fractions(Number(0.0) - part, x, y)
        case Binary(op, left, right):
            a, b = _in_fractions(left, x, y), _in_fractions(right, x, y)
            if a is not None and b is not None and (op, b) != ("/", 0):
                return ARITHMETIC[op](a, b)
    return None


@given(_trees(inputs, outputs), values, values)
def test_fractions_have_exactly_the_value_of_the_expression(plan, x, y):
    expr = build(plan)
    form = exact_affine(expr, output=0, input=2)
    if form is None:
        return
    both = [Fraction(value) for value in (*y, *x)]
    value = sum(slope * both[i] for i, slope in form.slopes.items()) + form.constant
    assert value == _in_fractions(expr, x, y)
    assert all(form.slopes.values())


@given(_trees(inputs, outputs), values, tables)
def test_a_form_at_a_point_has_the_value_of_the_expression(plan, x, Y):
    expr = build(plan)
    form = affine(expr, "output", x)
    if form is None:
        return
    slopes = np.array([form.slopes.get(i, 0.0) for i in range(2)])
    expected = evaluate(expr, np.tile(x, (len(Y), 1)), Y, np)
    near = np.abs(Y @ slopes + form.constant - expected)
    size = np.abs(Y) @ np.abs(slopes) + abs(form.constant)
    assert np.all(near <= 1e-6 * (1.0 + size))


@given(_trees(inputs, outputs), tables)
def test_forms_at_rows_are_those_at_each_of_their_points(plan, X):
    expr = build(plan)
    rows = affine_rows(expr, X)
    if rows is None:
        return
    parts = [rows.slopes.get(0, 0.0), rows.slopes.get(1, 0.0), rows.constant]
    table = np.stack([np.broadcast_to(part, len(X)) for part in parts], axis=1)
    for x, numbers in zip(X, table, strict=True):
        point = affine(expr, "output", x)
        if point is not None:
            own = [point.slopes.get(0, 0.0), point.slopes.get(1, 0.0), point.constant]
            np.testing.assert_allclose(numbers, own, rtol=1e-9, atol=1e-9)


@given(_affine_trees(outputs), tables)
def test_what_is_affine_by_its_making_is_found_to_be(plan, X):
    expr = build(plan)
    assert affine_rows(expr, X) is not None
    assert all(affine(expr, "output", x) is not None for x in X)
    assert is_straight(expr)


@given(_affine_trees(outputs | st.just(SLOPE)))
def test_slopes_may_be_part_of_what_is_straight(plan):
    assert is_straight(build(plan))


@given(_trees(inputs, outputs, st.just(SLOPE)), tables, values, values)
def test_what_is_straight_has_no_bend_at_any_input(plan, X, start, step):
    expr = build(plan)
    if not is_straight(expr):
        return
    along = lambda t: np.tile(start + t * step, (len(X), 1))
    ends = [evaluate(expr, X, along(t), np, {(0,): 2.0 * along(t)}) for t in (0, 1, 2)]
    known = np.isfinite(ends).all(axis=0)
    low, middle, high = (end[known] for end in ends)
    size = 1.0 + np.abs(low) + np.abs(middle) + np.abs(high)
    assert np.all(np.abs(low - 2 * middle + high) <= 1e-6 * size)


@given(_trees(inputs, st.just(OUTPUTS[0])), tables)
def test_pieces_of_the_line_are_where_the_rule_holds(plan, X):
    expr = build(plan)
    assume(any(column.kind == "output" for column in columns(expr)))
    schema = Schema(("x0", "x1"), ("y0", "y1"))
    rule = bind(require(Comparison("<=", expr, Number(0.0))), schema)
    pieces = allowed_pieces([rule], X, 2)
    Y = np.stack([np.linspace(-9.0, 9.0, 40), np.zeros(40)], axis=1)
    for row in np.flatnonzero(~pieces.is_joint):
        at = np.tile(X[row], (len(Y), 1))
        low, high = pieces.low[row, 0], pieces.high[row, 0]
        inside = ((Y[:, :1] > low) & (Y[:, :1] < high)).any(axis=1)
        # On an edge, and where everything cancels, rounding decides.
        is_clear = np.abs(evaluate(expr, at, Y, np)) > 1e-6
        np.testing.assert_array_equal(inside[is_clear], rule.holds(at, Y)[is_clear])


def test_products_of_outputs_and_their_functions_are_not_affine():
    (x, _), (y, z) = INPUTS, OUTPUTS
    X = np.array([[1.0, 2.0]])
    for bent in (y * z, y * y, 1 / y, y**2, Call("exp", (y,)), (x + y) * y, SLOPE * y):
        assert affine(bent, "output", X[0]) is None
        assert affine_rows(bent, X) is None
        assert exact_affine(bent, output=0, input=2) is None
        assert not is_straight(bent)


def test_an_edge_is_where_one_variable_changes_the_sign():
    (x, _), (y, z) = INPUTS, OUTPUTS
    edges = {2 * y - 3: (0, 1.5, False), 3 - 2 * y: (0, 1.5, True), y - z: None}
    for expr, edge in edges.items():
        form = affine(expr, "output")
        assert form is not None
        assert form.edge() == edge
    assert affine(y - x, "output") is None
