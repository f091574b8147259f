"""Text gives the rule it spells; anything else is refused with a caret and advice."""

import random

import pytest
from hypothesis import given, settings

from ocbnn.errors import RuleError, RuleSyntaxError
from ocbnn.rules import And, Number, expect, inputs, outputs, parse_rule, require
from tests.rules.strategies import build, rules

x, y, action = inputs("x"), outputs("y"), outputs("action")


def check_reads_back(rule):
    again = parse_rule(str(rule))
    assert again == rule
    assert hash(again) == hash(rule)
    assert str(again) == str(rule)


@given(rules)
def test_text_of_a_rule_reads_back_as_an_equal_rule(rule):
    check_reads_back(build(rule))


@pytest.mark.slow
@given(rules)
@settings(max_examples=1000)
def test_texts_of_a_thousand_rules_read_back_as_equal_rules(rule):
    check_reads_back(build(rule))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (
            "if -0.3 <= x <= 0.3 then 2.5 <= y <= 3",
            require(y.between(2.5, 3), where=x.between(-0.3, 0.3)),
        ),
        ("if x ≤ \u22121 then y ≥ x^2", require(y >= x**2, where=x <= -1)),
        ("gap: y > 1 [strength = 1e3]", require(y > 1, name="gap", strength=1e3)),
        ("y > 1 [strength=hard]", require(y > 1, strength="hard")),
        ("y > 1 [strength=soft]", require(y > 1)),
        ("y ~ Normal(5 - x, .5)", expect(y, 5 - x, sd=0.5)),
        (
            "y ~ 0.5*Normal(x, 1) + 0.5*Normal(2, 3) [per=region]",
            expect(y, [x, 2], sd=[1, 3], per="region"),
        ),
        ("action in {'wait and see', -2}", require(action.is_in("wait and see", -2))),
        ("action not in {a}", require(action.not_in("a"))),
        ("not action in {a}", require(action.not_in("a"))),
        ("(((y))) < +1", require(y < 1)),
        ("`y` < 2 ** 3 ** x", require(y < Number(2) ** (Number(3) ** x))),
        ("y < 1 [sampler=like-data]", require(y < 1, sampler="like-data")),
        ("y < 1 [tau1=3]", require(y < 1, tau=(15, 3))),
        ("y\n<\t1", require(y < 1)),
    ],
)
def test_text_and_python_give_equal_rules(text, rule):
    assert parse_rule(text) == rule


def test_and_binds_tighter_than_or_and_not_tightest():
    parsed = parse_rule("not x < 1 and y < 2 or y > 3").claim
    assert parsed == (~(x < 1) & (y < 2)) | (y > 3)


def test_a_chain_is_a_conjunction():
    assert parse_rule("0 < x <= y < 1").claim == And(
        ((Number(0) < x), (x <= y), (y < 1))
    )


@pytest.mark.parametrize(
    ("text", "caret", "advice"),
    [
        ("y == 3", 2, "Write a band"),
        ("y = 3", 2, "Normal"),
        ("y != 3", 2, "y < 3 or y > 3"),
        ("y < 1 && x < 2", 6, "write `and`"),
        ("y < 1 || x < 2", 6, "write `or`"),
        ("!(y < 1)", 0, "write `not`"),
        ("y < 1; x < 2", 5, "one rule"),
        ("x.y < 3", 1, "backticks"),
        ("__import__('os')", 0, "unknown function"),
        ("lg(x) < 3", 0, "Did you mean `log`"),
        ("foo(x) < 3", 0, "Known: exp, log"),
        ("y < x[0]", 6, "no indexing"),
        ("[y] < 3", 0, "brackets hold options"),
        ("'a' + 1 < y", 0, "class label"),
        ("y := 3", 3, "band"),
        ("if x < 1: y < 2", 8, "write `then`"),
        ("lambda z < 3", 7, "found `z`"),
        ("", 0, "there is no rule"),
        ("name:  ", 5, "there is no rule"),
        ("y <", 3, "the text ends"),
        ("< 3", 0, "a side is missing"),
        ("y < 3 4", 6, "found `4`"),
        ("y < 3 AND x < 2", 6, "Did you mean `and`"),
        ("(y < 3", 0, "never closed"),
        ("y < 3)", 5, "closes nothing"),
        ("1.2.3 < y", 3, "one decimal point"),
        ("2x < y", 1, r"2 \* x"),
        ("1e999 < y", 0, "too large"),
        ("y + 1", 5, "the comparison is missing"),
        ("if x < 3", 8, "`if` without `then`"),
        ("if x < 3 y < 2", 9, "where `then` belongs"),
        ("if 0 < mean bp < 3 then y < 2", 12, "backticks: `` `mean bp` ``"),
        ("if 0 < x < 2,5 then y < 2", 12, "a point: write `2.5`"),
        ("not (y < 2,5)", 10, "a point: write `2.5`"),
        ("y < 2,5", 5, "a point: write `2.5`"),
        ("y < 3 then x < 2", 6, "`then` without `if`"),
        ("if a < 1 then if b < 2 then y < 3", 14, "parentheses"),
        ("(if a < 1) or y < 3", 9, "where `then` belongs"),
        ("exp < 3", 0, "in backticks"),
        ("exp(y < 3) < 1", 6, r"`\)`"),
        ("(y < 3) + 1 < 2", 0, "a condition stands where a number"),
        ("y and x < 2", 0, "compare it"),
        ("1 < y > 3", 6, "runs one way"),
        ("y in treat", 5, "braces"),
        ("y in {}", 6, "where a class belongs"),
        ("y in {a b}", 8, "commas"),
        ("y + 1 in {a}", 0, "class output"),
        ("y not < 3", 6, "not in"),
        ("either y < 1", 12, "exactly one of two"),
        ("either y < 1 or y > 3 or y > 5", 22, "takes two"),
        ("y ~ Norml(1, 2)", 4, "Normal"),
        ("y ~ Normal(1)", 12, "standard deviation"),
        ("y ~ Normal(1, x)", 14, "where a number belongs"),
        ("y ~ Normal(1, 0)", 4, "`sd` is a positive"),
        ("y ~ 0.5 Normal(1, 1)", 8, r"`\*` belongs"),
        ("Normal(1, 2) < y", 0, "follows `~`"),
        ("x < 1 and y ~ Normal(1, 2)", 12, "whole claim"),
        ("min(y) < 3", 0, "two or more"),
        ("y < 3 [stregth=2]", 7, "Did you mean `strength`"),
        ("y < 3 [strength=-2]", 16, "positive"),
        ("y < 3 [strength=ferm]", 16, "Did you mean `firm`"),
        ("y < 3 [points=2.5]", 14, "whole number"),
        ("y < 3 [per=box]", 11, "region"),
        ("y < 3 [literal=3]", 15, "`yes` or `no`"),
        ("y < 3 [sampler=sobol]", 15, "like-data"),
        ("y < 3 [points=2, points=3]", 17, "twice"),
        ("y < 3 [points 2]", 14, "points=VALUE"),
        ("y < 3 [points=2", 15, "commas"),
        ("y < 3 [points=2] 4", 17, "found `4`"),
        ("`y < 3", 0, "never closed"),
        ("`` < 3", 0, "no name"),
        ("y < 3 ?", 6, "no meaning"),
    ],
)
def test_what_is_no_rule_is_pointed_at(text, caret, advice):
    with pytest.raises(RuleSyntaxError, match=advice) as caught:
        parse_rule(text)
    *_, shown, pointer = str(caught.value).split("\n")
    assert shown == "  " + text
    assert pointer.index("^") - 2 == caret


