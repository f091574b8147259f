"""Projection: draws without rules, each moved to the nearest function that obeys."""

import dataclasses
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import ocbnn
from ocbnn import HMC, Applied, OCBNNClassifier, OCBNNRegressor, Refinement
from ocbnn.errors import (
    DataError,
    InferenceWarning,
    RuleError,
    SettingError,
    StorageError,
)
from ocbnn.posterior import GaussianNoise, Model
from ocbnn.predictive import Predictive
from ocbnn.projects.command_advice import on_command_line
from ocbnn.refinement.noise import redraw_noise
from ocbnn.refinement.projected import ProjectionRecord, warn_if_disobeyed
from ocbnn.refinement.projection import as_obedience, project
from ocbnn.rules import Schema, custom, parse_rule
from tests.estimators.test_compiled_once import compilations
from tests.priors.terms import term_of

X = np.linspace(-2.0, 2.0, 12)[:, None]
# What rises with a wiggle, so that draws fall here and there.
Y = X[:, 0] + 0.5 * np.sin(4.0 * X[:, 0])
PLAN = HMC(chains=2, warmup=120, draws=24, steps=10, step_size=0.02, climb=200)
SEARCH = Refinement(rounds=4, starts=16, steps=20, test_points=50)
RISING = "rising: if -2 <= x <= 2 then d(y, x) >= 0"
CAP = "cap: if -2 <= x <= 2 then y <= 1.5"
GRID = np.linspace(-2.0, 2.0, 101)[:, None]


def make(*rules, **settings):
    usual = {"hidden": (8,), "noise": 0.1, "inference": PLAN, "random_state": 0}
    usual["weight_prior"] = "fan-in"  # whose chains agree after few moves
    return OCBNNRegressor(list(rules), **{**usual, "progress": False, **settings})


def quietly(task):
    with pytest.warns(InferenceWarning):  # so few draws never mix
        return task()


@pytest.fixture(scope="module")
def free():
    return quietly(lambda: make().fit(X, Y))


@pytest.fixture(scope="module")
def rising(free):
    return free.obey(RISING, refine=SEARCH)


def _flat(key):
    return {"a": jnp.zeros(1), "b": jnp.zeros(1)}


def _line(weights, x):
    return weights["a"] + weights["b"] * x


def lines(offsets, slopes):
    """Straight lines as draws: their functions are known, and so is the nearest."""
    network = Applied(_flat, _line, inputs=1, outputs=1)
    weights = {
        "a": np.asarray(offsets, np.float32)[:, None],
        "b": np.asarray(slopes, np.float32)[:, None],
    }
    noise = GaussianNoise(jnp.asarray([0.1]))
    return Predictive(network, noise, Model(weights, ()))


def projected(predictive, rule):
    term = term_of(rule, Schema(("x",), ("y",)))
    rows = np.linspace(-1.0, 1.0, 41)[:, None]
    result = project(
        predictive,
        (term,),
        (rows, rows),
        SEARCH,
        jax.random.key(0),
        outputs=("y",),
        progress=False,
    )
    weights = result.predictive.draws.weights
    return weights["a"][:, 0], weights["b"][:, 0], result.record


def test_a_function_that_obeys_stays_as_it_is_bit_for_bit():
    offsets, slopes = np.linspace(-0.5, 0.5, 8), np.full(8, 0.25)
    a, b, record = projected(lines(offsets, slopes), "if -1 <= x <= 1 then y <= 1")
    np.testing.assert_array_equal(a, offsets.astype(np.float32))
    np.testing.assert_array_equal(b, slopes.astype(np.float32))
    assert (record.moved, record.rounds) == (0, 0)
    assert record.distances[0].quantiles == (0, 0, 0, 0)
    assert "0 of 8 draws violated a rule" in str(record)


def test_a_constant_above_a_bound_becomes_the_bound():
    offsets = np.linspace(0.5, 1.9, 8)
    a, b, record = projected(lines(offsets, np.zeros(8)), "if -1 <= x <= 1 then y <= 1")
    np.testing.assert_allclose(a + np.abs(b), np.minimum(offsets, 1.0), atol=0.03)
    assert record.moved == (offsets > 1).sum()
    assert record.rules[0].before == record.moved / 8
    assert record.rules[0].after == 0


