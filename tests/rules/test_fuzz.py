"""Any text at all: a rule, or an error that says why not, and soon."""

import random

import pytest

from ocbnn.language.grammar import FUNCTIONS
from ocbnn.language.words import KEYWORDS
from ocbnn.rules import Schema, bind, parse_rule
from ocbnn.rules.parse import OPTIONS
from tests.mutations import FULL, QUICK, answered, changed_text

# Checking shapes costs far more than the work itself, and hides the library's errors.
pytestmark = pytest.mark.usefixtures("as_users_run_it")

SCHEMAS = [
    Schema(("x", "z", "bp"), ("y", "a")),
    Schema(("x", "bp", "age"), ("action",), ("treat", "wait", 3)),
]
VALID = [
    "if -0.3 <= x <= 0.3 then 2.5 <= y <= 3",
    "gap: if -1 <= x <= 1 then not (-5 <= y <= 3) [strength=100, points=7]",
    "if -5 <= x <= -3 then y ~ Normal(5 - x, 0.5) [weight=3]",
    "if 0 <= x <= 1 then y ~ 0.5*Normal(x, 1) + 0.5*Normal(-x, 2e-1) [per=region]",
    "low pressure: if bp < 65 then action in {treat} [sampler=like-data, allowed=2]",
    'if age > 70 then action not in {wait, 3, "wait and see"}',
    "a >= 0 and a + 2*y <= 3.1 [tau0=3, tau1=1, literal=yes]",
    "either y > 0 or (if a > exp(x) then not a < max(x, z, -2 ** x))",
    "if x ≤ 1 or `bp` ≥ 2 then abs(y) / sqrt(z ^ 2 + 1) < log(3)",
    "if 0 <= x <= 9 then d(y, x) >= 0 and d(y, x, x) <= 1",
    "y rises with x",
]
PIECES = [
    *KEYWORDS, *FUNCTIONS, *OPTIONS, *"+-*/()[]{},~=<>≤≥−×^`\"'\\:;.&|!%@#\n\t\0é🎈",  # noqa: RUF001
    *("**", "<=", ">=", "==", "x", "y", "bp", "action", "Normal(", "if ", " then "),
    *("0", "1e308", "1e999", ".5", "1.", "-", "9" * 400, "((", "))", " and "),
    *(" or not ", "d(", "either ", "rises with", "{treat}", "[points=3]"),
    *("name: ", "\ud800", "  "),
]  # fmt: skip


def texts(rng, count):
    for _ in range(count):
        if rng.random() < 0.7:
            yield changed_text(rng, rng.choice(VALID), rng.choice(VALID), PIECES)
        else:
            length = rng.choice((1, 5, 20, 20, 60, 400))
            yield rng.choice(("", " ")).join(rng.choices(PIECES, k=length))


def check(text):
    rule = answered(lambda: parse_rule(text), text)
    if rule is None:
        return False
    assert answered(lambda: parse_rule(str(rule)), text) == rule
    for schema in SCHEMAS:
        answered(lambda schema=schema: bind(rule, schema), text)
    return True


def run(seed, count):
    rng = random.Random(seed)
    read = sum(check(text) for text in texts(rng, count))
    # Enough are rules for the other half of the machinery to be tried as well.
    assert read > count / 100


@pytest.mark.parametrize(("seed", "count"), QUICK)
def test_text_that_is_almost_a_rule_is_answered(seed, count):
    run(seed, count)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "count"), FULL)
def test_a_hundred_thousand_texts_are_answered(seed, count):
    run(seed, count)


LONG = 3000


@pytest.mark.parametrize(
    "text",
    [
        "(" * LONG, "not " * LONG, "-" * LONG + "x", "x" + "**x" * LONG + " < y",
        "y < " + "(" * LONG + "x" + ")" * LONG, "exp(" * LONG, "either " * LONG,
        "y < x" + " + x" * LONG, "y < 1" + " and y < 1" * (LONG // 2), "`" * 2 * LONG,
        "y" + " <= y" * LONG, "y in {" + "a, " * LONG, "\\" * LONG, '"' + "\\" * LONG,
        "y ~ Normal(x, 1)" + " + Normal(x, 1)" * (LONG // 4), " " * 5 * LONG,
        "(if y > 0 then " * LONG, "d(" * LONG, "9" * 5 * LONG, "1e" + "9" * LONG,
        "y < " + "max(" + "x, " * LONG + "x)", "a" * LONG + ": y < 1", "y < 1 [" * LONG,
    ],
    ids=range(23),
)  # fmt: skip
def test_very_long_and_very_deep_texts_are_answered(text):
    check(text)


@pytest.mark.parametrize("joiner", ["and", "or"])
def test_alternatives_that_multiply_are_refused_and_not_multiplied(joiner):
    other = "or" if joiner == "and" else "and"
    part = f" {joiner} ".join(f"(y < {i} {other} a > {i})" for i in range(200))
    check(part)
    check(f"not ({part})")
    check(f"if {part.replace('y', 'x').replace('a', 'z')} then y < 1")
