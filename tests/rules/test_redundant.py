"""Rules that follow from others are found, and only the others that matter named."""

import numpy as np
import pytest

from ocbnn.errors import RuleError
from ocbnn.rules import Schema, bind, find_redundant, parse_rule

ONE = Schema(("x",), ("y",))
PLANE = Schema(("a", "b"), ("y",))
TWO = Schema(("x",), ("y", "z"))
CLASSES = Schema(("x",), ("y",), ("a", "b", "c"))


def redundant(*texts, schema=ONE, X=None):
    named = [f"r{number}: {text}" for number, text in enumerate(texts)]
    redundancy = find_redundant([bind(parse_rule(text), schema) for text in named], X)
    return {
        one.rule.name: ([by.name for by in one.by], one.is_proved) for one in redundancy
    }


@pytest.mark.parametrize(
    ("schema", "texts", "found"),
    [
        # Nested boxes, a looser claim inside.
        (ONE, ["if 0 <= x <= 9 then y < 3", "if 1 <= x <= 2 then y <= 3"],
         {"r1": (["r0"], True)}),
        # No single rule covers it, two do between them.
        (ONE, ["if 0 <= x <= 1 then y < 3", "if 1 <= x <= 2 then y < 4",
               "if 0.5 <= x <= 1.5 then y < 5"], {"r2": (["r0", "r1"], True)}),
        # Two together say what neither does alone.
        (TWO, ["if 0 <= x <= 1 then y <= 1", "if 0 <= x <= 2 then z <= 1",
               "if 0 <= x <= 1 then y + z <= 2"], {"r2": (["r0", "r1"], True)}),
        (PLANE, ["if 0 <= a <= 9 then y > 0",
                 "if 1 <= a <= 2 and 0 <= b <= 1 then y > -1"],
         {"r1": (["r0"], True)}),
        (CLASSES, ["if x > 0 then y in {a}", "if x > 1 then y in {a, b}"],
         {"r1": (["r0"], True)}),
        # Of two that say the same, each follows from the other.
        (ONE, ["if 0 <= x <= 1 then y > 0", "if 0 <= x <= 1 then y > 0"],
         {"r0": (["r1"], True), "r1": (["r0"], True)}),
        # Open at an edge: the other, which is closed, adds the edge.
        (ONE, ["if 0 <= x < 1 then y < 3", "if 0 <= x <= 1 then y < 3"],
         {"r0": (["r1"], True)}),
        # Claims that vary, and regions that are no boxes, are seen and not proved.
        (ONE, ["if 0 <= x <= 9 then y < x", "if 1 <= x <= 2 then y < x + 1"],
         {"r1": (["r0"], False)}),
        (PLANE, ["if 0 <= a <= 9 and 0 <= b <= 9 then y > 0",
                 "if 0 <= a <= 1 and 0 <= b <= a then y > 0"],
         {"r1": (["r0"], False)}),
        # No one need understand a claim to see that it is said twice.
        (ONE, ["if 0 <= x <= 9 then y ** 2 < 3", "if 1 <= x <= 2 then y ** 2 < 3"],
         {"r1": (["r0"], True)}),
        (ONE, ["if 0 <= x <= 1 then y < 3 or y > 2"], {"r0": ([], True)}),
    ],
)  # fmt: skip
def test_a_rule_that_follows_from_others_is_found(schema, texts, found):
    assert redundant(*texts, schema=schema) == found


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        (ONE, ["if 0 <= x <= 9 then y < 3", "if 1 <= x <= 2 then y < 2"]),
        # It looks out of the other by a hair.
        (ONE, ["if 0 <= x <= 1 then y < 3", "if 0.5 <= x <= 1.0001 then y < 3"]),
        (ONE, ["if 0 <= x <= 9 then y < x", "if 1 <= x <= 2 then y < 1.9"]),
        # Two boxes with a gap between them.
        (ONE, ["if 0 <= x <= 1 then y < 3", "if 1.0001 <= x <= 2 then y < 3",
               "if 0 <= x <= 2 then y < 4"]),
        (ONE, ["if 0 <= x <= 9 then y < 3 [strength=1]",
               "if 1 <= x <= 2 then y < 3 [strength=100]"]),
        (ONE, ["if 0 <= x <= 1 then y ~ Normal(0, 1)"] * 2),
        (CLASSES, ["if x > 0 then y in {a, b}", "if x > 1 then y in {a}"]),
        (ONE, []),
    ],
)  # fmt: skip
def test_a_rule_that_adds_something_is_left_alone(schema, texts):
    assert redundant(*texts, schema=schema) == {}


def test_rows_show_where_to_look_when_nothing_bounds_a_region():
    texts = ["y < x + 1", "if x > 0 then y < x + 2"]
    with pytest.raises(RuleError, match=r"depends on x, .*Say where to look"):
        redundant(*texts)
    X = np.linspace(-1, 1, 20)[:, None]
    assert redundant(*texts, X=X) == {"r1": (["r0"], False)}


def test_the_sentence_says_what_follows_from_what_and_how_surely():
    rules = ["wide: if 0 <= x <= 9 then y < x", "in: if 1 <= x <= 2 then y < x + 1"]
    (redundancy,) = find_redundant([bind(parse_rule(rule), ONE) for rule in rules])
    assert redundancy.sentence() == (
        f"Rule 'in' follows from 'wide' (as far as {redundancy.points} inputs show): "
        "it can be left out."
    )
    assert redundancy.points >= 100