def test_the_nearest_line_is_the_one_that_least_squares_give():
    # Of lines through (1, 1) the one with the least squared distance over the rows:
    # with offset and slope moved by (p, q), p + q = 1 - (a + b), and the mean of
    # (p + q x)^2 is p^2 + m q^2, so p = m q.
    # All draws lie equally far apart everywhere, so that no input counts for more.
    offsets, slopes = np.linspace(0.2, 1.2, 8), np.ones(8)
    a, b, record = projected(lines(offsets, slopes), "if -1 <= x <= 1 then y <= 1")
    m = np.mean(np.linspace(-1, 1, 41) ** 2)
    q = (1.0 - offsets - slopes) / (1.0 + m)
    np.testing.assert_allclose(b, slopes + q, atol=0.05)
    np.testing.assert_allclose(a, offsets + m * q, atol=0.05)
    moved = np.sqrt((m * q) ** 2 + m * q**2)
    assert abs(record.distances[0].quantiles[1] - np.median(moved)) < 0.03


def test_the_share_of_the_noise_is_that_of_the_two_medians_in_the_sentence():
    # Moves of 0.2 to 1.0: the ratio of medians is 1.2, the median of ratios 2.
    offsets = np.linspace(1.2, 2.0, 9)
    noise = np.array([0.1] * 4 + [0.5] * 5)
    free = lines(offsets, np.zeros(9))
    drawn = {"log_sd": np.log(noise)[:, None].astype(np.float32)}
    free = dataclasses.replace(
        free,
        likelihood=GaussianNoise.inferred(0.1),
        draws=free.draws._replace(noise=drawn),
    )
    _, _, record = projected(free, "if -1 <= x <= 1 then y <= 1")
    (distance,) = record.distances
    assert distance.of_noise == pytest.approx(distance.quantiles[1] / 0.5, rel=1e-3)
    assert distance.of_noise == pytest.approx(1.2, rel=0.1)


def test_a_draw_that_has_moved_has_the_noise_of_what_its_function_leaves_over():
    count, rows = 400, np.linspace(-1.0, 1.0, 30)[:, None]
    truth = 0.2 * np.cos(9.0 * rows)  # what a constant function leaves over
    moved = dataclasses.replace(
        lines(np.full(count, 0.5), np.zeros(count)),
        likelihood=GaussianNoise.inferred(0.1),
    )
    was = {"log_sd": np.full((count, 1), np.log(0.01), np.float32)}
    moved = dataclasses.replace(moved, draws=moved.draws._replace(noise=was))
    is_moved = np.arange(count) % 4 > 0
    settings = is_moved, (rows, 0.5 + truth), len(rows), jax.random.key(1)
    now = np.exp(redraw_noise(moved, *settings)["log_sd"][:, 0])
    np.testing.assert_allclose(now[~is_moved], 0.01, rtol=1e-6)
    # Their distribution, by sums over a fine grid.
    t = np.linspace(-4.0, 1.0, 20001)
    log_density = -30 * t - 0.5 * np.sum(truth**2) * np.exp(-2 * t)
    log_density -= 0.5 * (t - np.log(0.1)) ** 2
    density = np.exp(log_density - log_density.max())
    mean = np.sum(np.exp(t) * density) / density.sum()
    sd = np.sqrt(np.sum((np.exp(t) - mean) ** 2 * density) / density.sum())
    assert abs(now[is_moved].mean() - mean) < 4 * sd / np.sqrt(is_moved.sum())
    assert abs(now[is_moved].std() / sd - 1.0) < 0.2


def test_rows_that_a_sample_stands_for_count_in_the_noise():
    rows = np.linspace(-1.0, 1.0, 10)[:, None]
    some = dataclasses.replace(
        lines(np.zeros(200), np.zeros(200)), likelihood=GaussianNoise.inferred(0.1)
    )
    was = {"log_sd": np.zeros((200, 1), np.float32)}
    some = dataclasses.replace(some, draws=some.draws._replace(noise=was))
    spreads = [
        np.std(
            redraw_noise(
                some, np.ones(200, bool), (rows, rows), count, jax.random.key(0)
            )["log_sd"]
        )
        for count in (10, 1000)
    ]
    assert spreads[1] < 0.2 * spreads[0]


def test_known_noise_stays_as_it_is():
    known = lines(np.zeros(4), np.zeros(4))
    rows = np.zeros((3, 1))
    noise = redraw_noise(known, np.ones(4, bool), (rows, rows), 3, jax.random.key(0))
    assert noise == ()


