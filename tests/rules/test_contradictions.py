"""Contradictions of slopes, of bent claims and of places far apart; no false alarms."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ocbnn.rules import Schema, bind, find_conflict, find_redundant, parse_rule
from tests.rules.witnesses import GROUP, NAMES, random_rule, random_witness

ONE = Schema(("x",), ("y",))
TWO = Schema(("x",), ("y", "z"))
PLANE = Schema(("x", "t"), ("y",))
ROWS = np.array([[-1.0], [2.0]])


def conflict(texts, schema=ONE, X=ROWS):
    X = np.pad(X, ((0, 0), (0, len(schema.inputs) - X.shape[1])))
    return find_conflict([bind(parse_rule(text), schema) for text in texts], X)


def blamed(found, texts):
    named = [str(rule.rule) for rule in found.rules]
    return [i for i, text in enumerate(texts) if str(parse_rule(text)) in named]


LEFT, RIGHT = "if x <= 0 then y >= 2", "if x >= 1 then y <= 1"
RISES = "if 0 <= x <= 1 then y rises with x"


@pytest.mark.parametrize(
    ("schema", "texts", "at_fault"),
    [
        (ONE, ["y rises with x", "y <= 9", "d(y, x) <= -1"], [0, 2]),
        (ONE, ["y*y >= 4", "y <= 9", "-1 <= y <= 1"], [0, 2]),
        (ONE, ["y <= 9", LEFT, RIGHT, RISES], [1, 2, 3]),
        (ONE, [LEFT, RIGHT, "y rises with x"], [0, 1, 2]),
        (ONE, ["if x < 0 then y >= 2", "if x > 1 then y <= 1", RISES], [0, 1, 2]),
        (ONE, [LEFT, RIGHT, "if 0 < x < 1 then d(y, x) > 0"], [0, 1, 2]),
        (ONE, ["if x <= 0 then y <= 1", "if x >= 1 then y >= 2", "d(y, x) <= 0.5"],
         [0, 1, 2]),
        # Slopes and curvature.
        (ONE, ["y ** 2 < -1", "y > 2"], [0]),
        (ONE, ["d(y, x) >= 1 + y*y", "d(y, x) <= 0.5"], [0, 1]),
        (ONE, ["exp(d(y, x)) <= 1", "d(y, x) >= 0.1"], [0, 1]),
        (ONE, ["d(y, x, x) >= 1", "d(y, x, x) <= 0"], [0, 1]),
        (ONE, ["if 0 <= x <= 9 then d(y, x) >= 1", "0 <= y <= 5"], [0, 1]),
        (ONE, ["d(y, x, x) >= 0", "if x < 0 then d(y, x) >= 1",
               "if x > 1 then d(y, x) <= 0"], [0, 1, 2]),
        (ONE, ["d(y, x, x) >= 0", "d(y, x, x) <= 0", "if x < 0 then d(y, x) <= 1",
               "if x > 1 then d(y, x) >= 2"], [1, 2, 3]),
        (ONE, ["d(y, x, x) >= 0", "if x <= 0 then y <= 0", "if 1 <= x <= 2 then y >= 5",
               "if 3 <= x <= 4 then y <= 1"], [0, 1, 2, 3]),
        (ONE, ["if 0 <= x <= 2 then y <= 3 - 2*x", "if x <= 0 then y >= 0",
               "y rises with x"], [0, 1, 2]),
        # Several outputs and inputs.
        (TWO, ["y*z >= 4", "0 <= y <= 1", "0 <= z <= 3"], [0, 1, 2]),
        (TWO, ["y <= z", "if x <= 0 then y >= 2", "if x >= 1 then z <= 1",
               "y rises with x"], [0, 1, 2, 3]),
        (TWO, ["d(y, x) >= d(z, x)", "if x <= 0 then y - z >= 2",
               "if x >= 1 then y - z <= 1", "z rises with x"], [0, 1, 2]),
        (PLANE, ["if x <= 0 and 0 <= t <= 1 then y >= 2",
                 "if x >= 1 and 0.99 <= t <= 2 then y <= 1", "y rises with x"],
         [0, 1, 2]),
        (PLANE, ["if x <= 0 then y >= 2 + t*t", "if x >= 1 then y <= 1 + t*t",
                 "y rises with x", "y rises with t"], [0, 1, 2]),
    ],
)  # fmt: skip
def test_contradictions_are_found_and_their_rules_are_named(schema, texts, at_fault):
    result = conflict(texts, schema)
    assert result is not None
    assert blamed(result, texts) == at_fault
    message = result.message()
    assert ("leave it out" if len(at_fault) > 1 else "Correct its bounds") in message
    assert all(str(rule.rule) in message for rule in result.rules)


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        (ONE, ["if x <= 0 then y >= 2", "if x >= 0 then y <= 2", "y rises with x"]),
        (ONE, [LEFT, RIGHT, "y falls with x"]),
        (ONE, [LEFT, RIGHT, "if 0.1 <= x <= 0.9 then y rises with x"]),
        (ONE, [LEFT, RIGHT, "d(y, x) ~ Normal(1, 0.1)"]),
        (ONE, [LEFT, "if x >= 1 then y ~ Normal(0, 1)", "y rises with x"]),
        (ONE, ["if 0 <= x <= 5 then d(y, x) >= 1", "0 <= y <= 5"]),
        # A step and a kink, which steep functions come near to.
        (ONE, ["if x < 0 then y < 1", "if x > 0 then y > 3", "y rises with x"]),
        (ONE, ["if x < 0 then y < 1", "if x > 0 then y > 3",
               "if x < 0 then y falls with x"]),
        (ONE, ["if x <= 0 then d(y, x) <= -1", "if x >= 0 then d(y, x) >= 1"]),
        (ONE, ["if x <= 0 then d(y, x) <= -1", "if x >= 0 then d(y, x) >= 1",
               "d(y, x, x) >= 0"]),
        # Beyond what rules and rows speak of, nothing is known.
        (ONE, ["d(y, x) >= 1", "0 <= y <= 3"]),
        (TWO, ["if x <= 0 then y >= 2", "if x >= 1 then y <= 1", "z rises with x"]),
        (TWO, ["y*z >= 4", "0 <= y <= 1", "0 <= z <= 4"]),
        (PLANE, ["if x <= 0 and 0 <= t <= 1 then y >= 2",
                 "if x >= 1 and 1.01 <= t <= 2 then y <= 1", "y rises with x"]),
        (PLANE, [LEFT, RIGHT, "y rises with t"]),
        (ONE, ["if 0 <= x <= 1 then y <= 3 - 100*x", "if x >= 1 then y >= -97",
               "y rises with x"]),
        (ONE, [LEFT, RIGHT, "y rises with x or y <= 1"]),
    ],
)  # fmt: skip
def test_what_some_function_can_do_is_left_alone(schema, texts):
    assert conflict(texts, schema) is None


def test_a_contradiction_between_places_says_from_where_to_where():
    result = conflict([LEFT, RIGHT, "y rises with x"], PLANE)
    assert result.message() == (
        "from x = 0 to x = 1, at t = 0, no function satisfies all of these rules:\n"
        "  if x <= 0 then y >= 2\n  if x >= 1 then y <= 1\n  d(y, x) >= 0\n"
        "Narrow the region of one, loosen its claim, or leave it out."
    )
    result = conflict(["y rises with x", "d(y, x) <= -1"])
    assert "no function satisfies all of these rules" in result.message()


def test_a_slope_rule_follows_from_a_steeper_one():
    texts = [
        "steep: if 0 <= x <= 2 then d(y, x) >= 1",
        "if 0 <= x <= 1 then d(y, x) > 0",
    ]
    (redundancy,) = find_redundant(
        [bind(parse_rule(text), ONE) for text in texts], ROWS
    )
    assert redundancy.rule.name == texts[1]
    assert (redundancy.is_proved, [one.name for one in redundancy.by]) == (
        True,
        ["steep"],
    )


def test_far_from_zero_the_same_is_found():
    day = 2_460_000
    texts = [
        f"if x <= {day} then y >= 1000000000.2",
        f"if x >= {day + 1} then y <= 1000000000.1",
        "y rises with x",
    ]
    X = np.array([[day - 1.0], [day + 2.0]])
    assert conflict(texts, X=X) is not None
    texts[1] = f"if x >= {day + 1} then y <= 1000000000.2"
    assert conflict(texts, X=X) is None


def test_a_row_has_one_name_of_a_column_of_names():
    texts = ["if `who=u` >= 0.5 then y > 2", "if `who=v` >= 0.5 then y < 1"]
    schema = Schema(("who=u", "who=v"), ("y",), choices=((0, 1),))
    assert conflict(texts, schema, np.eye(2)) is None
    texts.append("if `who=v` < 0.5 then y < 2")
    result = conflict(texts, schema, np.eye(2))
    assert blamed(result, texts) == [0, 2]
    assert result.x == (1.0, 0.0)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_rules_that_a_function_keeps_are_never_called_contradictory(seed):
    refuse_alarms(seed)


@pytest.mark.slow
@settings(max_examples=500)
@given(st.integers(0, 2**32 - 1))
def test_many_more_rules_that_a_function_keeps_are_not_either(seed):
    refuse_alarms(seed)


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(2.0**-30, 0.0), (2.0**30, 0.0), (1.0, 2.0**30)]),
)
def test_neither_units_nor_a_far_zero_make_rules_contradictory(seed, measure):
    refuse_alarms(seed, *measure)


def refuse_alarms(seed, unit=1.0, far=0.0):
    rng = np.random.default_rng(seed)
    outputs = ("y", "q")[: rng.integers(1, 3)]
    witnesses = {name: random_witness(rng, unit, far) for name in outputs}
    count = int(rng.integers(2, 8))
    texts = [random_rule(rng, witnesses, unit) for _ in range(count)]
    schema = Schema(NAMES, outputs, choices=(GROUP,))
    bounds = [bind(parse_rule(text), schema) for text in dict.fromkeys(texts) if text]
    X = np.zeros((6, len(NAMES)))
    X[:, :2] = rng.integers(-6, 7, (6, 2)) / 2
    X[np.arange(6), rng.choice(GROUP, 6)] = 1.0
    conflict = find_conflict(bounds, X)
    assert conflict is None, conflict.message()


@pytest.mark.parametrize(
    ("low", "high", "X"),
    [
        ("<=", ">", None),
        ("<=", ">", np.linspace(-5, 1, 20)[:, None]),
        ("<", ">=", np.linspace(1, 5, 20)[:, None]),
    ],
)
def test_a_jump_that_rules_forbid_is_named_by_its_place(low, high, X):
    first = f"if dose {low} 1 then effect >= 2"
    texts = [first, f"if dose {high} 1 then effect <= 1", "effect rises with dose"]
    conflict = find_conflict(texts, X)
    assert conflict is not None
    assert conflict.message().startswith(
        "at dose = 1 no function satisfies all of these"
    )
    assert blamed(conflict, texts) == [0, 1, 2]


@pytest.mark.parametrize(
    "texts",
    [
        ["y > 1000000000000.2", "y < 1000000000000.8"],
        ["y > 1700000000000", "y < 1700000000001"],
        ["not y <= -1700000000001", "y < -1700000000000"],
        ["y >= 0.1*3", "y <= 0.3"],
    ],
)
def test_a_little_room_far_from_zero_is_room(texts):
    assert conflict(texts) is None


@pytest.mark.parametrize(
    "texts",
    [
        ["y > 1000000000000.8", "y < 1000000000000.2"],
        ["y > 1700000000000", "y <= 1700000000000"],
        ["y > 0.1*3", "y < 0.3"],
    ],
)
def test_far_from_zero_no_room_is_none(texts):
    assert blamed(conflict(texts), texts) == [0, 1]


@pytest.mark.parametrize("unit", ["1e-9", "1", "1e9"])
@pytest.mark.parametrize(
    ("texts", "at_fault"),
    [
        (["y > z", "y < z + UNIT"], []),
        (["y > z", "y < z + UNIT", "-1e3 <= y <= 1e3", "z <= 1e3"], []),
        (["y + z > UNIT", "y + z < 5*UNIT"], []),
        (["y + d(y, x) > UNIT", "y + d(y, x) < 5*UNIT"], []),
        (["y > z + UNIT", "y < z"], [0, 1]),
        (["y >= z + UNIT", "y <= z", "z <= 1e3"], [0, 1]),
        (["y > z", "z > d(y, x)", "d(y, x) >= y"], [0, 1, 2]),
        (["y + z > 5*UNIT", "y < 2*UNIT", "z <= 3*UNIT"], [0, 1, 2]),
        (["y + z >= 5*UNIT", "y <= 2*UNIT", "z <= 3*UNIT"], []),
        (["3*y + z > 2*UNIT", "0.3*y + 0.1*z < 0.1*UNIT"], [0, 1]),
    ],
)
def test_units_of_outputs_do_not_decide(texts, at_fault, unit):
    texts = [text.replace("UNIT", unit) for text in texts]
    result = conflict(texts, TWO)
    assert (blamed(result, texts) if result else []) == at_fault


def test_between_values_of_a_category_no_line_is_followed():
    texts = [
        "y rises with `c=a`",
        "if `c=a` >= 0.5 then y <= 1",
        "if `c=a` < 0.5 then y >= 2",
    ]
    numbers = Schema(("c=a", "c=b"), ("y",))
    assert blamed(conflict(texts, numbers, np.eye(2)), texts) == [0, 1, 2]
    category = Schema(("c=a", "c=b"), ("y",), choices=((0, 1),))
    assert conflict(texts, category, np.eye(2)) is None
    assert find_conflict(texts, np.eye(2), inputs=["c=a", "c=b"]) is None


def test_a_number_with_an_equals_sign_in_its_name_is_a_number():
    texts = ["if `T=300` >= 5 then y >= x", "if `T=300` >= 4 then y <= x - 1"]
    X = np.array([[4.0, 1.0], [6.0, 2.0]])
    found = find_conflict(texts, X, inputs=["T=300", "x"])
    assert blamed(found, texts) == [0, 1]
    assert found.x == (6.0, 2.0)
    schema = Schema(("T=300", "T=400"), ("y",))
    texts = ["if `T=300` >= 5 then y >= 2", "if `T=400` >= 5 then y <= 1"]
    assert blamed(conflict(texts, schema, np.full((2, 2), 6.0)), texts) == [0, 1]
    assert find_conflict(texts, np.full((2, 2), 6.0), inputs=schema.inputs) is not None


def test_texts_about_names_of_one_column_speak_of_one_choice():
    texts = ["if `who=u` >= 0.5 then y > 2", "if `who=v` >= 0.5 then y < 1"]
    assert find_conflict(texts) is None
    texts.append("if `who=v` < 0.5 then y < 2")
    assert find_conflict(texts).message().startswith("at who = u no output satisfies")
