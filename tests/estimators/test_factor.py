"""Rules as a factor for models written elsewhere."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ocbnn
from ocbnn.errors import DataError

RULES = [
    "band: if 0 <= x <= 1 then 2 <= y <= 3",
    "rise: y rises with x [sampler=like-data]",
]
X = np.linspace(-1, 2, 30)[:, None]


def factor(**settings):
    return ocbnn.rule_factor(RULES, inputs=["x"], outputs=["y"], X=X, **settings)


def test_a_function_that_obeys_costs_nothing_and_one_that_does_not_costs_much():
    parts = factor().parts(lambda xs: 2.5 + 5.0 * (xs - 0.5))
    assert set(parts) == {"band", "rise"}
    assert abs(parts["rise"]) < 1e-3
    falls = lambda xs: 2.5 - 5.0 * (xs - 0.5)
    assert factor().parts(falls)["rise"] < -5
    assert np.isclose(factor()(falls), sum(factor().parts(falls).values()))


def test_it_is_the_same_term_as_that_of_a_model_with_the_same_points():
    model = factor(y=X[:, 0] ** 2)
    (band, _) = model.terms
    f = lambda xs: jnp.sin(3.0 * xs) + 2.0
    expected = band.log_g(band.points, f(band.points), lambda x: f(x[None])[0])
    assert model.parts(f)["band"] == expected


def test_a_key_places_fresh_points():
    f = lambda xs: 3.0 + xs
    one, other = (factor()(f, jax.random.key(seed)) for seed in (0, 1))
    assert one != other


def test_a_function_without_one_row_per_point_is_refused():
    with pytest.raises(DataError, match=r"write values\[:, None\]"):
        factor()(lambda xs: xs[:, 0])
    with pytest.raises(DataError, match="one column for each of 1 inputs"):
        ocbnn.rule_factor(RULES, inputs=["x"], outputs=["y"], X=np.zeros((3, 2)))
    with pytest.raises(DataError, match="give both, or neither"):
        ocbnn.rule_factor(RULES[0], inputs=["x"], outputs=["y"], y=[1.0])