def test_a_wiggly_fit_rises_once_it_obeys(free, rising):
    record = rising.projection_
    (rule,) = record.rules
    assert rule.before > 0.5
    assert rule.after <= 0.01
    assert rising.check_rules()[0].draws_violating <= 0.01
    assert (np.diff(rising.predict(GRID)) > -1e-6).all()
    assert 0 < record.distances[0].quantiles[1] < 0.5
    assert record.moved == round(rule.before * record.draws)
    # The same chains, draw by draw, with the same noise, and judged as they were drawn.
    assert rising.draws_.chains == PLAN.chains
    assert rising.draws_.draws == PLAN.draws
    assert rising.judge_at(X) == free.judge_at(X)
    np.testing.assert_array_equal(rising.noise_, free.noise_)
    page = rising.report()
    assert "Projection" in str(page)
    assert "Its share log g" not in str(page)
    assert page.to_dict()["projection"]["moved"] == record.moved
    assert rising.certify(draws=4, boxes=200) is not None


def test_the_model_that_is_asked_does_not_change(free, rising):
    again = quietly(lambda: make().fit(X, Y))
    np.testing.assert_array_equal(free.predict(GRID), again.predict(GRID))
    assert (free.rules, free.rules_, free.projection_) == ([], (), None)
    assert rising.rules == (parse_rule(RISING),)
    assert rising.rules_by == "projection"


def test_a_fit_by_projection_is_a_free_fit_that_obeys(free, rising):
    model = make(RISING, rules_by="projection")
    fitted = quietly(lambda: model.fit(X, Y, refine=SEARCH))
    np.testing.assert_array_equal(
        fitted.fitted_.free_model.predictive.functions(GRID),
        free.fitted_.predictive.functions(GRID),
    )
    assert fitted.projection_.rules[0].after <= 0.01
    once = quietly(lambda: make(RISING, rules_by="projection").fit(X, Y, refine=False))
    assert once.projection_.rounds == 1
    without = quietly(lambda: make(rules_by="projection").fit(X, Y))
    assert without.projection_ is None


def test_what_obeys_is_loaded_as_it_was_saved(rising, tmp_path):
    path = tmp_path / "model.ocbnn"
    rising.save(path)
    again = ocbnn.load(path)
    np.testing.assert_array_equal(again.predict(GRID), rising.predict(GRID))
    assert again.projection_ == rising.projection_
    assert again.verdict_ == rising.verdict_
    assert again.log_density_parts() == rising.log_density_parts()
    assert [t.bound.name for t in again.fitted_.terms] == ["rising"]
    assert again.report().to_dict()["numbers"] == rising.report().to_dict()["numbers"]
    mine, its = (m.obey(RISING, refine=SEARCH) for m in (rising, again))
    np.testing.assert_array_equal(mine.predict(GRID), its.predict(GRID))
    rising.save(path, data=False)
    with pytest.raises(DataError, match="obey needs the data"):
        ocbnn.load(path).obey(CAP)
    damaged = rising.projection_.to_dict()
    del damaged["rules"]
    with pytest.raises(StorageError, match="projection is damaged"):
        ProjectionRecord.from_dict(damaged)


def test_rules_are_added_and_one_of_the_same_name_takes_its_place(free, rising):
    both = rising.obey(CAP, refine=SEARCH)
    assert [bound.name for bound in both.rules_] == ["rising", "cap"]
    assert all(check.draws_violating <= 0.02 for check in both.check_rules())
    # What was moved before begins as it was drawn, so rules can be loosened, too.
    loose = both.obey(CAP.replace("1.5", "90"), refine=SEARCH)
    np.testing.assert_allclose(loose.predict(GRID), rising.predict(GRID), atol=0.05)
    assert loose.fitted_.free_model.draws is not free.draws_
    np.testing.assert_array_equal(
        loose.fitted_.drawn.functions(GRID), free.fitted_.predictive.functions(GRID)
    )


def test_moving_a_rule_compiles_nothing(rising):
    rising.obey(CAP, refine=SEARCH)
    with compilations() as compiled:
        rising.obey(CAP.replace("1.5", "1.4"), refine=SEARCH)
    assert not compiled


def test_what_the_prior_did_to_draws_stays(free):
    known = quietly(lambda: make(CAP).fit(X, Y))
    moved = CAP.replace("1.5", "1.4")
    with pytest.warns(InferenceWarning) as caught:
        known.obey(moved, refine=SEARCH)
    assert any("'cap' replaces a rule" in str(one.message) for one in caught)


