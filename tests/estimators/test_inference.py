"""Models with every algorithm, and with the one that is chosen for them."""

import numpy as np
import pytest

import ocbnn
from ocbnn.errors import SettingError
from ocbnn.inference import (
    MCLMC,
    NUTS,
    SGHMC,
    SGLD,
    VI,
    AdjustedMCLMC,
    Ensemble,
    Laplace,
    WarmStart,
)

X = np.linspace(-2, 2, 20)[:, None]
Y = 1 + X[:, 0] ** 2
RULE = "if -0.5 <= x <= 0.5 then y >= 1.5 [strength=1000]"
SLOW = pytest.mark.slow
PLANS = [
    pytest.param(MCLMC(chains=2, warmup=800, draws=50), marks=SLOW),
    pytest.param(
        AdjustedMCLMC(chains=2, warmup=200, draws=50, max_steps=50), marks=SLOW
    ),
    WarmStart(sampler=MCLMC(chains=2, warmup=500, draws=50), iterations=500),
    pytest.param(SGLD(chains=2, warmup=1000, draws=50, climb=500), marks=SLOW),
    pytest.param(SGHMC(chains=2, warmup=1000, draws=50, climb=500), marks=SLOW),
    VI(iterations=2000, draws=50, local=True),
    Ensemble(members=10, iterations=1000),
    Laplace(chains=2, iterations=1500, draws=25),
]


def model(**settings):
    return ocbnn.OCBNNRegressor(
        settings.pop("rules", RULE),
        inputs=["x"],
        outputs=["y"],
        hidden=(8,),
        activation="tanh",
        noise=0.3,
        random_state=0,
        progress=False,
        **settings,
    )


@pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.label)
def test_every_algorithm_follows_data_and_rule(plan):
    fitted = model(inference=plan).fit(X, Y)
    # The prior draws the ends (5) towards the middle; NUTS has 4.4.
    assert np.all(fitted.predict(np.array([[-2.0], [2.0]])) > 4.0)
    (check,) = fitted.check_rules()
    # The data pull towards 1 where the rule asks for 1.5.
    assert fitted.predict(np.zeros((1, 1)))[0] > 1.3
    assert check.violation < 0.5
    assert plan.label.split()[0] in str(fitted.report())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
def test_auto_says_what_it_chose_and_keeps_it_when_saved(tmp_path):
    rows = slice(None, None, 4)
    fitted = model(inference="auto", rules=()).fit(X[rows], Y[rows])
    assert isinstance(fitted.choice_.plan, WarmStart)
    assert isinstance(fitted.choice_.plan.sampler, NUTS)
    assert "25 weights and 5 rows are few enough for NUTS" in fitted.choice_.reason
    assert "few enough for NUTS" in " ".join(str(fitted.report()).split())
    fitted.save(tmp_path / "model.ocbnn")
    again = ocbnn.load(tmp_path / "model.ocbnn")
    assert again.choice_ == fitted.choice_
    assert np.array_equal(again.predict(X), fitted.predict(X))


def test_only_algorithms_that_take_batches_take_a_batch_size():
    with pytest.raises(SettingError, match="MCLMC needs all rows at every step"):
        model(inference="mclmc", batch_size=5).fit(X, Y)


def test_an_algorithm_that_takes_batches_is_given_them():
    plan = SGHMC(chains=1, warmup=20, draws=5, thin=1, climb=0)
    with pytest.warns(ocbnn.errors.InferenceWarning):
        fitted = model(rules=(), inference=plan, batch_size=5).fit(X, Y)
    assert fitted.target_.batch_size == 5
