"""Estimators as people use them: tables in, predictions and reports out."""

import dataclasses
from typing import get_args

import equinox as eqx
import jax
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import ocbnn
from ocbnn import HMC, NUTS, SVGD, OCBNNClassifier, OCBNNRegressor
from ocbnn.errors import (
    DataError,
    InferenceWarning,
    RegionError,
    RuleError,
    RuleWarning,
    SettingError,
)
from ocbnn.estimators.settings import Activation
from ocbnn.networks.activations import ACTIVATIONS

FAST = NUTS(chains=2, warmup=300, draws=300)
STEIN = SVGD(particles=20, iterations=300, learning_rate=0.3)
SHORT = SVGD(particles=20, iterations=5)
X = np.linspace(-2, 2, 25)[:, None]
Y = np.sin(X[:, 0])


def regressor(*rules, **settings):
    usual = {"hidden": (8,), "noise": 0.1, "inference": FAST, "random_state": 0}
    settings = {**usual, **settings}
    return OCBNNRegressor(rules=list(rules), **settings)


@pytest.fixture(scope="module")
def model():
    return regressor("gap: if 3 <= x <= 5 then y >= 1").fit(X, Y)


def test_a_fit_learns_the_data_and_obeys_the_rule_beyond_it(model):
    assert np.sqrt(np.mean((model.predict(X) - Y) ** 2)) < 0.1
    (check,) = model.check_rules()
    assert check.violation < 0.01
    # A rule that asks for nothing compiles to the same program as one that does.
    free = regressor("if 3 <= x <= 5 then y >= -1000").fit(X, Y)
    beyond = np.linspace(3, 5, 50)[:, None]
    share = (free.sample_functions(beyond) < 1).mean()
    assert share > 0.3
    (checks,) = free.check_rules(rules=model)
    assert checks.rule == check.rule
    assert abs(checks.violation - share) < 0.1
    other = regressor(inputs=["z"], inference=SHORT).fit(X, Y)
    with pytest.raises(SettingError, match="has z -> y, the other x -> y"):
        other.check_rules(rules=model)


def test_rules_of_ones_own_are_checked_whether_fitted_with_or_not(model, tmp_path):
    (own,) = model.check_rules(rules="gap: if 3 <= x <= 5 then y >= 1")
    assert own == model.check_rules()[0]
    assert model.check_rules(rules=model.rules_) == [own]
    high, low = "if 3 <= x <= 5 then y >= 1", "low: if 3 <= x <= 5 then y < 1"
    rules = [high, ocbnn.rule(low)]
    checks = model.check_rules(rules=rules)
    assert [one.rule for one in checks] == [high, "low"]
    assert checks[0].violation < 0.01
    assert checks[0].violation + checks[1].violation == pytest.approx(1.0)
    bound = ocbnn.bind(ocbnn.rule(low), model.schema_)
    assert model.check_rules(rules=bound) == [checks[1]]
    model.save(tmp_path / "m", data=False)
    back = ocbnn.load(tmp_path / "m")
    assert back.check_rules(rules=low)[0].violation == checks[1].violation
    assert back.check_rules(rules=[]) == []
    with pytest.raises(RegionError, match="there are no data"):
        back.check_rules(rules="y < 9 [sampler=like-data]")
    with pytest.raises(RuleError, match="z"):
        model.check_rules(rules="if 3 <= z <= 5 then y < 1")
    with pytest.raises(RuleError, match="must be a rule, a text, or a list"):
        model.check_rules(rules=7)
    region = ocbnn.inputs("x").between(3, 5)
    with pytest.raises(RuleError, match="does not say which outputs keep it"):
        model.check_rules(rules=ocbnn.custom(lambda xs, ys: -(ys**2).sum(), region))


def test_rules_as_text_and_as_python_give_the_same_draws(model):
    x, y = ocbnn.inputs("x"), ocbnn.outputs("y")
    rule = ocbnn.require(y >= 1, where=x.between(3, 5), name="gap")
    code = regressor(rule).fit(X, Y)
    assert np.array_equal(model.predict(X), code.predict(X))


def test_a_seed_repeats_and_another_seed_differs():
    fits = [regressor(inference=STEIN, random_state=s).fit(X, Y) for s in (0, 0, 1)]
    assert np.array_equal(fits[0].predict(X), fits[1].predict(X))
    assert not np.array_equal(fits[0].predict(X), fits[2].predict(X))


