"""How far observations lie beyond what a rule allows."""

import numpy as np
import pytest

from ocbnn.metrics.excess import excess
from ocbnn.rules import Schema, bind

PAIR = Schema(("x",), ("a", "b"))


def of(text, *outputs, sds=(1.0, 1.0)):
    Y = np.array([outputs], float)
    names = ("a", "b")[: len(outputs)]
    bound = bind(text, Schema(("x",), names))
    sds = np.array([sds[: len(outputs)]], float)
    return excess(bound, np.zeros((1, 1)), Y, sds)[0]


@pytest.mark.parametrize(
    ("text", "outputs", "sds", "far"),
    [
        ("a <= 1", (1.0,), (1.0,), 0.0),
        ("a <= 1", (1.5,), (0.25,), 2.0),
        ("a < 1", (1.0,), (0.25,), 0.0),
        ("not (2 <= a <= 5)", (3.0,), (0.5,), 2.0),
        ("3 <= a <= 3.001", (4.0,), (1.0,), 0.9995),
        ("a <= 1", (1001.0,), (1.0,), 1000.0),
        # The nearest point of a line, in units of each output's own noise.
        ("a + b <= 0", (1.0, 1.0), (1.0, 1.0), np.sqrt(2)),
        ("a + b <= 0", (1.0, 1.0), (3.0, 4.0), 2 / 5),
        ("a <= 0 or b <= 0", (3.0, 1.0), (1.0, 1.0), 1.0),
        ("a ~ Normal(0, 1)", (5.0,), (1.0,), 3.0),
    ],
)
def test_the_shortest_step_back_is_found(text, outputs, sds, far):
    assert of(text, *outputs, sds=sds) == pytest.approx(far, rel=1e-3, abs=1e-4)


def test_a_rule_that_nothing_can_keep_is_infinitely_far():
    assert of("a < 0 and a > 0", 1.0) == np.inf


def test_rows_outside_of_the_region_break_nothing():
    bound = bind("if x > 0 then a + b <= 0", PAIR)
    X, Y = np.array([[-1.0], [1.0]]), np.ones((2, 2))
    assert excess(bound, X, Y, Y).round(4).tolist() == [0.0, 1.4142]
