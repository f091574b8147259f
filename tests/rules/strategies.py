"""Random rules for property tests.

The shape checker draws random numbers of its own, which hypothesis forbids inside
strategies; so strategies give plans, and the tests build them.
"""

import dataclasses

from hypothesis import strategies as st

from ocbnn.claims import Expect
from ocbnn.rules import (
    And,
    Binary,
    Call,
    Comparison,
    Membership,
    Name,
    Negate,
    Not,
    Number,
    Or,
    Rule,
    Slope,
)


@dataclasses.dataclass(frozen=True)
class Plan:
    make: object
    args: tuple


def plans(make, *args):
    return st.tuples(*args).map(lambda values: Plan(make, values))


def build(plan):
    """The object that a plan describes."""
    if isinstance(plan, Plan):
        return plan.make(*build(plan.args))
    return tuple(map(build, plan)) if isinstance(plan, tuple) else plan


NAMES = ["x", "y", "mean bp", "if", "exp", "Normal", "a`b", "été", "x.1", "d", "rises"]
numbers = plans(Number, st.floats(allow_nan=False, allow_infinity=False))
some_names = plans(Name, st.sampled_from(NAMES))
positives = st.floats(1e-6, 1e6)


def _grow_expression(inner):
    unary = st.sampled_from(["exp", "log", "sqrt", "abs", "sin", "cos", "tan", "tanh"])
    return st.one_of(
        plans(Negate, inner),
        plans(Binary, st.sampled_from(["+", "-", "*", "/", "**"]), inner, inner),
        plans(Call, unary, st.tuples(inner)),
        plans(Call, st.sampled_from(["min", "max"]), st.tuples(inner, inner)),
    )


slopes = plans(
    Slope, some_names, st.lists(some_names, min_size=1, max_size=2).map(tuple)
)
expressions = st.recursive(
    numbers | some_names | slopes, _grow_expression, max_leaves=6
)

labels = st.one_of(
    st.text(min_size=1, max_size=6),
    st.integers(-9, 9),
    st.floats(-9, 9),
    st.sampled_from(["true", "in", 'a"b', "\\", "exp", True]),
)
memberships = plans(
    Membership, some_names, st.lists(labels, min_size=1, max_size=3).map(tuple)
)


def comparisons(inner):
    return plans(Comparison, st.sampled_from(["<", "<=", ">", ">="]), inner, inner)


def conditions(leaves, max_leaves=6):
    def grow(inner):
        parts = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            plans(And, parts),
            plans(Or, parts),
            plans(Not, inner),
            plans(lambda a, b: a ^ b, inner, inner),
            plans(lambda a, b: a.implies(b), inner, inner),
        )

    return st.recursive(leaves, grow, max_leaves=max_leaves)


chains = plans(
    lambda a, y, b: Comparison("<=", a, y) & Comparison("<", y, b),
    expressions,
    expressions,
    expressions,
)
anything = conditions(comparisons(expressions) | memberships | chains)


def _mixtures(count):
    def several(each):
        return st.tuples(*[each] * count)

    weights = several(positives)
    return plans(Expect, expressions, several(expressions), several(positives), weights)


rules = plans(
    Rule,
    anything | st.integers(1, 3).flatmap(_mixtures),
    st.none() | anything,
    st.sampled_from([None, "low pressure", "a-1", "été_2"]),
    st.sampled_from(["soft", "firm"]) | positives,
    st.integers(1, 99),
    st.none() | positives,
    st.none() | positives,
    st.sampled_from([None, "indicator"]),
    positives,
    positives,
    st.sampled_from(["point", "region"]),
    st.tuples(positives, positives),
    st.booleans(),
    st.sampled_from([None, "like-data", "box"]),
)
