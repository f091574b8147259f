"""Interval arithmetic against values at many numbers."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ocbnn.language.evaluate import evaluate
from ocbnn.language.intervals import Arithmetic, Interval
from ocbnn.language.tree import Slot
from ocbnn.rules import Binary, Call, Negate, Number
from tests.rules.strategies import build, plans

pytestmark = pytest.mark.usefixtures("float64")

numbers = plans(Number, st.floats(-3, 3).map(lambda v: round(v, 2)))
slots = plans(Slot, st.sampled_from([0, 1]))


def _larger(parts):
    unary = ("exp", "log", "sqrt", "abs", "sin", "cos", "tan", "tanh")
    powers = plans(Number, st.sampled_from([2.0, 3.0, -1.0, 0.0, 0.5]))
    return st.one_of(
        plans(Negate, parts),
        plans(Binary, st.sampled_from(["+", "-", "*", "/"]), parts, parts),
        plans(Binary, st.just("**"), parts, powers),
        plans(Call, st.sampled_from(unary), st.tuples(parts)),
        plans(Call, st.sampled_from(["min", "max"]), st.tuples(parts, parts)),
    )


expressions = st.recursive(st.one_of(slots, numbers), _larger, max_leaves=5)
BOXES = 40


@settings(max_examples=120)
@given(plan=expressions, seed=st.integers(0, 2**31), library=st.sampled_from([np, jnp]))
def test_no_value_lies_outside_the_bounds(plan, seed, library):
    expr = build(plan)
    rng = np.random.default_rng(seed)
    low = rng.choice([-2.0, -1.0, 0.0, 0.5, 3.0], (2, BOXES)) + rng.normal(0, 0.1)
    low = np.where(rng.random((2, BOXES)) < 0.3, np.round(low), low)
    high = low + rng.choice([0.0, 0.01, 1.0, 4.0], (2, BOXES))
    boxes = zip(low, high, strict=True)
    slots = [Interval(*map(library.asarray, box)) for box in boxes]
    with np.errstate(all="ignore"):
        result = Arithmetic(library).range_of(expr, slots)
    places = low[..., None] + rng.random((2, BOXES, 200)) * (high - low)[..., None]
    places = np.concatenate([places, low[..., None], high[..., None]], axis=2)
    places = np.clip(places, low[..., None], high[..., None])
    nowhere = np.zeros((BOXES, 202, 1))
    values = np.asarray(evaluate(expr, nowhere, None, np, numbers=places), float)
    least, most = (np.broadcast_to(np.asarray(end), (BOXES,)) for end in result)
    # Undefined values mean that nothing may be claimed.
    undefined = np.isnan(values).any(axis=1)
    assert np.all(np.isnan(least[undefined]) & np.isnan(most[undefined]))
    known = ~np.isnan(least + most)
    slack = 1e-13 * np.abs(values)
    with np.errstate(invalid="ignore"):
        assert np.all((values >= least[:, None] - slack)[known])
        assert np.all((values <= most[:, None] + slack)[known])


@pytest.mark.parametrize(
    ("expr", "low", "high"),
    [
        (Binary("**", Slot(0), Number(2.0)), 0.0, 9.0),
        (Call("abs", (Slot(0),)), 0.0, 3.0),
        (Call("cos", (Slot(0),)), np.cos(3.0), 1.0),
        (Binary("/", Number(1.0), Slot(0)), np.nan, np.nan),
        (Call("log", (Slot(0),)), np.nan, np.nan),
        (Call("max", (Slot(0), Number(1.0))), 1.0, 3.0),
    ],
)
def test_bounds_are_tight_where_they_can_be(expr, low, high):
    result = Arithmetic(jnp).range_of(
        expr, [Interval(jnp.asarray(-2.0), jnp.asarray(3.0))]
    )
    assert np.allclose(
        [float(result.low), float(result.high)], [low, high], atol=1e-10, equal_nan=True
    )
