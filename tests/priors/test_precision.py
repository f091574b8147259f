"""Rules that single precision cannot hold are told of when they are placed."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.core.units import Units
from ocbnn.errors import RuleWarning
from ocbnn.priors import make_term
from ocbnn.rules import Schema, bind, custom, inputs, parse_rule

LINE = Schema(("x",), ("y",))
X, Y = np.linspace(0, 1, 20)[:, None], np.linspace(0, 2, 20)[:, None]


def placed(rule, x=0.0, y=0.0):
    rule = parse_rule(rule) if isinstance(rule, str) else rule
    units = Units.of(X + x, Y + y, 1)
    bound = bind(rule, LINE)
    return make_term(bound, jax.random.key(0), reference=Y + y, units=units)


@pytest.mark.parametrize(
    "rule",
    [
        "if 0 <= x <= 1 then y*y <= 1000000002000000000",
        "if 0 <= x <= 1 then abs(y) <= 1000000001",
        "if 0 <= x <= 1 then sqrt(y) ~ Normal(31622, 0.00001)",
    ],
)
def test_a_rule_without_digits_is_told_of(rule):
    with pytest.warns(RuleWarning, match=r"loses its digits.*\(y - 1000000000\)\*\*2"):
        placed(rule, y=1e9)


@pytest.mark.parametrize(
    "rule",
    [
        "if 0 <= x <= 1 then y <= 1000000001",
        "if 0 <= x <= 1 then (y - 1000000000)**2 <= 2",
        "if 0 <= x <= 1 then max(y, 1000000000.5) <= 1000000001.25",
        "if 0 <= x <= 1 then y ~ Normal(1000000000 + x, 0.5)",
        "if 0 <= x <= 1 then d(y, x) >= 1",
    ],
)
def test_a_rule_with_all_its_digits_is_not(rule):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        placed(rule, y=1e9)


def test_ordinary_rules_have_their_digits():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        placed("if 0 <= x <= 1 then y*y <= 2 + exp(x)")


def test_a_function_of_ones_own_that_is_given_large_numbers_is_told_of():
    where = inputs("x").between(2460000.0, 2460001.0)
    for holds in (None, lambda xs, ys: ys[:, 0] > 0):
        own = custom(lambda xs, ys: jnp.sum(ys), where, holds=holds)
        with pytest.warns(RuleWarning, match="its own function is given 'x'"):
            placed(own, x=2460000.0)


def test_a_custom_rule_is_given_a_persons_units(float64):
    seen = custom(
        lambda xs, ys: jnp.sum(xs[:, 0] * ys[:, 0]),
        where=inputs("x").between(10.0, 11.0),
    )
    term = placed(seen, x=10.0, y=3.0)
    ys = jnp.linspace(-1.0, 1.0, term.count)[:, None]
    expected = np.sum(term.places * term.units.outputs(np.asarray(ys)))
    result = term.log_g(term.points, ys, lambda x: x)
    np.testing.assert_allclose(result, expected, rtol=1e-12)
