"""Draws that keep hard rules stand for the exact posterior, or say that they do not."""

import json

import numpy as np
import pytest
from scipy.stats import norm

from ocbnn.metrics.hard_rules import HardRuleEntry, HardRuleRecord, condition, too_few


def test_draws_that_hold_are_kept_once_where_all_weigh_the_same():
    holds = np.arange(100) % 3 > 0
    record = condition(holds, np.where(holds, -0.5, -9.0))
    assert record.kept.tolist() == np.flatnonzero(holds).tolist()
    assert (record.weights, record.ess) == ("alike", holds.sum())


def test_weights_take_an_overtight_sampler_to_the_exact_posterior():
    # Drawn from a normal times g = exp(-1.5 y) above zero, instead of the half normal.
    count = 20_000
    tight = norm(loc=-1.5)
    draws = tight.isf((np.arange(count) + 0.5) / count * tight.sf(0.0))
    draws = np.random.default_rng(0).permutation(np.append(draws, [-1.0] * 50))
    record = condition(draws > 0, -1.5 * draws)
    assert record.weights == "smoothed"
    kept = draws[record.kept]
    assert kept.min() > 0
    assert len(kept) == count
    np.testing.assert_allclose(kept.mean(), np.sqrt(2 / np.pi), rtol=0.03)
    weights = np.exp(1.5 * draws[draws > 0])
    exact = weights.sum() ** 2 / (weights**2).sum()
    np.testing.assert_allclose(record.ess, exact, rtol=0.1)


def test_weights_that_cannot_be_trusted_are_not_used():
    log_g = np.log(1.0 - (np.arange(1000) + 0.5) / 1000) * 2.0
    record = condition(np.ones(1000, dtype=bool), log_g)
    assert record.pareto_k > 0.7
    assert (record.weights, record.kept.tolist()) == ("equal", list(range(1000)))


@pytest.mark.parametrize(
    ("holding", "draws", "few"),
    [(0, 1000, True), (19, 1000, True), (20, 1000, False), (4, 8, False), (3, 8, True)],
)
def test_fewer_than_twenty_draws_or_half_of_a_few_are_too_few(holding, draws, few):
    holds = np.arange(draws) < holding
    assert too_few(condition(holds, np.zeros(draws)), holding, draws) is few


def test_draws_that_are_worth_little_are_too_few():
    record = condition(np.ones(1000, dtype=bool), np.zeros(1000))._replace(ess=9.0)
    assert too_few(record, 1000, 1000)


def test_what_was_held_reads_as_sentences_and_as_plain_values():
    rules = (HardRuleEntry("low", "conditioned", 0.25, 4096),)
    record = HardRuleRecord(rules, 400, 100, 80.0, -np.inf, "alike", 100)
    assert str(record) == (
        "100 of 400 draws keep the hard rules. All of these are used, with the same "
        "weight.\n"
        "low: 25 % of draws keep it by themselves at each of 4,096 inputs"
    )
    assert json.loads(json.dumps(record.to_dict()))["rules"][0]["share"] == 0.25
    assert record.to_dict()["pareto_k"] is None


def test_draws_that_answer_are_told_apart_from_those_that_keep_the_rules():
    record = HardRuleRecord((), 400, 400, 162.0, 0.39, "smoothed", 277)
    text = str(record)
    assert "400 of 400 draws keep the hard rules. 277 of these are used" in text
    assert "as good as 162 of equal weight" in text
    # That word is the verdict's, for what the chains themselves are worth.
    assert "independent" not in text
