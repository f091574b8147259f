"""Densities of rules about slopes, against finite differences in double precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from ocbnn.core.slopes import slopes_at
from tests.priors.terms import BOX, some_values, term_of
from tests.reference import mlp, sigma

RNG = np.random.default_rng(5)
LAYERS = [
    (RNG.normal(size=(2, 6)), RNG.normal(size=6)),
    (RNG.normal(size=(6, 3)), RNG.normal(size=3)),
]
XS, _ = some_values(9)
STEP = 1e-4


def function(x):
    """The same network for JAX, at one point."""
    (inner, shift), (outer, base) = jax.tree.map(jnp.asarray, LAYERS)
    return jnp.exp(-((x @ inner + shift) ** 2)) @ outer + base


def along(*columns, xs=XS):
    """Derivatives of all outputs by central differences, again and again."""
    if not columns:
        return mlp(LAYERS, xs)
    *rest, last = columns
    step = STEP * np.eye(2)[last]
    return (along(*rest, xs=xs + step) - along(*rest, xs=xs - step)) / (2 * STEP)


def log_g(text, **options):
    term = term_of(f"{BOX} {text}", **options)
    ys = jnp.asarray(mlp(LAYERS, XS))
    return float(term.log_g(jnp.asarray(XS), ys, function))


def test_slopes_are_those_of_finite_differences(float64):
    alongs = [(0,), (1,), (0, 1), (1, 1)]
    at_all = jax.vmap(lambda x: slopes_at(function, x, alongs))(jnp.asarray(XS))
    for columns in alongs:
        np.testing.assert_allclose(at_all[columns], along(*columns), atol=1e-5)


def test_a_required_slope_forbids_what_lies_below(float64):
    expected = -10_000 * sigma(along(0)[:, 1] - 0.3).mean()
    assert log_g("d(y1, x0) >= 0.3 [form=indicator]") == pytest.approx(
        expected, rel=1e-5
    )


def test_slopes_values_and_inputs_enter_one_claim_as_written(float64):
    z = along(0)[:, 1] * XS[:, 1] - along(1, 1)[:, 0] / 2 + along()[:, 2]
    both = sigma(z) * sigma(-along(1)[:, 2])
    text = "not (d(y1, x0)*x1 - d(y0, x1, x1)/2 <= -y2 and d(y2, x1) >= 0)"
    assert log_g(f"{text} [strength=7]") == pytest.approx(-7 * both.mean(), rel=1e-5)


def test_a_slope_may_be_expected(float64):
    expected = norm.logpdf(along(1)[:, 0] - along(0)[:, 0], XS[:, 0], 0.4).sum()
    text = "d(y0, x1) - d(y0, x0) ~ Normal(x0, 0.4)"
    assert log_g(text) == pytest.approx(expected, rel=1e-6)


SCALES = {
    "output_scale": np.array([3.0, 0.5, 100.0]),
    "input_scale": np.array([10.0, 0.1]),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("d(y0, x0) > 1", 0.3),
        ("d(y1, x1) > 1", 5.0),
        ("d(y1, x1, x1) > 1", 50.0),
        ("d(y1, x0, x1) > 1", 0.5),
        ("d(y0, x0) > 4*y1", np.hypot(0.3, 2.0)),
        ("d(y0, x0)^2 < 4", 2 * 0.3**2),
        ("d(y0, x0)*d(y1, x1) < 4", np.sqrt(2) * 0.3 * 5.0),
        ("d(y0, x0) > d(y1, x1)", np.hypot(0.3, 5.0)),
    ],
)
def test_a_slope_is_measured_in_output_scales_per_input_scale(text, expected, float64):
    options = {key: jnp.asarray(scale) for key, scale in SCALES.items()}
    term = term_of(f"{BOX} {text}", reference=jnp.ones((4, 3)), **options)
    assert [[float(s) for s in atoms] for atoms in term.scales] == [
        [pytest.approx(expected)]
    ]


def test_the_soft_indicator_is_told_the_scale_of_a_slope(float64):
    options = {key: jnp.asarray(scale) for key, scale in SCALES.items()}
    expected = -10_000 * sigma((along(1)[:, 1] - 0.3) / 5.0).mean()
    result = log_g("d(y1, x1) >= 0.3 [form=indicator]", **options)
    assert result == pytest.approx(expected, rel=1e-5)


def test_rules_without_slopes_never_ask_for_the_function(float64):
    def never(x):
        raise AssertionError

    ys = jnp.asarray(mlp(LAYERS, XS))
    term = term_of(f"{BOX} y0 >= 0.3")
    assert np.isfinite(float(term.log_g(jnp.asarray(XS), ys, never)))
