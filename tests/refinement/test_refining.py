"""Firm rules: searched, felt where they were broken, and dearer where need be."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ocbnn
from ocbnn import HMC, SVGD, OCBNNRegressor, Refinement
from ocbnn.errors import InferenceWarning, SettingError, StorageError
from ocbnn.inference import MCLMC, SMC, WarmStart, loop
from ocbnn.metrics.worst import Worst, draws_broken_at
from ocbnn.networks import MLP
from ocbnn.posterior import GaussianNoise, Target
from ocbnn.priors import WeightPrior
from ocbnn.priors.refined_terms import full_weight, with_added, with_room, without_room
from ocbnn.refinement.added_points import _weight, spread_out, with_rooms
from ocbnn.refinement.record import (
    RefinementRecord,
    Round,
    RuleRound,
    warn_if_unmet,
)
from ocbnn.refinement.rounds import shorter
from ocbnn.refinement.rule_search import RuleSearch
from ocbnn.refinement.settings import as_refinement
from ocbnn.rules import Schema, bind, custom, inputs, parse_rule
from ocbnn.saving.terms import read_term, write_term
from tests.inference.walks import Quiet, bits
from tests.priors.terms import log_g, some_values, term_of

X = np.linspace(-1.0, 1.0, 10)[:, None]
Y = 2.0 * X[:, 0]
PLAN = HMC(chains=2, warmup=120, draws=60, steps=10, step_size=0.02, climb=200)
# Two points, far from the data, do not show what happens near them.
RULE = "low: if 1.1 <= x <= 4 then y <= 2.1 [strength={}]"
FAR = np.array([[3.9], [4.0]])
REFINE = Refinement(rounds=3, starts=16, steps=20, test_points=50, points=12)


def low(strength):
    return dataclasses.replace(parse_rule(RULE.format(strength)), sampler=FAR)


def make(strength="firm", *, rules=None, **settings):
    usual = {
        "hidden": (4,),
        "noise": 0.2,
        "inference": PLAN,
        "random_state": 0,
        "progress": False,
    }
    rules = low(strength) if rules is None else rules
    return OCBNNRegressor(rules, **{**usual, **settings})


def quietly(model, **options):
    with pytest.warns(InferenceWarning):  # so few draws never mix
        return model.fit(X, Y, **options)


@pytest.fixture(scope="module")
def firm():
    return quietly(make(), refine=REFINE)


def test_a_firm_rule_is_held_by_more_draws_than_it_was_as_given(firm):
    record = firm.refinement_
    assert record.before.held < 0.9 < record.after.held
    assert record.after.is_full
    assert not record.before.is_full
    assert firm.draws_.draws == PLAN.draws
    term = firm.target_.rules[0]
    points = np.linspace(1.1, 4.0, 200)[:, None]
    held = 1 - draws_broken_at(firm.fitted_.predictive, term, points).any(axis=1).mean()
    assert held >= record.after.held
    assert (np.asarray(term.sampler.added) >= 1.1 - 1e-6).all()
    assert record.before.added > 0


def test_a_refined_model_is_loaded_as_it_was_saved(firm, tmp_path):
    firm.save(tmp_path / "model.ocbnn")
    again = ocbnn.load(tmp_path / "model.ocbnn")
    assert again.refinement_ == firm.refinement_
    one, other = again.target_.rules[0], firm.target_.rules[0]
    np.testing.assert_array_equal(one.sampler.added, other.sampler.added)
    assert float(one.law.weight) == float(other.law.weight)
    assert again.log_density_parts() == pytest.approx(firm.log_density_parts())


def test_a_refined_fit_goes_on_from_its_folder_to_the_same_draws(firm, tmp_path):
    quietly(make(checkpoint=str(tmp_path / "run")), refine=REFINE)
    runs = sorted(one.name for one in (tmp_path / "run").iterdir())
    assert runs == [f"run-{n}" for n in range(len(firm.refinement_.rounds))]
    again = quietly(make(checkpoint=str(tmp_path / "run")), refine=REFINE)
    assert bits(again.draws_) == bits(firm.draws_)


class Impatient(Quiet):
    """Stops as soon as the second run makes moves."""

    runs = 0

    def begin(self, label, total):
        self.runs += total is not None  # others tell what a run has found

    def is_stopping(self):
        return self.runs > 1


def test_a_fit_that_is_stopped_in_a_later_run_keeps_the_draws_of_the_last(tmp_path):
    stopped = quietly(make(progress=Impatient()), refine=REFINE)
    assert stopped.draws_.interrupted
    assert len(stopped.refinement_.rounds) == 1
    assert "stopped early" in str(stopped.verdict_)
    # It is as it was when they were drawn, before the rule was felt elsewhere.
    assert np.isfinite(stopped.predict(X)).all()
    stopped.set_params(progress=False).save(tmp_path / "model.ocbnn")
    assert ocbnn.load(tmp_path / "model.ocbnn").draws_.interrupted


def test_a_soft_rule_gets_points_when_asked_but_keeps_its_price(firm):
    compiled = [f._cached._cache_size() for f in (loop.warm_up, loop.draw)]
    once = dataclasses.replace(REFINE, rounds=1)
    model = quietly(make("soft"), refine=once)
    # Nor is anything compiled for another round, or another price.
    assert [f._cached._cache_size() for f in (loop.warm_up, loop.draw)] == compiled
    first, last = model.refinement_.rounds
    assert first.rules[0].added > 0
    # Fourteen points in the place of two: every one costs what it did.
    assert last.rules[0].strength == pytest.approx(7 * first.rules[0].strength)


def test_points_of_a_firm_rule_walk_from_two_inputs_on(firm):
    assert firm.target_.rules[0].reach is None
    text = "if -1 <= x0 <= 1 and 0 <= x1 <= 2 then y0 <= 0 [strength={}]"
    terms = tuple(term_of(text.format(held)) for held in ("firm", "soft"))
    noise = GaussianNoise.fixed(0.3, 3)
    target = Target(MLP(2, (3,), 3, "tanh"), WeightPrior(), noise, terms)
    walking, staying = with_rooms(target, REFINE, jax.random.key(0), True).rules
    assert staying.reach is None
    arrays = {}
    kind = write_term("here", walking, arrays, data=True)
    kept = {name: np.asarray(value) for name, value in arrays.items()}
    again = read_term("here", kind, walking.bound, kept, None)
    assert eqx.tree_equal(again.reach, walking.reach)
    assert walking.reach.steps == 8


def test_found_points_cost_what_a_rules_own_do_and_take_nothing_from_them():
    term = term_of(
        "if -1 <= x0 <= 1 and 0 <= x1 <= 2 then y0 <= 0 [points=4, form=indicator]"
    )
    xs, ys = some_values(8)
    roomy = with_room(term, 4, jax.random.key(0))
    assert (roomy.count, roomy.added) == (8, 4)
    assert log_g(roomy, xs, ys) == pytest.approx(log_g(term, xs, ys))
    full = with_added(roomy, slice(0, 2), xs[:2], full_weight(roomy))
    np.testing.assert_allclose(full.points[4:6], xs[:2], rtol=1e-6)
    apart = log_g(term, xs[:4], ys[:4]) + log_g(term, xs[4:], ys[4:])
    assert log_g(full, xs, ys) == pytest.approx(apart, rel=1e-5)
    fresh = full.fresh(jax.random.key(1))
    np.testing.assert_array_equal(fresh[4:], full.sampler.added)
    assert full.ordinary(jax.random.key(1)).shape == (4, 2)


def test_an_expectation_counts_as_before_until_points_are_found():
    term = term_of(
        "if -1 <= x0 <= 1 and 0 <= x1 <= 2 then y0 ~ Normal(0, 1) [points=4]"
    )
    xs, ys = (np.concatenate([one[:4], one[:4]]) for one in some_values(4))
    roomy = with_room(term, 4, jax.random.key(0))
    assert log_g(roomy, xs, ys) == pytest.approx(log_g(term, xs[:4], ys[:4]), rel=1e-5)
    assert full_weight(roomy) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("held", "at_points", "before", "factor"),
    [
        ("firm", 0.0, 0.9, 1.0),  # new points have helped
        ("firm", 0.5, 0.9, 3.0),  # felt there, and broken all the same
        ("firm", 0.0, 0.3, 3.0),  # new points have not helped
        ("soft", 0.5, 0.3, 1.0),  # its price is a person's own
    ],
)
def test_a_firm_rule_gets_dearer_only_where_points_are_not_enough(
    held, at_points, before, factor
):
    text = f"if -1 <= x0 <= 1 and 0 <= x1 <= 2 then y0 <= 0 [strength={held}]"
    term = with_room(term_of(text), 10, jax.random.key(0))
    worst = Worst(np.zeros((10, 2)), np.zeros(10), np.zeros(10, bool))
    look = RuleSearch(term, worst, np.arange(10) < 3, at_points)
    assert _weight(look, 0.01, before) == pytest.approx(factor * float(term.law.weight))


def test_points_that_are_kept_are_deep_and_far_from_each_other():
    points = np.array([[0.0, 0.0], [0.01, 0.0], [1.0, 5.0], [0.5, 0.0], [0.0, 0.0]])
    depth = np.array([1.0, 2.0, 1.0, 1e-6, 1.0])
    kept = spread_out(points, depth, np.array([1.0, 5.0]), 2)
    np.testing.assert_array_equal(kept, points[[1, 2]])
    assert len(spread_out(points, depth, np.array([1.0, 5.0]), 9)) == 4


def test_runs_before_the_last_are_shorter_where_a_run_can_be():
    assert shorter(HMC(warmup=1000, draws=2000)) == HMC(warmup=250, draws=500)
    assert shorter(SVGD()) is None
    assert shorter(SMC()) is None
    cut = shorter(WarmStart(sampler=MCLMC(warmup=2000, draws=1000)))
    assert cut == WarmStart(sampler=MCLMC(warmup=500, draws=250))


def bound(text):
    return bind(parse_rule(text), Schema(("x",), ("y",)))


def test_firm_and_hard_rules_ask_for_a_refinement_by_themselves():
    soft, hard = bound("if x > 0 then y > 0"), bound("y > 0 [strength=hard]")
    assert as_refinement(None, (soft,)) is None
    assert as_refinement(None, (soft, hard)) == Refinement()
    assert as_refinement(False, (hard,)) is None
    assert as_refinement(True, (soft,)) == Refinement()
    assert as_refinement(3, (soft,)) == Refinement(rounds=3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: as_refinement("yes", ()), "refine must be True, False, a number"),
        (lambda: as_refinement(True, ()), "no rule of this model can be"),
        (
            lambda: as_refinement(0, (bound("y > 0"),)),
            r"rounds=\.\.\.\) must be a whole",
        ),
        (lambda: Refinement(target=1.5), "share of draws that may break"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(make, message):
    with pytest.raises(SettingError, match=message):
        make()


@pytest.mark.parametrize("holds", [None, lambda xs, ys: ys[:, 0] > 0])
def test_a_custom_rule_alone_cannot_be_refined_and_is_refused_before_the_fit(holds):
    log_g, where = lambda xs, ys: -jnp.sum(ys**2), inputs("x").between(0, 1)
    own = custom(log_g, where, holds=holds, name="own")
    with pytest.raises(SettingError, match="can be searched: 'own'"):
        as_refinement(True, (bind(own, Schema(("x",), ("y",))),))
    with pytest.raises(SettingError, match="can be searched: 'own'"):
        make(rules=own).fit(X, Y, refine=True)


def test_rules_that_cannot_be_searched_stay_as_given_beside_those_that_can():
    own = custom(
        lambda xs, ys: -jnp.sum(ys**2),
        inputs("x").between(0, 1),
        holds=lambda xs, ys: ys[:, 0] < 9,
        name="own",
    )
    model = make(rules=[low("soft"), own])
    quietly(model, refine=dataclasses.replace(REFINE, rounds=1))
    record = model.refinement_
    assert [rule.rule for rule in record.after.rules] == ["low"]
    assert record.unsearched == ("own",)
    assert "cannot be searched, and stay as given: own" in str(record)
    assert RefinementRecord.from_dict(record.to_dict()) == record
    refined, as_given = model.target_.rules
    assert refined.added
    assert not as_given.added


def test_the_record_is_read_back_and_told_in_words(firm):
    record = firm.refinement_
    assert RefinementRecord.from_dict(record.to_dict()) == record
    text = str(record)
    assert "run 1, short: " in text
    assert "slack left" in text
    older = record.to_dict()
    del older["unsearched"]
    assert RefinementRecord.from_dict(older) == record
    with pytest.raises(StorageError, match="record of the refinement is damaged"):
        RefinementRecord.from_dict({"target": 0.01, "error_is": "", "rounds": []})


def test_the_rule_that_draws_violate_most_is_named_with_its_own_numbers():
    def run(low, high):
        numbers = {"at_points": 0.0, "worst": -1.0, "slack": (-1.0, 0.0, 0.0)}
        rules = tuple(
            RuleRound(name, held, **numbers, strength=1.0, added=0)
            for name, held in (("low", low), ("high", high))
        )
        return Round(True, 100, 0.1, 1.0, rules)

    record = RefinementRecord(0.01, "error", (run(0.5, 0.25), run(1.0, 0.875)))
    message = (
        r"after 1 round of refinement, rule 'high' is still violated somewhere by "
        r"12\.5 % of the draws \(75 % before refinement\); at most 1 % are allowed"
    )
    with pytest.warns(InferenceWarning, match=message):
        warn_if_unmet(record)


def test_a_fitted_model_is_refined_without_its_table(firm):
    plain = quietly(make(), refine=False)
    assert plain.refinement_ is None
    before = plain.fitted_
    with pytest.warns(InferenceWarning):
        assert plain.refine(REFINE) is plain
    record = plain.refinement_
    assert record.before.added > 0
    assert record.before.held < 0.99 <= record.after.held
    assert plain.target_.rules[0].added == firm.target_.rules[0].added
    assert before.refinement is None
    assert before.target.rules[0].added == 0


def test_a_refinement_begins_with_rules_as_they_were_given():
    term = quietly(make(), refine=False).target_.rules[0]
    roomy = with_room(term, 6, jax.random.key(1))
    refined = with_added(roomy, slice(0, 3), np.full((3, 1), 2.0), 99.0)
    assert eqx.tree_equal(without_room(refined), term)
    assert without_room(term) is term
