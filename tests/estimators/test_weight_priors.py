"""Priors that are not normal, scales for each layer, and priors of one's own."""

import equinox as eqx
import jax
import numpy as np
import pytest
from sklearn.base import clone

import ocbnn
from ocbnn import (
    HMC,
    MCLMC,
    NUTS,
    SGHMC,
    SMC,
    SVGD,
    VI,
    Ensemble,
    Laplace,
    LayerScales,
    LearnedScales,
    OCBNNClassifier,
    OCBNNRegressor,
    StudentT,
    WeightPrior,
)
from ocbnn.errors import SettingError, StorageError
from ocbnn.storage import read_bundle, write_bundle
from tests.priors.own_priors import Columns, EachArray, Laplacian

pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (30, 2))
Y = np.sin(2 * X[:, 1]) + 0.05 * RNG.normal(size=30)
RULE = "cap: if -2 <= x1 <= 2 and -2 <= x0 <= 2 then y <= 3"
QUICK = SVGD(particles=4, iterations=2)
OWN = Laplacian()


def estimator(**settings):
    usual = {"hidden": (4,), "weight_prior": "student-t", "random_state": 0}
    return OCBNNRegressor(**{**usual, "inference": QUICK, **settings})


@pytest.mark.parametrize(
    "plan",
    [
        NUTS(chains=1, warmup=20, draws=5, climb=5, max_depth=3),
        HMC(chains=1, warmup=5, draws=5, steps=3, climb=5),
        MCLMC(chains=1, warmup=20, draws=5, thin=1, climb=5),
        SMC(particles=10, moves=1, steps=2, polish=1, chains=1),
        SGHMC(chains=1, warmup=5, draws=5, thin=1, climb=5),
        QUICK,
        VI(iterations=5, draws=5),
        VI(iterations=5, draws=5, local=True),
        Laplace(iterations=5, draws=5, chains=1),
        Ensemble(iterations=5),
    ],
    ids=lambda plan: plan.label + " local" * getattr(plan, "local", False),
)
def test_every_algorithm_takes_heavy_tails(plan):
    model = estimator(inference=plan).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()
    assert model.target_.weight_prior == StudentT()


@pytest.mark.parametrize(
    ("prior", "told"),
    [
        (StudentT(df=3), "prior student-t 0.5 with 3 degrees of freedom"),
        (
            LayerScales(weights=(1.0, 2.0)),
            "prior fan-in with scales of weights 0.5, 1 and of biases 0.5",
        ),
        (LearnedScales(biases=(1.0, 2.0)), "prior learned (scales of weights 0.5"),
        (WeightPrior("isotropic", 2.0), "prior isotropic 1"),
    ],
    ids=["Student-t", "layers", "learned", "normal"],
)
def test_a_prior_is_scaled_reported_and_comes_back_from_a_file(prior, told, tmp_path):
    model = clone(estimator(weight_prior=prior, weight_scale=0.5)).fit(X, Y)
    assert told in model.report().fitted["network"]
    model.save(tmp_path / "m")
    back = ocbnn.load(tmp_path / "m")
    assert back.weight_prior == prior
    assert back.target_.weight_prior == model.target_.weight_prior
    assert back.target_.network == model.target_.network
    assert back.log_density_parts() == model.log_density_parts()


def test_a_prior_of_ones_own_is_used_shown_and_handed_over_again(tmp_path):
    model = estimator(weight_prior=OWN, rules=RULE).fit(X, Y)
    assert model.target_.weight_prior == OWN
    assert "prior Laplacian" in model.report().fitted["network"]
    assert "weight_prior=Laplacian()" in repr(model)
    with pytest.raises(StorageError, match=r"weight_prior is Laplacian.*leave_out="):
        model.save(tmp_path / "m")
    model.save(tmp_path / "m", leave_out=["weight_prior"])
    back = ocbnn.load(tmp_path / "m", weight_prior=OWN)
    assert back.log_density_parts() == model.log_density_parts()
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


@pytest.mark.parametrize("field", [{"df": 0}, {"df": "4"}, {"scale": [1]}, 3])
def test_a_file_with_a_prior_that_cannot_be_is_refused(field, tmp_path):
    estimator().set_params(weight_prior=StudentT(df=3)).fit(X, Y).save(tmp_path / "m")
    bundle = read_bundle(tmp_path / "m")
    settings = bundle.document["settings"]
    assert settings["weight_prior"] == {"$student-t": {"df": 3, "scale": 1.0}}
    settings["weight_prior"] = {"$student-t": field}
    write_bundle(tmp_path / "broken", bundle.document, bundle.arrays)
    with pytest.raises(StorageError, match="cannot be loaded"):
        ocbnn.load(tmp_path / "broken")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"weight_prior": Columns()}, r"Columns must be structured .*network\.shapes"),
        ({"weight_prior": EachArray()}, "EachArray must be one number for all"),
        ({"weight_prior": OWN, "weight_scale": 2.0}, r"=2\.0 scales .*is Laplacian"),
        ({"weight_prior": StudentT}, r"not known.*student-t, or a prior such as"),
        ({"weight_prior": LayerScales((1.0,) * 3)}, "network has 2 layers with weight"),
        ({"weight_scale": 0.0}, "above zero, got 0.0. Write weight_scale"),
    ],
)
def test_a_prior_that_does_not_fit_is_refused_with_advice(settings, reason):
    with pytest.raises(SettingError, match=reason):
        estimator(**settings).fit(X, Y)


def test_a_network_of_ones_own_takes_heavy_tails():
    module = eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(0))
    model = estimator(network=module).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("prior", ["student-t", OWN], ids=["Student-t", "own"])
def test_class_rules_that_heavy_tails_do_not_outweigh_are_refused(prior):
    rule = "odd: if 3 <= x1 <= 4 then y in {{low}} [sampler=like-data, forbidden={}]"
    labels = np.where(X[:, 1] > 0, "high", "low")
    model = OCBNNClassifier(
        rule.format(0.01),
        hidden=(4,),
        weight_prior=prior,
        inference=QUICK,
        random_state=0,
    )
    with pytest.raises(SettingError, match=r"tails .*too heavy.*\[forbidden=1\]"):
        model.fit(X, labels)
    model.set_params(rules=rule.format(1)).fit(X, labels)
