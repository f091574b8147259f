"""Far from zero all is as near it: with Julian dates, Unix seconds, billions."""

import re

import jax
import numpy as np
import pytest

import ocbnn

# So few draws are enough to be compared with others.
pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
RNG = np.random.default_rng(0)
# Numbers that both floats hold, so that nothing is lost before it begins.
X = np.round(RNG.uniform(0, 1, (20, 1)) * 1024) / 1024
Y = np.round((np.sin(6 * X[:, 0]) + 0.1 * RNG.normal(size=20)) * 256) / 256
FAR = {"Julian days": 2460000.0, "Unix seconds": 1.75e9, "1e9": 1e9, "1e12": 1e12}


SHORT = ocbnn.NUTS(chains=2, warmup=60, draws=60)


def fitted(x=0.0, y=0.0, where="{0} <= x <= {1}", inference=SHORT, **options):
    where = where.format(repr(x + 0.25), repr(x + 0.5), repr(x + 0.375))
    rules = [f"high: if {where} then y >= {y + 0.75!r}"]
    model = ocbnn.OCBNNRegressor(
        rules=rules,
        hidden=(5,),
        weight_prior="fan-in",
        noise=0.1,
        inference=inference,
        random_state=0,
        progress=False,
        **options,
    )
    return model.fit(X + x, Y + y)


@pytest.fixture(scope="module")
def near():
    return fitted()


@pytest.mark.parametrize("column", ["x", "y"])
@pytest.mark.parametrize("offset", FAR.values(), ids=FAR)
def test_the_same_problem_far_from_zero_has_the_same_draws(near, column, offset):
    far = fitted(**{column: offset})
    for one, two in zip(
        jax.tree.leaves(near.draws_.positions),
        jax.tree.leaves(far.draws_.positions),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)
    assert far.verdict_.status == near.verdict_.status
    assert far.check_rules()[0].violation == near.check_rules()[0].violation
    x, y = (offset, 0.0) if column == "x" else (0.0, offset)
    ends = np.array(near.predict_interval(X)), np.array(far.predict_interval(X + x)) - y
    np.testing.assert_allclose(ends[1], ends[0], atol=4 * np.spacing(offset))


def test_points_of_a_region_that_is_no_box_are_the_same_far_from_zero():
    # Each step draws others, so one that is rounded across the edge moves them all.
    svgd = ocbnn.SVGD(particles=8, iterations=60)
    near, far = (
        fitted(x, where="{0} <= x <= {1} and abs(x - {2}) >= 0.01", inference=svgd)
        for x in (0.0, 1e12)
    )
    np.testing.assert_array_equal(
        near.target_.rules[0].points, far.target_.rules[0].points
    )
    for one, two in zip(
        jax.tree.leaves(near.draws_.positions),
        jax.tree.leaves(far.draws_.positions),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)


def test_places_far_from_zero_are_told_with_the_digits_that_matter():
    model = fitted(x=1.75e9, y=1e12)
    never = "if 1750000000 <= x <= 1750000001 then y >= 2000000000000"
    text = str(ocbnn.certify(model, never))
    assert re.search(r"at x = 175000000[01](\.\d+)?\b", text)


def test_points_far_from_zero_do_not_collapse():
    model = fitted(x=2460000.0)
    (term,) = model.target_.rules
    assert len(np.unique(term.places)) == term.count == 50


def test_a_model_far_from_zero_is_saved_to_the_bit(tmp_path):
    model = fitted(x=2460000.0, y=1e12)
    model.save(tmp_path / "far.ocbnn")
    again = ocbnn.load(tmp_path / "far.ocbnn")
    new = 2460000.0 + X
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    assert again.log_density_parts() == model.log_density_parts()
    np.testing.assert_array_equal(
        again.target_.rules[0].places, model.target_.rules[0].places
    )
