"""Rules are compared before any fit, and nothing is answered that cannot be told."""

import numpy as np
import pandas as pd
import pytest

import ocbnn
from ocbnn.errors import DataError, RuleError
from ocbnn.rules import Schema, bind, find_conflict, find_redundant, parse_rule

CAPS = (
    "cap: if 3 <= dose <= 4 and 0 <= age <= 9 then effect <= 1",
    "late: if 3.5 <= dose <= 4 and 0 <= age <= 9 then effect <= 2",
)
dose, age = ocbnn.inputs("dose", "age")
effect = ocbnn.outputs("effect")


def made(limit, name):
    inside = dose.between(3, 4) & age.between(0, 9)
    return ocbnn.require(effect <= limit, where=inside, name=name)


@pytest.mark.parametrize(
    "rules",
    [
        CAPS,
        [parse_rule(text) for text in CAPS],
        [bind(text, Schema(("age", "dose"), ("effect",))) for text in CAPS],
        [CAPS[0], made(2, "late")],
        [bind(CAPS[0], Schema(("age", "dose"), ("effect",))), CAPS[1]],
    ],
    ids=["texts", "rules", "bound", "text and rule", "bound and text"],
)
def test_rules_can_be_given_in_any_way(rules):
    (redundancy,) = ocbnn.rules.find_redundant(rules)
    assert redundancy.sentence().startswith("Rule 'late' follows from 'cap' (proved)")
    assert find_conflict(rules) is None
    clash = "if 3 <= dose <= 4 and 0 <= age <= 9 then effect > 5"
    conflict = find_conflict([*rules, clash])
    assert conflict is not None
    assert conflict.rules[-1].name == clash


def test_rules_without_a_region_are_compared_too():
    assert [r.rule.name for r in find_redundant(["y < 3", "y < 4"])] == ["y < 4"]
    assert find_conflict(["y < 3", "y > 4"]) is not None
    assert find_conflict("y < 3 and y > 4") is not None
    assert find_redundant([]) == []
    assert find_conflict([]) is None


@pytest.mark.parametrize(
    ("rules", "outputs"),
    [
        (["d(y, x) >= 0", "if 0 <= x <= 1 then y >= 2*x"], ("y",)),
        (["if 0 <= x <= 1 then y >= 2*x"], ("y",)),
        (["if 0 <= x <= 1 then y ~ Normal(z, 1)", "y > 3"], ("y",)),
        (["a <= 1", "b <= 1", "a + b <= 3"], ("a", "b")),
    ],
)
def test_inputs_and_outputs_are_told_apart_where_rules_say_so(rules, outputs):
    rows = {"outputs": outputs} if len(outputs) > 1 else {}
    assert find_conflict(rules, **rows) is None
    never = f"{outputs[0]} < -9 and {outputs[0]} > 9"
    clash = find_conflict([*rules, never], **rows)
    assert clash is not None
    assert clash.rules[0].schema.outputs == outputs


def test_what_is_an_output_is_asked_for_where_it_cannot_be_told():
    rules = ["a + b <= 1", "a + b <= 2"]
    with pytest.raises(RuleError, match=r"which of 'a', 'b' are outputs.*outputs="):
        find_redundant(rules)
    (redundancy,) = find_redundant(rules, outputs=["a", "b"])
    assert redundancy.is_proved
    X = pd.DataFrame({"other": [0.0], "b": [1.0]})
    (redundancy,) = find_redundant(rules, X)
    assert redundancy.rule.schema == Schema(("other", "b"), ("a",))
    (redundancy,) = find_redundant(rules, [[1.0]], inputs="a")
    assert redundancy.rule.schema == Schema(("a",), ("b",))


def test_classes_are_asked_for():
    rules = ["y not in {a}", "y not in {b}"]
    with pytest.raises(RuleError, match=r"how many there are. Write classes="):
        find_conflict(rules)
    assert find_conflict(rules, classes=["a", "b"]) is not None
    assert find_conflict(rules, classes=["a", "b", "c"]) is None


def test_where_to_look_is_asked_for_where_nothing_bounds_a_claim_that_varies():
    rules = ["if x > 0 then y <= 2*x", "if x > 0 then y <= 2*x + 1"]
    for find in (find_redundant, find_conflict):
        with pytest.raises(RuleError, match=r"depends on x, .*Say where to look: X="):
            find(rules)
    (redundancy,) = find_redundant(rules, np.array([[1.0], [5.0]]))
    assert redundancy.rule.rule == parse_rule(rules[1])
    assert find_conflict([*rules, "y > 9"], [[1.0]]) is not None


def test_rows_must_have_the_columns_that_rules_speak_of():
    with pytest.raises(RuleError, match=r"Write inputs=\['dose', 'age'\]"):
        find_redundant(CAPS, np.zeros((1, 2)))
    with pytest.raises(DataError, match=r"X has no column 'age'.*It has dose"):
        find_redundant(CAPS, pd.DataFrame({"dose": [1.0]}), inputs=["dose", "age"])
    with pytest.raises(DataError, match=r"got the shape \(1, 3\)"):
        find_redundant(CAPS, np.zeros((1, 3)), inputs=["dose", "age"])


def test_what_is_no_rule_and_rules_of_other_columns_are_refused():
    with pytest.raises(RuleError, match="got int: 3"):
        find_redundant([3])
    schemas = Schema(("x",), ("y",)), Schema(("z",), ("y",))
    with pytest.raises(RuleError, match="bound to the same columns"):
        find_redundant([bind("y > 0", schema) for schema in schemas])
