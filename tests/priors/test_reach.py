"""Points that walk, against the same walk in double precision without JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.networks import MLP
from ocbnn.posterior import GaussianNoise, Target
from ocbnn.priors import WeightPrior
from ocbnn.priors.refined_terms import with_reach
from ocbnn.rules import Schema
from tests.priors.terms import BOX, some_values, term_of
from tests.reference import mlp

RNG = np.random.default_rng(3)
LAYERS = [
    (RNG.normal(size=(2, 6)), RNG.normal(size=6)),
    (RNG.normal(size=(6, 3)), RNG.normal(size=3)),
]
LOWER, UPPER = np.array([-1.0, 0.0]), np.array([1.0, 2.0])
XS, _ = some_values(12)
CUT = "if -1 <= x0 <= 1 and 0 <= x1 <= 2 and x0 + x1 <= 1.5 then"


def function(x):
    """The network of the reference, for JAX and at one point."""
    (inner, shift), (outer, base) = jax.tree.map(jnp.asarray, LAYERS)
    return jnp.exp(-((x @ inner + shift) ** 2)) @ outer + base


def slack(x):
    """Room below y0 <= 0.4, in double precision."""
    return 0.4 - mlp(LAYERS, x[None])[0, 0]


def walked(x, steps, inside=lambda x: True):
    """Where one point arrives: signs of central differences, and steps that shrink."""
    step = 0.2
    for _ in range(steps):
        slope = [slack(x + h) - slack(x - h) for h in 1e-5 * np.eye(2)]
        there = np.clip(x - step * (UPPER - LOWER) * np.sign(slope), LOWER, UPPER)
        if slack(there) < slack(x) and inside(there):
            x = there
        else:
            step *= 0.5
    return x


@pytest.mark.parametrize(
    ("region", "inside"),
    [
        (CUT, lambda x: x.sum() <= 1.5),
        pytest.param(BOX, lambda x: True, marks=pytest.mark.slow),
    ],
)
def test_points_arrive_where_the_same_walk_in_numpy_does(region, inside, float64):
    starts = np.array([x for x in XS if inside(x)])
    assert len(starts) > 6
    term = with_reach(term_of(f"{region} y0 <= 0.4"), 4)
    result = np.asarray(term.evaluation_points(jnp.asarray(starts), function))
    expected = np.array([walked(x, 4, inside) for x in starts])
    np.testing.assert_allclose(result, expected, atol=1e-12)
    assert (np.abs(result - starts).max(axis=1) > 0.05).mean() > 0.5
    assert all(inside(x) for x in result)


def test_a_rule_is_felt_where_its_points_arrive_and_so_is_its_slope(float64):
    network = MLP(2, (4,), 1, "tanh")
    term = with_reach(term_of(f"{BOX} y <= 0.1", Schema(("x0", "x1"), ("y",))), 3)
    prior, noise = WeightPrior("isotropic", 1.0), GaussianNoise.fixed(0.3, 1)
    target = Target(network, prior, noise, (term,))
    position = target.initial(jax.random.key(4))
    single = lambda x: network.apply(position.weights, x)
    places = term.evaluation_points(term.points, single)
    values = np.asarray(jax.vmap(single)(places), float)[:, 0]
    expected = -0.5 * (np.maximum(0.06 - (0.1 - values), 0) ** 2).sum() / 0.03**2
    assert expected < -1
    assert float(target.split(position)[1]) == pytest.approx(expected, rel=1e-6)
    # Places only jump, so between jumps the slope is that of finite differences.
    vector = np.asarray(target.ravel(position), float)
    density = jax.value_and_grad(lambda v: target.logdensity(target.unravel(v)))
    step = 1e-6 * np.eye(len(vector))
    around = np.concatenate([vector[None], vector + step, vector - step])
    result, slopes = map(np.asarray, jax.jit(jax.vmap(density))(jnp.asarray(around)))
    forward, backward = result[1:].reshape(2, -1)
    differences = (forward - backward) / 2e-6
    np.testing.assert_allclose(slopes[0], differences, rtol=1e-4, atol=1e-3)


@pytest.mark.slow
def test_a_violation_between_points_is_felt(float64):
    bump = lambda x: jnp.exp(-jnp.sum((x - jnp.array([0.3, 1.1])) ** 2) / 0.02)[None]
    schema = Schema(("x0", "x1"), ("y",))
    term = term_of(f"{BOX} y <= 0.5 [points=40, strength=100]", schema)
    away = np.abs(np.asarray(term.points) - [0.3, 1.1]).max(axis=1) > 0.15
    points = term.points[away]
    cost = lambda one: (
        -float(
            one.log_g(
                xs := one.evaluation_points(points, bump), jax.vmap(bump)(xs), bump
            )
        )
    )
    assert cost(term) < 0.1
    assert cost(with_reach(term, 6)) > 1.0


def test_what_has_no_edge_stays_where_it_is():
    expected = term_of(f"{BOX} y0 ~ Normal(0, 1)")
    assert with_reach(expected, 3).reach is None
    assert expected.evaluation_points(expected.points, function) is expected.points