def test_predictions_come_with_spread_and_intervals_that_cover():
    rng = np.random.default_rng(0)
    rows = np.linspace(-2, 2, 100)[:, None]
    noisy = np.sin(rows[:, 0]) + 0.2 * rng.standard_normal(100)
    model = regressor(noise="infer").fit(rows, noisy)
    mean, sd = model.predict(X, return_std=True)
    assert mean.shape == sd.shape == (25,)
    assert 0.15 < np.median(sd) < 0.3  # the inferred noise is in it
    low, high = model.predict_interval(X, 0.9)
    fresh = Y + 0.2 * rng.standard_normal((200, len(Y)))
    assert 0.82 < np.mean((fresh > low) & (fresh < high)) < 0.97
    inner_low, inner_high = model.predict_interval(X, 0.9, observation=False)
    assert np.all(inner_high - inner_low < high - low)
    with pytest.raises(SettingError, match="level must lie between 0 and 1"):
        model.predict_interval(X, 95)


def doses():
    rng = np.random.default_rng(1)
    table = {"age": rng.uniform(20, 80, 40), "mean bp": rng.uniform(50, 110, 40)}
    return table, 0.1 * table["age"] - 0.02 * table["mean bp"]


ELDERLY = "if `mean bp` < 60 and age > 70 then dose >= 20 [sampler=like-data]"


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_of_a_data_frame_are_the_rules_names(frame):
    table, dose = doses()
    data = frame(table)
    series = pd.Series if frame is pd.DataFrame else pl.Series
    target = series(dose) if frame is pd.DataFrame else series("dose", dose)
    if frame is pd.DataFrame:
        target = target.rename("dose")
    model = regressor(ELDERLY, inference=STEIN).fit(data, target)
    assert list(model.feature_names_in_) == ["age", "mean bp"]
    assert model.schema_.outputs == ("dose",)
    assert model.predict(data).shape == (40,)
    with pytest.raises(RuleError, match=r"no column mean_bp\. Did you mean `mean bp`"):
        regressor("if mean_bp < 60 then dose > 1").fit(data, target)


def test_several_outputs_and_a_relation_between_them():
    both = np.column_stack([Y, Y + 0.3])
    model = regressor("if -2 <= x <= 2 then y1 >= y0 + 0.1", inference=STEIN)
    model.fit(X, both)
    assert model.predict(X).shape == (25, 2)
    assert model.sample_functions(X, 5).shape == (5, 25, 2)
    assert model.check_rules()[0].violation < 0.05


def test_estimators_work_in_a_pipeline_and_a_grid_search():
    pipe = make_pipeline(MinMaxScaler(), regressor(inference=STEIN))
    rows, y = X[:24], Y[:24]  # two halves of one shape
    mean, sd = pipe.fit(rows, y).predict(rows, return_std=True)
    assert mean.shape == sd.shape
    grid = GridSearchCV(
        regressor(inference=STEIN), {"noise": [0.1, 9.0]}, cv=2, error_score="raise"
    )
    assert grid.fit(rows, y).best_params_["noise"] in [0.1, 9.0]
    rule = "if 3 <= x <= 5 then y >= 1"
    assert clone(regressor(rule)).get_params()["rules"] == [rule]


@pytest.mark.slow
def test_a_rule_means_the_same_in_metres_and_in_millimetres():
    metres = regressor("m: if 3 <= x <= 5 then y >= 1", inference=SHORT).fit(X, Y)
    millis = regressor(
        "m: if 3000 <= x <= 5000 then y >= 1000", inference=SHORT, noise=100.0
    ).fit(1000 * X, 1000 * Y)
    # Functions of the prior, some of which break the rule.
    draws = [metres.target_.initial(jax.random.key(seed)) for seed in range(5)]
    pairs = [(metres.target_.parts(d), millis.target_.parts(d)) for d in draws]
    assert min(here["rule 'm'"] for here, _ in pairs) < -1000.0
    for here, there in pairs:
        for name, share in here.items():
            # What a strength of 10,000 makes of a rounding error of one.
            assert np.isclose(share, there[name], rtol=1e-3, atol=1e-2), name


@pytest.mark.slow
def test_prior_functions_obey_rules_before_any_data():
    model = regressor("if -1 <= x <= 1 then 2 <= y <= 3", standardize=False)
    grid = np.linspace(-1, 1, 21)[:, None]
    functions = model.sample_prior(grid, count=200)
    assert functions.shape == (200, 21)
    assert np.mean((functions < 2) | (functions > 3)) < 0.02
    free = regressor(standardize=False).sample_prior(grid, count=200)
    assert np.mean((free < 2) | (free > 3)) > 0.5
    assert not hasattr(model, "draws_")  # nothing was fitted
    assert not hasattr(model, "n_features_in_")


