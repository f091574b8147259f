"""The search for the worst input beats a fine grid, and never leaves the region."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.core.units import Units
from ocbnn.errors import RuleError, SettingError
from ocbnn.metrics import find_worst
from ocbnn.networks import MLP
from ocbnn.posterior import Categorical, GaussianNoise, Model
from ocbnn.predictive import Predictive
from ocbnn.priors import WeightPrior
from ocbnn.rules import Schema, custom, inputs
from tests.priors.terms import CLASSES, term_of

DRAWS = 24
LINE = Schema(("x0", "x1"), ("y",))
UNITS = Units(np.array([5.0, -1.0]), np.array([2.0, 0.1]), np.array([9.0]), np.ones(1))
BOX = "if 3 <= x0 <= 7 and -1.2 <= x1 < -0.8 then"
CUT = "if 3 <= x0 <= 7 and -1.2 <= x1 < -0.8 and x0 + 10*x1 <= -4 then"


def predictive(outputs=1, units=UNITS, scale=2.0):
    network, prior = MLP(2, (5,), outputs, "tanh"), WeightPrior("isotropic", scale)
    keys = jax.random.split(jax.random.key(0), DRAWS)
    weights = jax.vmap(lambda key: prior.sample(key, network))(keys)
    likelihood = GaussianNoise.fixed(0.3, 1) if outputs == 1 else Categorical()
    return Predictive(network, likelihood, Model(weights, {}), units)


def grid(term, side=60):
    ends = term.bound.region.box()
    axes = [np.linspace(low, high, side) for low, high in zip(*ends, strict=True)]
    points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    return points[term.bound.applies(points)]


@pytest.mark.parametrize(
    ("text", "slack"),
    [
        (f"{BOX} y >= 8", lambda y, x: y - 8),
        (f"{CUT} 6 <= y <= 12", lambda y, x: np.minimum(y - 6, 12 - y)),
        (f"{BOX} y ~ Normal(x0, 2)", lambda y, x: 2 - np.abs(y - x) / 2),
    ],
)
def test_no_point_of_a_fine_grid_is_worse_than_what_was_found(text, slack):
    draws, term = predictive(), term_of(text, LINE, units=UNITS)
    # From the usual 64 places, one draw in 150 ends on a slanted edge too early.
    worst = find_worst(draws, term, jax.random.key(1), starts=128)
    points = grid(term)
    values = draws.functions(points)
    seen = slack(values[..., 0], points[:, 0]).min(axis=1)
    assert (worst.slack <= seen + 1e-3).all()
    assert term.bound.applies(worst.points).all()
    assert (worst.broken == (worst.slack < 0)).all()
    broken = (~term.bound.holds(points, values)).any(axis=1)
    assert 0 < broken.sum() < DRAWS
    assert worst.broken[broken].all()


def test_slopes_are_searched_too():
    rule = f"{BOX} d(y, x0) >= -0.5"
    draws, term = predictive(), term_of(rule, LINE, units=UNITS)
    worst = find_worst(draws, term, jax.random.key(1), most=8)
    some, points = draws.thinned(8), grid(term, 20)
    slopes = some.slopes(points, [(0,)])[0,][..., 0]
    # The natural size of a slope is that of the output over that of the input.
    assert (0.5 * worst.slack <= slopes.min(axis=1) + 0.5 + 1e-3).all()


def test_a_class_is_worst_where_the_forbidden_logit_leads_most():
    draws = predictive(outputs=3, units=None)
    term = term_of("if -1 <= x0 <= 1 and 0 <= x1 <= 2 then y in {a, b}", CLASSES)
    worst = find_worst(draws, term, jax.random.key(1))
    logits = draws.functions(grid(term))
    lead = logits[..., :2].max(axis=-1) - logits[..., 2]
    assert (worst.slack <= lead.min(axis=1) + 1e-3).all()
    assert (worst.broken == (worst.slack < 0)).all()


def test_open_sides_end_where_the_rules_own_points_do():
    rows = np.random.default_rng(0).normal([5, -1], [2, 0.1], (50, 2))
    rule = "if x0 > 6 then y >= 8 [sampler=like-data]"
    term = term_of(rule, LINE, rows=rows, units=UNITS)
    worst = find_worst(predictive(), term, jax.random.key(1), rows=rows)
    assert term.bound.applies(worst.points).all()
    pool = UNITS.inputs(np.asarray(term.sampler.pool))
    assert (worst.points[:, 1] >= pool[:, 1].min() - 1e-6).all()
    assert (worst.points[:, 1] <= pool[:, 1].max() + 1e-6).all()


def test_a_custom_rule_has_no_worst_input():
    x = inputs("x0")
    where, log_g = x.between(0, 1), lambda xs, ys: jnp.sum(ys)
    for holds in (None, lambda xs, ys: ys[:, 0] > 0):
        own = custom(log_g, where, holds=holds, sampler="like-data")
        term = term_of(own, LINE, rows=np.full((3, 2), 0.5))
        with pytest.raises(RuleError, match=r"cannot be searched.* by how much"):
            find_worst(predictive(), term, jax.random.key(1))


def test_a_rule_for_other_units_than_the_draws_is_refused():
    with pytest.raises(SettingError, match=r"y >= 8.*units"):
        find_worst(predictive(), term_of(f"{BOX} y >= 8", LINE), jax.random.key(1))


def test_far_from_zero_the_same_depth_is_found():
    by, up = np.array([2460000.0, 2.0**31]), 2.0**30
    far = Units(UNITS.x_mean + by, UNITS.x_scale, UNITS.y_mean + up, UNITS.y_scale)
    box = "if {} <= x0 <= {} and {} <= x1 < {} and {}*(x0 - {}) + x1 - {} <= {}"
    rule = f"{box} then {{}} <= y <= {{}}"
    ends = np.array([3.0, 7.0, -1.25, -0.75])
    found = []
    for units, x, y in ((UNITS, 0 * by, 0.0), (far, by, up)):
        places = (ends + np.repeat(x, 2)).tolist()
        text = rule.format(*places, 0.125, *x.tolist(), -0.5, 6 + y, 12 + y)
        term = term_of(text, LINE, units=units)
        found.append(find_worst(predictive(units=units), term, jax.random.key(1)))
    near, away = found
    np.testing.assert_array_equal(near.broken, away.broken)
    # Walks from starts that are rounded differently end a little apart.
    np.testing.assert_allclose(away.slack, near.slack, atol=1e-3)