def test_hard_rules_choose_among_draws_that_obey(free):
    hard = free.obey(f"{RISING} [strength=hard]", refine=SEARCH)
    assert hard.held_.weights == "alike"
    assert hard.held_.holding >= 0.9 * hard.held_.draws
    with pytest.raises(DataError, match="violate the hard rule 'cap'"):
        free.obey(f"{CAP} [strength=hard]")


def test_classes_obey_too():
    labels = np.where(X[:, 0] > 0, "high", "low")
    model = OCBNNClassifier(hidden=(8,), inference=PLAN, random_state=0, progress=False)
    model = quietly(lambda: model.fit(X, labels))
    rule = "if 1 <= x <= 2 then y in {low}"
    moved = model.obey(rule, refine=SEARCH)
    assert model.predict([[1.5]]) == ["high"]
    assert moved.predict([[1.5]]) == ["low"]
    assert moved.projection_.rules[0].after <= 0.01
    assert moved.projection_.distances[0].of_noise is None
    assert "moved by" in str(moved.projection_)
    strict = model.obey(
        "if 1.9 <= x <= 1.95 then y in {low} [strength=hard]", refine=SEARCH
    )
    assert strict.predict_proba([[1.93]])[0, 0] == 0


def test_classes_obey_with_learned_scales_too():
    """In a density they would be refused: scales could follow them to infinity."""
    labels = np.where(X[:, 0] > 0, "high", "low")
    rule = "cut: if 1 <= x <= 2 then y in {low}"
    model = OCBNNClassifier(
        rule,
        hidden=(8,),
        weight_prior="learned",
        rules_by="projection",
        inference=PLAN,
        random_state=0,
        progress=False,
    )
    model = quietly(lambda: model.fit(X, labels, refine=SEARCH))
    assert model.projection_.rules[0].before > 0.5
    assert model.projection_.rules[0].after <= 0.01
    again = model.obey("cut: if 1 <= x <= 2 then y in {high}", refine=SEARCH)
    assert model.predict([[1.5]]) == ["low"]
    assert again.predict([[1.5]]) == ["high"]


def test_rules_that_draws_are_projected_onto_are_no_terms_of_the_density(free, rising):
    parts = rising.log_density_parts()
    assert set(parts) == {"weights", "data"}
    assert rising.target_.rules == ()
    (rule,) = rising.report().rules
    assert np.isnan(rule.log_g)
    known = quietly(lambda: make(CAP).fit(X, Y))
    assert set(known.log_density_parts()) == {"weights", "rule 'cap'", "data"}
    both = known.obey(RISING, refine=SEARCH)
    assert set(both.log_density_parts()) == {"weights", "data"}
    assert [term.bound.name for term in both.fitted_.terms] == ["cap", "rising"]


def test_prior_functions_are_drawn_without_rules_and_then_moved_onto_them():
    settings = {"rules_by": "projection", "standardize": False}
    cap = "cap: if -2 <= x <= 2 then y <= 0.2"
    free = make(**settings).sample_prior(GRID, count=16)
    obeying = make(cap, **settings).sample_prior(GRID, count=16)
    assert obeying.shape == (16, len(GRID))
    keeps = free.max(axis=1) <= 0.2
    assert 0 < keeps.sum() < 16
    np.testing.assert_array_equal(obeying[keeps], free[keeps])
    # A prior with the rule in it would stay well below; what is moved lies at the edge.
    np.testing.assert_allclose(obeying[~keeps].max(axis=1), 0.2, atol=0.1)


def test_a_warning_about_chains_comes_with_their_fit_and_not_with_every_projection():
    with pytest.warns(InferenceWarning, match="poor|unknown") as caught:
        model = make(RISING, rules_by="projection").fit(X, Y, refine=SEARCH)
    assert len(caught) == 1
    with warnings.catch_warnings(record=True) as later:
        warnings.simplefilter("always")
        moved = model.obey(CAP, refine=SEARCH)
        moved.obey(CAP.replace("1.5", "1.4"), refine=SEARCH)
    assert not later
    assert moved.verdict_.status == model.verdict_.status


def test_an_expectation_is_kept_within_two_sd(free):
    rule = "if -2 <= x <= 2 then y ~ Normal(x, 0.1)"
    moved = free.obey(rule, refine=SEARCH)
    assert moved.projection_.rules[0].after <= 0.02
    gap = np.abs(moved.sample_functions(GRID) - GRID[:, 0])
    assert gap.max() < 0.22


