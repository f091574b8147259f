"""Plans by name, and which one the size of a problem asks for."""

import pytest

from ocbnn.errors import SettingError
from ocbnn.inference import MCLMC, NUTS, PLANS, SGHMC, SMC, WarmStart, choose


def test_a_plan_is_taken_as_it_is_and_a_name_for_its_plan():
    plan = NUTS(draws=7)
    assert choose(plan, rows=10, weights=10).plan is plan
    for name, kind in PLANS.items():
        choice = choose(name.upper(), rows=10, weights=10)
        assert type(choice.plan) is kind
        assert choice.reason == ""


@pytest.mark.parametrize(
    ("rows", "weights", "sampler"),
    [(6, 31, NUTS), (300, 400, MCLMC), (5_000, 10_000, MCLMC)],
)
def test_auto_warms_up_a_sampler_that_suits_the_size(rows, weights, sampler):
    choice = choose("auto", rows=rows, weights=weights)
    assert isinstance(choice.plan, WarmStart)
    assert isinstance(choice.plan.sampler, sampler)
    assert f"{weights:,} weights and {rows:,} rows" in choice.reason
    assert choice.batch_size is None


def test_auto_takes_batches_when_all_rows_are_too_many():
    choice = choose("auto", rows=125_000, weights=42_602)
    assert isinstance(choice.plan, SGHMC)
    assert choice.batch_size == 512


def test_auto_keeps_both_sides_of_a_box_where_that_can_be_afforded():
    choice = choose("auto", rows=6, weights=31, has_sides=True)
    assert isinstance(choice.plan, SMC)
    assert "several sides" in choice.reason
    large = choose("auto", rows=300, weights=400, has_sides=True)
    assert isinstance(large.plan, WarmStart)
    assert "do not rely on the share of draws on each side" in large.reason


@pytest.mark.parametrize("wrong", ["nutz", 3, None, NUTS])
def test_what_is_no_plan_is_refused_with_what_to_write(wrong):
    with pytest.raises(SettingError, match="write one of 'auto', 'nuts'"):
        choose(wrong, rows=1, weights=1)
    with pytest.raises(SettingError, match="Did you mean `nuts`"):
        choose("nutz", rows=1, weights=1)
