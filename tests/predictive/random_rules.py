"""Texts of random rules, and rows that lie on their edges as often as not."""

import numpy as np
from hypothesis import strategies as st

# Few numbers, some of which are not exact in binary, so that edges meet.
GRID = [-2.0, -1.0, -0.5, -0.3, 0.0, 0.1, 0.3, 0.5, 1.0, 2.0]
numbers = st.sampled_from(GRID)
factors = st.sampled_from([-3.0, -1.0, 0.1, 0.7, 1.0, 3.0])
signs = st.sampled_from(["<", "<=", ">", ">="])


def said(template, *parts):
    return st.tuples(*parts).map(lambda values: template.format(*values))


of_y = st.one_of(
    said("y {} {}", signs, numbers),
    said("{} * y {} {} * x + {}", factors, signs, factors, numbers),
    said("not ({} <= y < {})", numbers, numbers),
)
of_z = st.one_of(said("{} < z", numbers), said("x * z {} {}", signs, numbers))
tied = st.one_of(
    said("{} * y + {} * z {} {}", factors, factors, signs, numbers),
    said("abs(y) <= {}", st.sampled_from([0.1, 0.5, 2.0])),
    said("y * y + z {} {}", signs, numbers),
)


def claims(leaves):
    return st.one_of(
        leaves,
        said("({}) and ({})", leaves, leaves | of_z),
        said("({}) or ({})", leaves, leaves),
        said("(if t > 0 then ({}))", leaves),
    )


regions = st.one_of(
    said("{} <= x < {}", st.just(-1.0), st.sampled_from([0.5, 1.0])),
    said("x {} {}", signs, numbers),
    said("x + t {} {}", signs, numbers),
    said("(x <= {} or t > {})", numbers, numbers),
)
apart_rules = st.lists(
    said("if {} then {}", regions, claims(of_y)), min_size=1, max_size=2
)
tied_rules = st.lists(
    said("if {} then {}", regions, claims(of_y | of_z | tied)), min_size=1, max_size=2
)
class_rules = st.lists(
    said(
        "if {} then y in {{{}}}",
        regions,
        st.sampled_from(["a", "b", "a, b", "b, c", "a, c"]),
    ),
    min_size=1,
    max_size=3,
)


def rows(seed, count=24):
    """Rows of two inputs, the first third on the grid that rules are made of."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0.0, 1.5, (count, 2))
    X[: count // 3] = rng.choice(GRID, (count // 3, 2))
    return X