def test_any_equinox_module_can_be_the_network():
    module = eqx.nn.MLP(1, 1, 8, 1, activation=jax.numpy.tanh, key=jax.random.key(0))
    model = regressor(network=module, inference=STEIN).fit(X, Y)
    assert model.score(X, Y) > 0.9
    with pytest.raises(SettingError, match="maps 1 inputs to 1 outputs"):
        regressor(network=model.target_.network).fit(np.hstack([X, X]), Y)


@pytest.mark.parametrize(
    "inference",
    [
        pytest.param("SMC", marks=pytest.mark.slow),
        "svgd",
        pytest.param(
            HMC(adapt=True, steps=50, warmup=500, draws=500), marks=pytest.mark.slow
        ),
    ],
)
def test_every_inference_can_be_named_or_planned(inference):
    model = regressor(inference=inference, hidden=(3,)).fit(X[::5], Y[::5])
    assert model.score(X[::5], Y[::5]) > 0.9


def test_classes_follow_rules_and_probabilities_add_up():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(c, 0.3, (10, 2)) for c in (-2, 2)])
    labels = np.array(["wait"] * 10 + ["treat"] * 10)
    rule = "if -3 <= x0 <= -1 and 1 <= x1 <= 3 then y in {treat} [weight=1]"
    model = OCBNNClassifier([rule], hidden=(8,), inference=STEIN, random_state=0)
    model.fit(points, labels)
    assert model.score(points, labels) == 1.0
    probabilities = model.predict_proba([[-2.0, 2.0]])
    assert probabilities.shape == (1, 2)
    assert np.isclose(probabilities.sum(), 1)
    assert model.predict([[-2.0, 2.0]]) == ["treat"]
    assert model.check_rules()[0].violation < 0.05


def test_prior_probabilities_of_classes_add_up():
    labels = np.where(Y > 0, "treat", "wait")
    prior = OCBNNClassifier(hidden=(8,), inference=STEIN, random_state=0).sample_prior(
        X, labels, count=10
    )
    assert prior.shape == (10, 25, 2)
    assert np.allclose(prior.sum(axis=-1), 1)


