"""Compiled code sees the form of a rule, and its numbers are told apart."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.language.form import slotted_terms
from ocbnn.priors import alike, log_gs
from ocbnn.rules import Schema, bind
from tests.priors.terms import BOX, CLASSES, some_values, term_of

SAME = [
    ("y0 >= 1", "y0 >= -2.5 [tolerance=5]"),
    ("y0 >= 1 [strength=9]", "y0 >= -2.5 [strength=3, tau0=5]"),
    ("2 <= y0 <= 3", "1 <= y0 <= 7"),
    ("y0 + 2*x0 <= min(y1, 4)", "y0 + 3*x0 <= min(y1, 5)"),
    ("y0 ~ Normal(1, 2)", "y0 ~ Normal(5, 0.1)"),
    ("y0 ~ 0.5*Normal(1, 2) + 0.5*Normal(4, 2)",
     "y0 ~ 0.1*Normal(0, 1) + 0.9*Normal(3, 1)"),
    ("d(y0, x1) >= 2", "d(y0, x1) >= 1"),
    ("y0 ** 2 <= 4", "y0 ** 2 <= 9"),
]  # fmt: skip
DIFFERENT = [
    ("y0 >= 1", "y0 <= 1"),
    ("y0 >= 1", "y1 >= 1"),
    ("y0 >= 1", "y0 > 1"),
    ("y0 >= 1", "y0 >= 1 [form=indicator]"),
    ("y0 >= 1 [strength=5]", "y0 >= 1 [literal=yes]"),
    ("y0 >= 1", "y0 >= 1 [weight=3]"),
    ("y0 ** 2 <= 4", "y0 ** 3 <= 4"),
    ("y0 ~ Normal(1, 2)", "y0 ~ Normal(1, 2) [weight=3]"),
    ("y0 ~ Normal(1, 2)", "y0 ~ Normal(1, 2) [per=region]"),
]


def taken_out(text, schema):
    numbers = []
    return slotted_terms(bind(text, schema).claim.terms, numbers), numbers


def structure(text):
    return jax.tree.structure(term_of(f"{BOX} {text}"))


@pytest.mark.parametrize(("one", "two"), SAME)
def test_rules_that_differ_in_numbers_share_compiled_code(one, two):
    assert structure(one) == structure(f"{two}")
    assert hash(structure(one)) == hash(structure(two))


@pytest.mark.parametrize(("one", "two"), DIFFERENT)
def test_rules_of_another_form_do_not(one, two):
    assert structure(one) != structure(two)


def test_names_are_no_part_of_a_form():
    there = Schema(("a", "b"), ("p", "q", "r"))
    here, numbers = taken_out("y0 <= 3 * x1", Schema(("x0", "x1"), ("y0",)))
    assert taken_out("p <= 3 * b", there) == (here, numbers)
    assert numbers == [3.0]


def test_numbers_are_kept_in_the_order_of_their_slots():
    schema = Schema(("x",), ("y",))
    terms, numbers = taken_out("2*x - 3 <= y <= max(4, x) + 5", schema)
    texts = [str(atom) for term in terms for atom in term]
    assert texts == ["_ - (#0 * _ - #1) < 0", "max(#2, _) + #3 - _ < 0"]
    assert numbers == [2.0, 3.0, 4.0, 5.0]


@pytest.mark.usefixtures("float64")
def test_rules_computed_together_are_those_computed_alone():
    texts = ["y0 >= 1 [tau0=9]", "y1 ~ Normal(0, 2)", "y0 >= 3 [strength=7]", "y2 <= 1",
             "y1 ~ Normal(-1, 0.5)", "y0 >= -1 [tau1=1]", "y0 >= -2",
             "y0 >= 9 [tolerance=3]"]  # fmt: skip
    terms = [term_of(f"{BOX} {text}") for text in texts]
    laws = [term.law for term in terms]
    xs, ys = map(jnp.asarray, some_values(11))
    groups = alike(laws, [xs] * len(laws))
    assert groups == [[0, 2, 5], [1, 4], [3], [6, 7]]
    stack = lambda table: [jnp.stack([table] * len(group)) for group in groups]
    together = log_gs(laws, groups, stack(xs), stack(ys), lambda x: x)
    alone = [float(law.log_g(xs, ys, lambda x: x)) for law in laws]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_class_rules_share_code_and_keep_their_numbers():
    one = term_of(f"{BOX} y in {{a}}", CLASSES)
    two = term_of(f"{BOX} y in {{a}} [allowed=3, weight=2]", CLASSES)
    assert jax.tree.structure(one) == jax.tree.structure(two)
    np.testing.assert_allclose(one.law.density.alpha, [10, 0.01, 0.01], rtol=1e-6)
    np.testing.assert_allclose(two.law.density.alpha, [3, 0.01, 0.01], rtol=1e-6)
