"""The same data and rule in other units give the same posterior."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.core.units import Units
from ocbnn.errors import SettingError
from ocbnn.networks import MLP
from ocbnn.posterior import Categorical, GaussianNoise, Target
from ocbnn.priors import WeightPrior, make_term
from ocbnn.rules import Schema, bind, parse_rule
from tests import reference
from tests.posterior.targets import at

RNG = np.random.default_rng(0)
X = RNG.uniform([0.0, 100.0], [2.0, 300.0], (30, 2))
Y = np.stack([3 + X[:, 0], 0.02 * X[:, 1] - X[:, 0] ** 2], axis=1)
SCHEMA = Schema(("h", "t"), ("a", "b"))
WHERE_MOVED = "if {0} <= h <= {2} and {100} <= t <= {300} then"
WHERE = "if 0 <= h <= 2 and 100 <= t <= 300 then"


def target(rules, X, Y, schema=SCHEMA):
    """As the estimators build it: standard units inside, a person's units outside."""
    classes = schema.classes
    outputs = len(schema.outputs) if classes is None else len(classes)
    units = Units.of(X, Y if classes is None else None, outputs)
    known = {"rows": X, "reference": Y if classes is None else None, "units": units}
    terms = tuple(
        make_term(bind(parse_rule(rule), schema), jax.random.key(0), **known)
        for rule in rules
    )
    return Target(
        MLP(2, (5,), outputs),
        WeightPrior("fan-in"),
        Categorical() if classes else GaussianNoise.inferred(0.1, outputs),
        terms,
        jnp.asarray(units.standard_inputs(X)),
        jnp.asarray(Y if classes else units.standard_outputs(Y)),
        units,
    )


def shares(made, count=6):
    """Every part of the density, at some positions."""
    stacked = jax.tree.map(
        lambda *a: jnp.stack(a), *(at(made, s) for s in range(count))
    )
    parts = jax.jit(jax.vmap(made.parts))(stacked)
    return {name: np.asarray(values) for name, values in parts.items()}


# Metres and minutes, and the same in millimetres and seconds: h and both outputs are
# lengths, t is a time.
RULES = {
    "a >= 4": "a >= 4000",
    "2.5 <= a <= 4 or b > 3": "2500 <= a <= 4000 or b > 3000",
    "not (a <= 4 and b >= 2)": "not (a <= 4000 and b >= 2000)",
    "a <= b + 2*h": "a <= b + 2*h",
    "a*b <= 7": "a*b <= 7000000",
    "a >= 0.02*t": "a >= (1/3)*t",
    "a^2 + b^2 <= 25": "a^2 + b^2 <= 25000000",
    "sqrt(a) <= 2": "sqrt(a) <= 63.245553203367585",
    "d(a, h) >= 0.5": "d(a, h) >= 0.5",
    "d(a, t) <= 0.006": "d(a, t) <= 0.1",
    "d(a, h, t) >= 0.006 or b > 3": "d(a, h, t) >= 0.0001 or b > 3000",
    "d(b, t)^2 <= 0.0009 + 0.0001*a*d(b, h, h)": (
        "d(b, t)^2 <= 0.25 + a*d(b, h, h)/36"
    ),
    "d(b, t) ~ Normal(0.003*h, 0.02)": (
        "d(b, t) ~ Normal(0.00005*h, 0.3333333333333333)"
    ),
    "a ~ Normal(3 + h, 0.5)": "a ~ Normal(3000 + h, 500)",
    "b ~ 0.3*Normal(h, 0.5) + 0.7*Normal(2, 1)": (
        "b ~ 0.3*Normal(h, 500) + 0.7*Normal(2000, 1000)"
    ),
}


def test_rules_mean_the_same_in_metres_and_in_millimetres(float64):
    one = target([f"{WHERE} {rule}" for rule in RULES], X, Y)
    where = "if 0 <= h <= 2000 and 6000 <= t <= 18000 then"
    two = target([f"{where} {rule}" for rule in RULES.values()], X * [1e3, 60], Y * 1e3)
    pairs = zip(shares(one).items(), shares(two).values(), strict=True)
    for (name, metres), millimetres in pairs:
        # A density of lengths is a thousandth as high in millimetres: one constant.
        gap = metres - millimetres
        np.testing.assert_allclose(gap, gap[0], atol=1e-6, err_msg=name)
        assert np.ptp(metres) > 1, name