def test_refusals_say_what_to_write(free, rising):
    own = custom(lambda x, y: -jnp.sum(y**2), name="mine", where=ocbnn.inputs("x") > 0)
    with pytest.raises(
        RuleError, match=r"'mine' cannot be searched.*Write it with require"
    ):
        free.obey(own)
    with pytest.raises(RuleError, match="'mine' cannot be searched"):
        make(own, rules_by="projection").fit(X, Y)
    with pytest.raises(NotFittedError):
        make().obey(RISING)
    with pytest.raises(SettingError, match=r"rules_by.*got 'project'"):
        make(RISING, rules_by="project").fit(X, Y)
    with pytest.raises(SettingError, match="refine must be True"):
        free.obey(RISING, refine="often")
    with pytest.raises(RuleError, match="no output satisfies all"):
        free.obey(["if 0 <= x <= 1 then y <= 0", "if 0 <= x <= 1 then y >= 1"])
    with pytest.raises(SettingError, match="evidence compares draws"):
        rising.conflicts(evidence=True)
    with pytest.raises(SettingError, match="refine compares draws") as refused:
        rising.refine()
    said = refused.value.args[0]
    assert 'fit with rules_by="prior".' in said
    command = said.to_text(on_command_line("out"))
    assert "see Projection in `ocbnn report out`" in command
    assert 'fit with `rules_by = "prior"` under [fit].' in command
    assert "projection_" not in command


def test_limits_of_observations_cannot_be_moved_afterwards():
    model = make("most: y <= 9 [sampler=like-data]", truncate=True)
    model = quietly(lambda: model.fit(X, Y))
    with pytest.raises(SettingError, match="truncate=True takes the limits"):
        model.obey("y >= -9 [sampler=like-data]")


def test_a_rule_that_is_still_broken_is_told_with_numbers(rising):
    rules = tuple(
        dataclasses.replace(rule, after=0.25) for rule in rising.projection_.rules
    )
    record = dataclasses.replace(rising.projection_, rules=rules)
    with pytest.warns(InferenceWarning, match=r"rule 'rising' by 25 %"):
        warn_if_disobeyed(record)
    assert not record.is_met


def test_every_way_to_ask_for_searches_is_understood():
    assert as_obedience(None) == as_obedience(True) == Refinement()
    assert as_obedience(False) is None
    assert as_obedience(3) == Refinement(rounds=3)
    assert as_obedience(SEARCH) is SEARCH


def test_draws_with_learned_scales_move_and_keep_their_scales(tmp_path):
    model = make(weight_prior="learned", noise="infer")
    model = quietly(lambda: model.fit(X, Y))
    tops = model.sample_functions(GRID).max(axis=1)
    level = float(np.median(tops))  # which half of the draws break
    cap = f"cap: if -2 <= x <= 2 then y <= {level!r}"
    moved = model.obey(cap, refine=SEARCH)
    assert moved.projection_.is_met
    assert 0 < moved.projection_.moved < moved.projection_.draws
    before, after = model.draws_.positions.weights, moved.draws_.positions.weights
    np.testing.assert_array_equal(after.scales, before.scales)
    np.testing.assert_array_equal(after.inputs, before.inputs)
    stay = tops < level - 0.1
    np.testing.assert_array_equal(
        moved.sample_functions(GRID)[stay], model.sample_functions(GRID)[stay]
    )
    assert moved.check_rules()[0].draws_violating <= 0.05
    is_same = np.isclose(moved.noise_[:, 0], model.noise_[:, 0], rtol=1e-6)
    assert is_same[stay].all()
    assert is_same.sum() == moved.projection_.draws - moved.projection_.moved
    moved.save(tmp_path / "moved.ocbnn")
    again = ocbnn.load(tmp_path / "moved.ocbnn").fitted_
    jax.tree.map(np.testing.assert_array_equal, again.free, moved.fitted_.free)
    np.testing.assert_array_equal(again.noise, moved.noise_)


def test_rules_that_fight_the_data_are_told(free):
    # Rows lie between -2 and 2, with a noise of 0.1.
    with pytest.warns(InferenceWarning) as caught:
        free.obey("high: if -2 <= x <= 2 then y >= 5", refine=SEARCH)
    sentences = [str(one.message) for one in caught]
    assert any("times the noise at the training rows" in one for one in sentences)
