"""Rules hold what was said, check their settings, and print as text."""

import numpy as np
import pytest

from ocbnn.claims.settings import check_setting
from ocbnn.errors import RuleError, RuleSyntaxError, SettingError
from ocbnn.rules import custom, expect, forbid, inputs, outputs, parse_rule, require

x, y = inputs("x"), outputs("y")


def log_g(xs, ys):
    return -(ys**2).sum()


def test_forbid_requires_the_opposite():
    assert forbid(y > 3) == require(~(y > 3))
    assert forbid(~(y > 3)) == require(y > 3)


def test_the_defaults_of_the_indicator_are_the_papers():
    rule = require(y > 3, form="indicator")
    assert (rule.gamma, rule.points, rule.tau) == (10_000.0, 50, (15.0, 2.0))
    assert (rule.allowed, rule.per) == (10.0, "point")
    assert rule.weight is rule.where is rule.name is rule.sampler is None
    # A class rule's α = 0.01 is that of the prior on weights: see test_target.py.
    assert rule.forbidden is None


def test_a_rule_is_held_by_distance_unless_a_setting_is_the_indicators():
    assert not require(y > 3).is_indicator
    assert not require(y > 3, strength="firm", tolerance=2).is_indicator
    for settings in ({"strength": 5}, {"tau": (30, 2)}, {"literal": True}):
        assert require(y > 3, **settings).is_indicator
        with pytest.raises(SettingError, match=r"`form=indicator`, or say how far"):
            require(y > 3, form="distance", **settings)
    with pytest.raises(RuleSyntaxError, match="`form` is the form of the penalty"):
        parse_rule("y > 3 [form=hinge]")


def test_mixture_weights_are_shares():
    rule = expect(y, [x, -x], sd=[0.5, 1], weights=[1, 3])
    assert rule.claim.weights == (0.25, 0.75)
    assert rule.claim.sds == (0.5, 1.0)
    assert str(rule) == "y ~ 0.25*Normal(x, 0.5) + 0.75*Normal(-x, 1)"


def test_a_users_sampler_is_compared_by_identity_and_not_printed():
    points, same = np.zeros((3, 1)), np.zeros((3, 1))
    rule = require(y > 3, sampler=points)
    assert rule == require(y > 3, sampler=points)
    assert rule != require(y > 3, sampler=same)
    assert hash(rule) == hash(require(y > 3, sampler=points))
    assert str(rule) == "y > 3"


def test_custom_rules_are_equal_when_the_function_is_the_same():
    assert custom(log_g) == custom(log_g)
    assert hash(custom(log_g)) == hash(custom(log_g))
    assert custom(log_g) != custom(lambda xs, ys: 0.0)
    assert str(custom(log_g, x < 1, name="own")) == "own: if x < 1 then custom(log_g)"


def test_only_settings_that_differ_are_printed():
    rule = require(y > 3, strength=5, literal=True, tau=(15, 3), sampler="box")
    text = "y > 3 [strength=5, literal=yes, sampler=box, tau0=15, tau1=3]"
    assert str(rule) == text
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    ("setting", "advice"),
    [
        ({"strength": 0}, "`strength` is a positive"),
        ({"strength": "high"}, "`strength` is a positive number or one of soft, firm"),
        ({"strength": float("nan")}, "positive finite"),
        ({"points": 0}, "whole number"),
        ({"points": 2.5}, "whole number"),
        ({"weight": -1}, "`weight`"),
        ({"allowed": 0}, "`allowed`"),
        ({"forbidden": 0}, "`forbidden`"),
        ({"tau": (1, 0)}, "`tau1`"),
        ({"tau": 3}, r"tau=\(15, 2\)"),
        ({"per": "box"}, '"region"'),
        ({"literal": 1}, "True or False"),
        ({"sampler": "sobol"}, "like-data"),
    ],
)
def test_settings_out_of_range_are_refused(setting, advice):
    ((name, value),) = setting.items()
    with pytest.raises(SettingError, match=advice):
        check_setting(name, value)


def test_strength_is_a_number_or_a_word():
    given = ("soft", 5, "firm", "hard")
    rules = [require(y > 1, strength=strength) for strength in given]
    assert [rule.strictness for rule in rules] == ["soft", "soft", "firm", "hard"]
    assert [rule.gamma for rule in rules] == [10_000.0, 5.0, 10_000.0, 10_000.0]
    assert [str(rule) for rule in rules] == [
        "y > 1",
        "y > 1 [strength=5]",
        "y > 1 [strength=firm]",
        "y > 1 [strength=hard]",
    ]


def test_a_rule_checks_its_settings():
    with pytest.raises(SettingError, match="strength"):
        require(y > 1, strength=-1)


@pytest.mark.parametrize(
    ("write", "error", "advice"),
    [
        (lambda: require(y == 3), RuleError, "expect"),
        (lambda: require(y), RuleError, "needs a condition"),
        (lambda: require(y > 1, where=x), RuleError, "`where` needs a condition"),
        (lambda: expect(y, x, sd=0), SettingError, "`sd`"),
        (lambda: expect(y, x, sd=None), SettingError, "`sd`"),
        (lambda: expect(y, [x, 1], sd=1, weights=[1, -1]), SettingError, "`weights`"),
        (lambda: expect(y, [x, 1], sd=[1, 2, 3]), RuleError, "one mean, one sd"),
        (lambda: expect(y > 1, x, sd=1), RuleError, "Join conditions"),
        (lambda: require(y > 1, name="a:b"), RuleError, "letters, digits"),
        (lambda: require(y > 1, name=" a"), RuleError, "letters, digits"),
        (lambda: require(y > 1, name="if a"), RuleError, "begin with `if`"),
    ],
)
def test_refusals_give_advice(write, error, advice):
    with pytest.raises(error, match=advice):
        write()


@pytest.mark.parametrize(
    ("name", "advice"),
    [("tau0", r"`tau=\(30, 2\)`"), ("strenght", "Did you mean `strength`")],
)
def test_settings_that_there_are_not_are_refused(name, advice):
    with pytest.raises(SettingError, match=advice):
        require(y > 3, **{name: 30})
