"""The soft indicator is told how large its argument naturally is."""

import jax.numpy as jnp
import numpy as np
import pytest

from tests.priors.terms import BOX, log_g, some_values, term_of
from tests.reference import sigma

SCALE = np.array([3.0, 0.5, 100.0])


def scales(text, reference=None, scale=SCALE):
    rows = None if reference is None else jnp.asarray(reference)
    term = term_of(f"{BOX} {text}", reference=rows, output_scale=jnp.asarray(scale))
    return [[float(s) for s in atoms] for atoms in term.scales]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y0 > 1", 3.0),
        ("y1 > 1", 0.5),
        ("2*y0 > 1", 6.0),
        ("y0 + y1 > x0", np.hypot(3.0, 0.5)),
        ("y2 - 4*y0 > exp(x1)", np.hypot(100.0, 12.0)),
    ],
)
def test_a_linear_claim_is_measured_in_scales_of_its_outputs(text, expected, float64):
    assert scales(text) == [[pytest.approx(expected)]]


def test_a_curved_claim_is_measured_by_its_slope_at_typical_outputs(float64):
    _, ys = some_values(30)
    expected = np.sqrt(np.mean((3.0 * 2 * ys[:, 0]) ** 2))
    assert scales("y0^2 < 4", ys) == [[pytest.approx(expected)]]


def test_outputs_without_a_slope_do_not_spoil_the_scale(float64):
    # log y has an infinite slope at 0 and none below.
    ys = np.array([[0.0, 0, 0], [-1.0, 0, 0], [2.0, 0, 0]])
    assert scales("log(y0) < 4", np.abs(ys[[0, 2]])) == [[pytest.approx(1.5)]]
    assert np.isfinite(scales("sqrt(y0) < 4", ys)).all()


def test_a_claim_without_any_slope_is_left_as_it_is(float64):
    assert scales("y0^2 < 4", np.zeros((3, 3))) == [[1.0]]


def test_without_output_scales_the_density_is_the_papers(float64):
    xs, ys = some_values()
    expected = -10_000 * sigma(5 * ys[:, 0] - 1).mean()
    assert log_g(term_of(f"{BOX} 5*y0 > 1 [form=indicator]"), xs, ys) == pytest.approx(
        expected
    )


def test_the_argument_of_the_soft_indicator_is_divided_by_its_scale(float64):
    xs, ys = some_values()
    text = f"{BOX} y0 > 1 [form=indicator]"
    term = term_of(text, output_scale=jnp.asarray(SCALE))
    expected = -10_000 * sigma((ys[:, 0] - 1) / 3.0).mean()
    assert log_g(term, xs, ys) == pytest.approx(expected)


def test_a_tolerance_is_a_share_of_the_scale_unless_it_is_written(float64):
    xs, ys = some_values()
    # A wider tolerance than the usual does not set the edge further inwards.
    cases = [("", 0.09, 0.18), (" [tolerance=0.02]", 0.02, 0.04)]
    cases += [(" [tolerance=0.2]", 0.2, 0.18)]
    for text, tolerance, margin in cases:
        term = term_of(f"{BOX} y0 > 1{text}", output_scale=jnp.asarray(SCALE))
        short = np.maximum(margin - (ys[:, 0] - 1), 0) / tolerance
        expected = -0.5 * np.sum(short**2)
        assert log_g(term, xs, ys) == pytest.approx(expected)


def test_multiplying_a_claim_by_a_number_changes_nothing(float64):
    xs, ys = some_values()
    one = term_of(f"{BOX} y0 + x0 > 1", output_scale=jnp.asarray(SCALE))
    two = term_of(f"{BOX} 1000*y0 + 1000*x0 > 1000", output_scale=jnp.asarray(SCALE))
    assert log_g(one, xs, ys) == pytest.approx(log_g(two, xs, ys), rel=1e-9)
