"""Draws handed to ArviZ, whichever generation of it is installed."""

import json
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from ocbnn import NUTS, SVGD, OCBNNClassifier, OCBNNRegressor
from ocbnn.errors import MissingPackageError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it announces its own next generation
    import arviz as az

# ArviZ warns about few draws, about what never changes, and about its own future.
pytestmark = pytest.mark.filterwarnings("ignore")

x = np.linspace(-2.0, 2.0, 12)
DATA = pd.DataFrame(
    {"dose": x, "effect": np.sin(x)}, index=[f"p{i}" for i in range(12)]
)
PLAN = NUTS(chains=2, warmup=100, draws=60, max_depth=4)


@pytest.fixture(scope="module")
def model():
    rule = "cap: if 1 <= dose <= 2 then effect <= 0.9"
    fitted = OCBNNRegressor(rule, hidden=(3,), inference=PLAN, random_state=0)
    return fitted.fit(DATA[["dose"]], DATA["effect"])


@pytest.fixture(scope="module")
def data(model):
    return model.to_arviz()


def test_every_group_has_its_names_shapes_and_coordinates(model, data):
    posterior = data["posterior"]
    assert posterior["f"].dims == ("chain", "draw", "dose")
    assert posterior["f"].shape == (2, 60, 20)
    assert posterior["violation"].sel(rule="cap").shape == (2, 60)
    assert float(posterior["log_g"].max()) <= 0
    assert posterior["noise"].shape == (2, 60)
    stats = data["sample_stats"]
    names = {"lp", "acceptance_rate", "diverging", "energy", "n_steps", "step_size"}
    assert names <= set(stats)
    assert stats["diverging"].dtype == bool
    assert np.allclose(stats["lp"], model.draws_.stats["logdensity"], rtol=1e-3)
    assert data["log_likelihood"]["effect"].dims == ("chain", "draw", "row")
    assert data["observed_data"]["effect"].sel(row="p3") == pytest.approx(np.sin(x[3]))
    assert np.allclose(data["constant_data"]["dose"], x)
    attributes = posterior.attrs
    assert attributes["inference_library"] == "ocbnn"
    assert json.loads(attributes["settings"])["warmup"] == 100
    assert attributes["seed"] == "0"


def test_rules_of_a_projection_have_violations_and_no_share_of_the_density(model):
    moved = model.obey("cap: if 1 <= dose <= 2 then effect <= 0.8", refine=False)
    data = moved.to_arviz()
    assert "log_g" not in data["posterior"]
    assert data["posterior"]["violation"].sel(rule="cap").shape == (2, 60)
    parts = moved.log_density_parts(draws=120)
    mean = float(data["sample_stats"]["lp"].mean())
    assert mean == pytest.approx(parts["weights"] + parts["data"], rel=1e-4)


def test_values_are_those_of_the_draws(model, data):
    at = np.stack([np.asarray(data["posterior"]["dose"])], axis=1)
    functions = model.fitted_.predictive.functions(at)[..., 0]
    assert np.allclose(np.asarray(data["posterior"]["f"]).reshape(120, 20), functions)


def test_log_likelihoods_are_densities_in_the_users_units(model, data):
    mean = model.fitted_.predictive.functions(x[:, None])[..., 0]
    sd = model.noise_
    gap = (np.sin(x)[None] - mean) / sd
    expected = -0.5 * gap**2 - np.log(sd) - 0.5 * np.log(2 * np.pi)
    result = np.asarray(data["log_likelihood"]["effect"]).reshape(120, 12)
    assert np.allclose(result, expected, atol=1e-3)


def test_arviz_can_summarise_compare_and_draw_it(data):
    summary = az.summary(data, var_names=["f", "noise"])
    assert len(summary) == 21
    assert len(az.summary(data)) == 23  # with what each rule costs and how it holds
    left_out = az.loo(data)
    elpd = getattr(left_out, "elpd_loo", None)  # ArviZ 0.x
    assert np.isfinite(left_out.elpd if elpd is None else elpd)
    az.plot_trace(data, var_names=["noise"])


def test_inputs_and_weights_can_be_chosen(model):
    data = model.to_arviz(pd.DataFrame({"dose": [0.0, 1.5]}), weights=True)
    assert data["posterior"]["f"].shape == (2, 60, 2)
    assert data["posterior"]["dose"].values.tolist() == [0.0, 1.5]
    assert data["posterior"]["weights"].shape == (2, 60, 16)


@pytest.fixture(scope="module")
def clinic():
    """What a classifier with particles and two inputs hands over."""
    model = OCBNNClassifier(
        "if 3 <= age <= 4 and 9 <= draw <= 16 then y in {low} [weight=1]",
        hidden=(3,),
        inputs=["age", "draw"],
        inference=SVGD(particles=12, iterations=30),
        random_state=0,
    )
    labels = np.where(x > 0, "high", "low")
    return model.fit(np.stack([x, x**2], axis=1), labels).to_arviz()


def test_particles_and_classes_come_as_they_are(clinic):
    assert clinic["posterior"]["f"].shape[:2] == (1, 12)
    assert clinic["posterior"]["output"].values.tolist() == ["y = high", "y = low"]
    assert clinic["posterior"]["f"].dims == ("chain", "draw", "input", "output")
    assert clinic["observed_data"]["y"].values.tolist()[0] == "low"
    assert set(clinic["sample_stats"]) == {"lp"}


def test_several_inputs_are_labelled_by_their_values(clinic):
    assert clinic["posterior"]["input"].values[0] == "age=-2, draw=4"
    assert set(clinic["constant_data"]) == {"age", "input_draw", "reference_inputs"}


def test_without_arviz_the_error_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'ocbnn\[arviz\]'"):
        model.to_arviz()
