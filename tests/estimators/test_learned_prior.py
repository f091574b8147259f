"""A model with a learned prior is a model like any other, and knows what matters."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

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
    LearnedScales,
    OCBNNClassifier,
    OCBNNRegressor,
)
from ocbnn.errors import SettingError
from ocbnn.networks import ScaledNetwork
from tests.estimators.usual import CHAINS

pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (40, 3))
Y = np.sin(2 * X[:, 1]) + 0.05 * RNG.normal(size=40)
RULE = "cap: if -2 <= x1 <= 2 and -2 <= x0 <= 2 and -2 <= x2 <= 2 then y <= 3"


def estimator(**settings):
    usual = {"hidden": (5,), "weight_prior": "learned", "random_state": 0}
    return OCBNNRegressor(**{**usual, "inference": CHAINS, **settings})


@pytest.fixture(scope="module")
def model():
    return estimator(rules=RULE).fit(X, Y)


def test_relevance_finds_the_one_input_that_matters(model):
    relevance = model.relevance_
    assert relevance.inputs == ("x0", "x1", "x2")
    assert relevance.shares.shape == (200, 3)
    np.testing.assert_allclose(relevance.shares.sum(axis=1), 1)
    assert relevance.order[0] == 1
    assert relevance.median[1] > 0.5
    assert relevance.lower[1] > max(relevance.median[0], relevance.median[2])
    assert np.all(relevance.lower <= relevance.median)
    assert np.all(relevance.median <= relevance.upper)


def test_relevance_is_a_page_with_the_one_that_matters_most_first(model):
    lines = str(model.relevance_).split("\n")
    assert lines[0] == "Relevance of inputs (90 % intervals)"
    assert lines[1].startswith("  x1 ")
    assert len(lines) == 4
    told = model.relevance_.to_dict()
    assert told["x1"]["median"] == pytest.approx(model.relevance_.median[1])


def test_relevance_and_prior_are_in_the_report(model):
    report = model.report()
    assert report.fitted["network"].startswith("MLP 3-5-1, rbf: 26 weights, prior lear")
    assert report.fitted["relevance"].startswith("relevance of inputs: x1 ")
    assert "relevance of inputs: x1 " in " ".join(str(report).split())


def test_relevance_can_be_drawn_with_the_one_that_matters_most_on_top(model):
    ax = model.plot_relevance()
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0] == "x1"
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    mine = model.plot_relevance(ax=ax)
    assert mine is ax


def test_other_priors_know_no_relevance_and_say_what_to_write():
    other = estimator(weight_prior="fan-in", inference=SVGD(particles=4, iterations=2))
    other.fit(X, Y)
    assert other.relevance_ is None
    assert "relevance" not in other.report().fitted
    with pytest.raises(SettingError, match=r"fan-in 1\..*weight_prior=\"learned\""):
        other.plot_relevance()


def test_a_model_comes_back_to_the_bit(model, tmp_path):
    model.save(tmp_path / "m.ocbnn")
    back = ocbnn.load(tmp_path / "m.ocbnn")
    assert back.get_params() == model.get_params()
    for one, other in zip(
        *map(jax.tree.leaves, (back.draws_.positions, model.draws_.positions)),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    np.testing.assert_array_equal(back.relevance_.shares, model.relevance_.shares)
    assert back.log_density_parts() == model.log_density_parts()


def test_hyperpriors_of_ones_own_come_back_too(tmp_path):
    mine = LearnedScales(weights=2.0, relevance=0.5)
    plan = SVGD(particles=4, iterations=2)
    model = estimator(weight_prior=mine, weight_scale=0.5, inference=plan).fit(X, Y)
    model.save(tmp_path / "m")
    back = ocbnn.load(tmp_path / "m")
    assert back.weight_prior == mine
    assert back.target_.network == model.target_.network
    assert back.target_.network.hyper == LearnedScales(1.0, 0.5, mine.spread, 0.5)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


def test_predictions_are_those_of_the_density_that_was_drawn_from(model):
    xs = jnp.asarray(model.target_.units.standard_inputs(X[:5]), jnp.float32)
    some = jax.tree.map(lambda a: a[::50], model.draws_.stacked()).weights
    values = jax.vmap(lambda weights: model.target_.network.batch(weights, xs))(some)
    ours = model.fitted_.predictive.inner_functions(X[:5])[::50]
    np.testing.assert_allclose(ours, values, rtol=1e-3, atol=1e-4)


def test_draws_are_certified_and_proofs_checked_once_more(model, tmp_path):
    certificate = model.certify(draws=5, within={"x0": (-1, 1), "x2": (-1, 1)})
    status = certificate.rules[0].status
    assert np.all(status != 0)
    certificate.save(tmp_path / "c.ocbnn")
    assert ocbnn.verify(tmp_path / "c.ocbnn", model) is not None


@pytest.mark.parametrize(
    "plan",
    [
        NUTS(chains=1, warmup=20, draws=5, climb=5, max_depth=3),
        HMC(chains=1, warmup=5, draws=5, steps=3, climb=5),
        MCLMC(chains=1, warmup=20, draws=5, thin=1, climb=5),
        SMC(particles=10, moves=1, steps=2, polish=1, chains=1),
        SGHMC(chains=1, warmup=5, draws=5, thin=1, climb=5),
        SVGD(particles=4, iterations=2),
        VI(iterations=5, draws=5),
        VI(iterations=5, draws=5, local=True),
        Laplace(iterations=5, draws=5, chains=1),
        Ensemble(iterations=5),
    ],
    ids=lambda plan: plan.label + " local" * getattr(plan, "local", False),
)
def test_every_algorithm_learns_scales(plan):
    model = estimator(inference=plan).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()
    assert model.relevance_.median.shape == (3,)


def test_a_classifier_learns_what_matters():
    labels = np.where(X[:, 1] > 0, "high", "low")
    model = OCBNNClassifier(
        hidden=(5,), weight_prior="learned", inference=CHAINS, random_state=0
    )
    assert model.fit(X, labels).score(X, labels) > 0.9
    assert model.relevance_.order[0] == 1


@pytest.mark.parametrize("held", ["", "strength=firm, "])
def test_class_rules_that_scales_would_follow_to_infinity_are_refused(held):
    rule = "odd: if 3 <= x1 <= 4 then y in {{low}} [{}sampler=like-data, forbidden={}]"
    labels = np.where(X[:, 1] > 0, "high", "low")
    model = OCBNNClassifier(
        rule.format(held, 0.01),
        hidden=(5,),
        weight_prior="learned",
        inference=SVGD(particles=4, iterations=2),
        random_state=0,
    )
    with pytest.raises(SettingError, match=r"'odd' rewards.*=0.01 .*\[forbidden=1\]"):
        model.fit(X, labels, refine=False)
    model.set_params(rules=rule.format(held, 1)).fit(X, labels, refine=False)


@pytest.mark.parametrize("held", ["", "strength=firm, "])
def test_class_rules_that_leave_it_open_reward_no_certainty_without_limit(held):
    rule = f"odd: if 3 <= x1 <= 4 then y in {{low}} [{held}sampler=like-data]"
    labels = np.where(X[:, 1] > 0, "high", "low")
    concentrations = {}
    for prior in ("learned", "student-t", "fan-in"):
        plan = SVGD(particles=4, iterations=2)
        settings = {"weight_prior": prior, "inference": plan, "random_state": 0}
        model = OCBNNClassifier(rule, hidden=(5,), **settings)
        (term,) = model.fit(X, labels, refine=False).target_.rules
        concentrations[prior] = np.asarray(term.laws[-1].density.alpha).tolist()
        assert str(model.rules_[0].rule) == rule
    # Classes are in alphabetical order: high, low.
    assert concentrations["learned"] == concentrations["student-t"] == [1.0, 10.0]
    assert np.allclose(concentrations["fan-in"], [0.01, 10.0])


def test_a_category_has_one_relevance_that_of_all_its_values():
    names = ["x", "clinic=east", "clinic=north"]
    table = np.column_stack([X[:, 0], X[:, 1] > 0, X[:, 1] <= 0])
    settings = {"inputs": names, "choices": [names[1:]]}
    model = estimator(**settings, inference=SVGD(particles=4, iterations=2))
    relevance = model.fit(table, Y).relevance_
    assert relevance.inputs == ("x", "clinic")
    weights = model.draws_.stacked().weights
    sizes = model.target_.network.relevances(weights)
    expected = sizes[:, 1:].sum(axis=1) / sizes.sum(axis=1)
    assert np.allclose(relevance.shares[:, 1], expected)


def test_a_network_of_ones_own_learns_scales_and_says_why_it_has_no_relevance():
    module = eqx.nn.MLP(3, 1, 4, 1, key=jax.random.key(0))
    model = estimator(network=module, inference=SVGD(particles=4, iterations=2))
    model.fit(X, Y)
    assert isinstance(model.target_.network, ScaledNetwork)
    assert model.relevance_ is None
    assert model.report().fitted["network"].startswith("EquinoxNetwork: ")
    with pytest.raises(SettingError, match="this network is EquinoxNetwork"):
        model.plot_relevance()


def test_prior_functions_are_drawn_with_their_scales():
    values = estimator().sample_prior(X, Y, count=50)
    assert values.shape == (50, 40)
    assert np.isfinite(values).all()


def test_rules_are_explained_and_conflicts_told(model):
    assert model.explain("cap", refit=False).rules[0].rule == "cap"
    assert model.conflicts().rules[0].rule == "cap"


def test_hard_rules_choose_among_draws_with_scales():
    model = estimator(rules=f"{RULE} [strength=hard]").fit(X, Y, refine=False)
    assert model.held_ is not None
    assert model.relevance_.shares.shape[1] == 3