def test_a_class_rule_does_not_depend_on_the_units_of_inputs(float64):
    schema = Schema(("h", "t"), ("y",), ("low", "high"))
    classes = (Y[:, 1] > Y[:, 1].mean()).astype(int)
    rule = "if 0 <= h <= {top} and 100 <= t <= 300 then y in {{low}}"
    one = target([rule.format(top=2)], X, classes, schema)
    two = target([rule.format(top=2000)], X * [1e3, 1], classes, schema)
    for ours, theirs in zip(shares(one).values(), shares(two).values(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_shifting_the_zero_of_a_column_changes_nothing(float64):
    # Degrees Celsius and kelvins.
    shift = np.array([273.0, 0.0])
    one = target([f"{WHERE} a >= 4"], X, Y)
    where = "if 273 <= h <= 275 and 100 <= t <= 300 then"
    two = target([f"{where} a >= 277"], X + shift, Y + shift)
    for ours, theirs in zip(shares(one).values(), shares(two).values(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)


def test_rules_are_felt_in_a_persons_units(float64):
    density = target([f"{WHERE} a >= 4 [form=indicator]"], X, Y)
    position = at(density)
    f = density.function(position)
    x = np.array([1.0, 200.0])
    inner = reference.mlp(position.weights, density.units.standard_inputs(x))
    outer = density.units.outputs(inner)
    np.testing.assert_allclose(f(jnp.asarray(x)), outer, rtol=1e-12)
    (term,) = density.rules
    inside = jax.vmap(f)(jnp.asarray(term.places))[:, 0]
    expected = -10_000 * reference.sigma((inside - 4) / Y[:, 0].std()).mean()
    share = jax.jit(density.parts)(position)[f"rule {term.bound.name!r}"]
    np.testing.assert_allclose(share, expected, rtol=1e-9)


def test_years_as_inputs_are_felt_to_the_day_in_single_precision():
    years = 2019 + X[:, :1]
    schema = Schema(("year",), ("a", "b"))
    units = Units.of(years, Y, 2)
    rule = "if 2019.5 <= year <= 2019.6 then a >= 4 [points=30]"
    term = make_term(bind(parse_rule(rule), schema), jax.random.key(0), units=units)
    assert len(np.unique(term.points)) == 30
    lower, upper = term.places.min(), term.places.max()
    np.testing.assert_allclose([lower, upper], [2019.5, 2019.6], atol=1e-6)


def test_a_rule_made_for_other_units_is_refused():
    density = target([f"{WHERE} a >= 4"], X, Y)
    with pytest.raises(SettingError, match=r"a >= 4.*make_term\(\.\.\., units=units\)"):
        dataclasses.replace(density, units=None)


OFFSETS = {"Julian days": 2460000.0, "Unix seconds": 2.0**31, "1e9": 1e9, "1e12": 1e12}
# Numbers in braces are places, which move with the data; all others stay.
SHIFTED = [
    "a >= {4}",
    "{2.5} <= a <= {4} or b > {3}",
    "a - b <= 2*(h - {1})",
    "max(a, b) <= {4.25}",
    "exp(a - {3}) <= 4 + (t - {200})^2/100",
    "a ~ Normal({3} + (h - {0})^2, 0.5)",
    "b ~ 0.25*Normal(h, 0.5) + 0.75*Normal({2}, 1)",
    "d(a, h) >= 0.5 or b > {3}",
]


@pytest.mark.parametrize("offset", OFFSETS.values(), ids=OFFSETS)
def test_rules_far_from_zero_are_those_near_it(offset):
    # Numbers that both floats hold, so that nothing is lost before it begins.
    x, y = (np.round(table * 64) / 64 for table in (X, Y))

    def moved(by):
        said = [f"r{at}: {WHERE_MOVED} {rule}" for at, rule in enumerate(SHIFTED)]
        add = lambda found: f"{float(found[1]) + by:.17g}"
        texts = [re.sub(r"\{([\d.]+)\}", add, text) for text in said]
        return target(texts, x + by, y + by)

    near, far = moved(0.0), moved(offset)
    for one, two in zip(jax.tree.leaves(near), jax.tree.leaves(far), strict=True):
        if getattr(one, "dtype", None) == jnp.float32:
            np.testing.assert_array_equal(one, two)
    ours, theirs = shares(near), shares(far)
    for name, share in ours.items():
        np.testing.assert_array_equal(share, theirs[name], err_msg=name)
        assert np.ptp(share) > 0, name
