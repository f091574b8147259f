"""Rules as terms, made in one line for tests."""

import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.priors import make_term
from ocbnn.rules import Schema, bind, parse_rule

REAL = Schema(("x0", "x1"), ("y0", "y1", "y2"))
CLASSES = Schema(("x0", "x1"), ("y",), ("a", "b", "c"))
BOX = "if -1 <= x0 <= 1 and 0 <= x1 <= 2 then"


def term_of(rule, schema=REAL, seed=0, **options):
    """The term of a rule given as text or object."""
    rule = parse_rule(rule) if isinstance(rule, str) else rule
    return make_term(bind(rule, schema), jax.random.key(seed), **options)


def some_values(count=11, seed=0, width=3):
    """Inputs in the box and outputs of order one."""
    rng = np.random.default_rng(seed)
    xs = rng.uniform([-1, 0], [1, 2], (count, 2))
    return xs, rng.normal(size=(count, width))


def log_g(term, xs, ys):
    """The term's log density for given values at given points."""
    return float(term.log_g(jnp.asarray(xs), jnp.asarray(ys), lambda x: x))
