"""Small targets of every kind, for tests."""

import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.networks import MLP
from ocbnn.posterior import Categorical, GaussianNoise, Target
from ocbnn.priors import WeightPrior, make_term
from ocbnn.rules import Schema, bind, custom, inputs, parse_rule

X1 = np.array([-2, -1.8, -1, 1, 1.8, 2])[:, None]
Y1 = -(X1**4) + 3 * X1**2 + 1
PLANE, LINE = Schema(("x0", "x1"), ("y0", "y1")), Schema(("x",), ("y",))
CLASSES = Schema(("x0", "x1"), ("y",), ("a", "b", "c"))
BOX = "if 1 <= x0 <= 3 and -2 <= x1 <= 0 then"

RULES = {
    "require": f"{BOX} -0.5 <= y0 <= 0.5 [strength=20]",
    "forbid": f"{BOX} not (-1 <= y0 <= 1 and y1 <= y0^2) [strength=20]",
    "slope": f"{BOX} d(y0, x1) >= 0.1*y1 or d(y1, x0, x1) < 0 [strength=20]",
    "expect": f"{BOX} y0 - y1 ~ Normal(x0*x1, 0.5)",
    "mixture": f"{BOX} y0 ~ 0.3*Normal(x0, 0.5) + 0.7*Normal(-x1, 1)",
    "region": f"{BOX} y0 ~ 0.3*Normal(x0, 5) + 0.7*Normal(-x1, 9) [per=region]",
    "custom": custom(
        lambda xs, ys: -jnp.sum(xs[:, 0] * jnp.sin(ys[:, 1])),
        inputs("x0").between(1, 3) & inputs("x1").between(-2, 0),
    ),
}


def at(target, seed=0):
    """Some position, made without compiling anything."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(
        lambda a: jnp.asarray(rng.normal(size=a.shape)), target.shapes()
    )


def terms(rules, schema, seed=0):
    keys = jax.random.split(jax.random.key(seed), max(1, len(rules)))
    made = [parse_rule(r) if isinstance(r, str) else r for r in rules]
    pairs = zip(made, keys, strict=False)
    return tuple(make_term(bind(rule, schema), key) for rule, key in pairs)


def fig1_left(rule="gap: if -0.3 <= x <= 0.3 then 2.5 <= y <= 3", **options):
    """The paper's first figure: ten RBF units, weights N(0, 1), noise 0.1."""
    return Target(
        MLP(1, (10,), 1),
        WeightPrior(),
        GaussianNoise.fixed(0.1),
        terms([rule], LINE),
        jnp.asarray(X1, float),
        jnp.asarray(Y1, float),
        **options,
    )


def regression(*rules, seed=0, noise=None, rows=12, **options):
    """Two inputs and outputs, noise inferred, and the named rules."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(2, rows, 2))
    return Target(
        MLP(2, (4, 3), 2, "tanh"),
        WeightPrior("fan-in", 1.5),
        noise or GaussianNoise.inferred(0.3, outputs=2),
        terms([RULES.get(rule, rule) for rule in rules], PLANE),
        jnp.asarray(X, float),
        jnp.asarray(Y, float),
        **options,
    )


def classification(rule=f"{BOX} y in {{b}}", **options):
    """Three classes in the plane."""
    rng = np.random.default_rng(0)
    return Target(
        MLP(2, (4,), 3),
        WeightPrior(),
        Categorical(),
        terms([rule], CLASSES),
        jnp.asarray(rng.normal(size=(9, 2)), float),
        jnp.asarray(rng.integers(3, size=9), jnp.int32),
        **options,
    )


EVERY = {
    **{name: lambda name=name: regression(name) for name in RULES},
    "classes": classification,
    "no rule": regression,
    "fig1-left": fig1_left,
}