def test_a_long_text_is_shown_around_the_caret():
    text = "y < 1 and " * 50 + "y == 1"
    with pytest.raises(RuleSyntaxError) as caught:
        parse_rule(text)
    *_, shown, pointer = str(caught.value).split("\n")
    assert len(shown) < 90
    assert shown[pointer.index("^") :].startswith("==")


def test_the_line_at_fault_is_shown():
    with pytest.raises(RuleSyntaxError, match=r"\n  and y == 3\n        \^"):
        parse_rule("x < 1\nand y == 3\nand x > 0")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + "y" + ")" * 5000 + " < 1",
        "-" * 9000 + "y < 1",
        "not " * 4000 + "y < 1",
        "exp(" * 4000,
        "either " * 2000 + "y < 1",
        "y" + " + y" * 4000 + " < 1",
        "y" + " ** y" * 3000 + " < 1",
        "(if " * 4000,
        "y < 1 or " * 2000,
        " " * 19_000 + "?",
        "a " * 9000 + ":",
        "y < 1 " * 200_000,
        "`" * 9999,
        '"' + "\\" * 9999,
        "y in {" + "9" * 9000 + "}",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_is_refused_quickly(text):
    with pytest.raises(RuleError):
        parse_rule(text)


def test_a_caller_deep_in_the_stack_still_gets_our_error():
    def descend(levels):
        return descend(levels - 1) if levels else parse_rule("(" * 99 + "y < 1")

    with pytest.raises(RuleError):
        descend(700)


@pytest.mark.parametrize("value", [None, 3, b"y < 1"])
def test_only_strings_are_text(value):
    with pytest.raises(RuleError, match="is a string"):
        getattr(parse_rule, "__wrapped__", parse_rule)(value)


SEEDS = [
    "low pressure: if mean_bp < 65 then action in {treat, 'wait', 3} [points=3]",
    "if -1 <= x <= 1 then not (-5 <= y <= 3 or (if a > 1 then exp(b) < 2))",
    "y ~ 0.5*Normal(5 - x, 0.5) + 0.5*Normal(x ** -2, 1e-3) [per=region, tau0=3]",
    "either `mean bp` < 3 or max(a, b) >= abs(-y)",
]
ALPHABET = (
    "xyab019.eE+-*/^<>=!~&|(){}[],:;'\"`\\_ \n\t≤\u2212é\x00if thenandornoteither"
)


def test_random_mutations_of_text_give_a_rule_or_our_error():
    chance = random.Random(0)
    read = 0
    for _ in range(2000):
        text = list(chance.choice(SEEDS)) if chance.random() < 0.8 else []
        for _ in range(chance.randint(1, 6)):
            at = chance.randint(0, len(text))
            text[at : at + chance.randint(0, 3)] = chance.choices(
                ALPHABET, k=chance.randint(0, 4)
            )
        try:
            rule = parse_rule("".join(text))
        except RuleError:
            continue
        read += 1
        assert parse_rule(str(rule)) == rule
    assert read > 20