def test_a_fitted_model_draws_itself_with_its_rules(model):
    ax = model.plot(shown=3)
    assert ax.get_xlim()[0] <= -2
    assert ax.get_xlim()[1] >= 5
    assert "gap" in " ".join(t.get_text() for t in ax.get_legend().get_texts())
    with pytest.raises(SettingError, match="there is no input 'z': name one of 'x'"):
        model.plot(along="z")
    rng = np.random.default_rng(0)
    points = rng.normal(size=(20, 3))
    labels = np.where(points[:, 0] > 0, "a", "b")
    rule = "if 2<=x0<=3 and -1<=x1<=1 and -1<=x2<=1 then y in {b} [weight=1]"
    classes = OCBNNClassifier(rule, hidden=(5,), inference=STEIN, random_state=0)
    ax = classes.fit(points, labels).plot(along=("x0", "x1"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x0", "x1")
    with pytest.raises(SettingError, match="along must name the two inputs"):
        classes.plot(along=("x0",))


def test_a_poor_verdict_is_a_warning_and_too_few_draws_are_said():
    stuck = HMC(step_size=1e-4, warmup=0, draws=50, climb=0)
    with pytest.warns(
        InferenceWarning, match=r"^poor: The chains disagree.*worth only"
    ):
        regressor(inference=stuck).fit(X, Y)
    with pytest.warns(InferenceWarning, match="Too few draws to judge"):
        regressor(inference=dataclasses.replace(stuck, chains=1, draws=2)).fit(X, Y)


nan = X.copy()
nan[3] = np.nan
infinite = X.copy()
infinite[3] = np.inf


@pytest.mark.parametrize(
    ("fit", "error", "advice"),
    [
        (lambda: regressor().fit(nan, Y), ValueError, "NaN"),
        (lambda: regressor().fit(infinite, Y), ValueError, "infinity"),
        (lambda: regressor().fit(X, Y[:-1]), ValueError, "inconsistent numbers"),
        (lambda: regressor().fit(X[:, 0], Y), ValueError, "Expected 2D array"),
        (
            lambda: regressor().fit(X, np.zeros(25)),
            DataError,
            "'y' is 0 in every one of 25",
        ),
        (
            lambda: OCBNNClassifier().fit(X, ["a"] * 25),
            DataError,
            "y has one class only, 'a'",
        ),
        (lambda: regressor("if x < 1 then y > 0").fit(X, Y), RegionError, "no bounds"),
        (
            lambda: regressor("if x > 1 and x < 0 then y > 0").fit(X, Y),
            RegionError,
            "empt",
        ),
        (lambda: regressor("if 0 <= z <= 1 then y > 0").fit(X, Y), RuleError, "'z'|z"),
        (lambda: regressor("if 0<=x<=1 then x > 0").fit(X, Y), RuleError, "output"),
        (
            lambda: regressor(
                "a: if 0 <= x <= 2 then y > 3", "b: if 1 <= x <= 3 then y < 1"
            ).fit(X, Y),
            RuleError,
            r"no output satisfies all of these rules:\n.*a: .*\n.*b: ",
        ),
        (
            lambda: regressor("a: if 0<=x<=1 then y>0", "a: if 0<=x<=1 then y<9").fit(
                X, Y
            ),
            RuleError,
            "two rules are called 'a'",
        ),
        (lambda: regressor(3).fit(X, Y), RuleError, "a rule must be made by require"),
        (lambda: OCBNNRegressor(rules=3).fit(X, Y), RuleError, "rules must be a rule"),
        (lambda: regressor(noise=-1.0).fit(X, Y), SettingError, "noise must be"),
        (lambda: regressor(hidden=(0,)).fit(X, Y), SettingError, "hidden must be"),
        (lambda: regressor(activation="rbff").fit(X, Y), SettingError, "is not known"),
        (lambda: regressor(inference="gibbs").fit(X, Y), SettingError, "'gibbs'"),
        (lambda: regressor(weight_scale=0.0).fit(X, Y), SettingError, "above zero"),
        (lambda: regressor(weight_prior="cauchy").fit(X, Y), SettingError, "cauchy"),
        (lambda: regressor(batch_size=0).fit(X, Y), SettingError, "batch_size must be"),
        (lambda: regressor(batch_size=5).fit(X, Y), SettingError, "would be ignored"),
        (lambda: regressor(random_state=-1).fit(X, Y), SettingError, "random_state"),
        (
            lambda: OCBNNClassifier("if 0 <= x <= 1 then y in {c}").fit(X, Y > 0),
            RuleError,
            "c",
        ),
    ],
)
def test_bad_input_is_refused_with_advice(fit, error, advice):
    with pytest.raises(error, match=advice):
        fit()


def test_a_region_in_other_units_than_the_data_is_warned_about():
    with pytest.warns(RuleWarning, match="Check that both are in the same units"):
        regressor("if 3000 <= x <= 5000 then y >= 1", inference=STEIN).fit(X, Y)
    rule = "if 1e9 <= x*x <= 1e9 + 1 and -2 <= x <= 2 then y > 0 [sampler=like-data]"
    with pytest.raises(RegionError, match="no data row could be moved into the region"):
        regressor(rule).fit(X, Y)


def test_an_unfitted_model_says_so():
    with pytest.raises(AttributeError, match="not fitted"):
        regressor().predict(X)
    with pytest.raises(AttributeError, match="not fitted"):
        regressor().check_rules()


def test_plain_arrays_can_be_given_names():
    table, dose = doses()
    rows = np.column_stack(list(table.values()))
    model = regressor(
        "if 70 <= age <= 80 then dose >= 20",
        inputs=("age", "mean bp"),
        outputs="dose",
        inference=STEIN,
    )
    with pytest.raises(RegionError, match="'mean bp'"):
        model.fit(rows, dose)
    model.set_params(rules=ELDERLY)
    assert model.fit(rows, dose).schema_.outputs == ("dose",)


@pytest.mark.parametrize("names", [("dose",), ("dose", 3), "dose"])
def test_names_that_do_not_fit_the_columns_are_refused(names):
    model = OCBNNRegressor(inputs=names, hidden=(3,), inference=STEIN)
    with pytest.raises(SettingError, match=r"inputs must name every column.* have 2"):
        model.fit(np.eye(2), np.arange(2.0))


def test_every_activation_is_offered_to_editors():
    assert get_args(Activation) == tuple(ACTIVATIONS)
