"""Python operators build the tree they spell, and every refusal gives advice."""

import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.errors import RuleError
from ocbnn.rules import Name, Not, Number, functions, inputs, outputs, parse_rule

x, y = inputs("x"), outputs("y")


@pytest.mark.parametrize(
    "three", [3, 3.0, np.float32(3), np.int64(3), np.array(3.0), jnp.float32(3)]
)
def test_numbers_of_every_kind_work_on_both_sides(three):
    assert str(three * x) == "3 * x"
    assert str(x / three) == "x / 3"
    assert str(three - x) == "3 - x"
    assert (x <= three) == (three >= x) == (x <= 3)
    assert str(three**x + x**three) == "3 ** x + x ** 3"


def test_one_name_gives_an_expression_and_several_a_tuple():
    assert inputs("a") == Name("a")
    assert outputs("a", "b") == (Name("a"), Name("b"))
    assert inputs("a").role == "input"
    assert hash(inputs("a")) == hash(outputs("a"))


@pytest.mark.parametrize(
    ("python", "text"),
    [
        (y.between(5 - x, 7), "5 - x <= y <= 7"),
        ((x < 1) & (y > 2) & (x > 0), "x < 1 and y > 2 and x > 0"),
        ((x < 1) | (y > 2), "x < 1 or y > 2"),
        ((x < 1) ^ (y > 2), "either x < 1 or y > 2"),
        ((x < 1).implies(y > 2), "(if x < 1 then y > 2)"),
        (~(x < 1), "not x < 1"),
        (~~(x < 1), "x < 1"),
        (y.is_in("a", "b c", 3), 'y in {a, "b c", 3}'),
        (y.not_in("a"), "y not in {a}"),
        (-(x**2) + abs(y) < -3, "-x ** 2 + abs(y) < -3"),
        (functions.min(x, 2, y) * functions.sqrt(2) > 0, "min(x, 2, y) * sqrt(2) > 0"),
        ((-x) ** 2 > (x - (x - 1)) * 2, "(-x) ** 2 > (x - (x - 1)) * 2"),
    ],
)
def test_python_and_text_give_the_same_tree(python, text):
    assert str(python) == text
    assert parse_rule(text).claim == python
    assert hash(parse_rule(text).claim) == hash(python)


def test_every_function_prints_as_a_call():
    for name in ("exp", "log", "sqrt", "abs", "sin", "cos", "tan", "tanh"):
        assert str(getattr(functions, name)(x)) == f"{name}(x)"
    assert str(functions.max(x, 1)) == "max(x, 1)"


def test_equality_is_structural_and_plain():
    assert (y == 3) is False
    assert x + 1 == x + 1
    assert Number(1) == Number(1.0)


def test_a_tree_too_deep_to_walk_is_refused():
    total = x
    for _ in range(150):
        total = total + x
    with pytest.raises(RuleError, match="levels deep"):
        sum([x] * 100, total)


@pytest.mark.parametrize(
    ("write", "advice"),
    [
        (lambda: 0 <= y <= 1, "between"),
        (lambda: (x < 1) and (y < 2), "`&`"),
        (lambda: not (x < 1), "`~`"),
        (lambda: min(x, y), "functions.min"),
        (lambda: (x < 1) & (y == 3), "probability zero"),
        (lambda: (x < 1) | 3, "Write a comparison"),
        (lambda: x + "a", "Name columns with"),
        (lambda: x + (y < 1), "Join conditions"),
        (lambda: x < np.arange(3.0), "Write a number"),
        (lambda: x < True, "Write a number"),
        (lambda: x < float("inf"), "leave the comparison out"),
        (lambda: y.between(3, 1), r"between\(1, 3\)"),
        (y.is_in, "names no class"),
        (lambda: y.is_in(["a"]), "one by one"),
        (lambda: y.is_in(float("nan")), "finite number"),
        (lambda: functions.min(x), "two or more"),
        (inputs, r"inputs\("),
        (lambda: inputs(""), "one or more characters"),
        (lambda: Not(x < 1) ^ 1, "needs a condition"),
    ],
)
def test_refusals_give_advice(write, advice):
    with pytest.raises(RuleError, match=advice):
        write()
