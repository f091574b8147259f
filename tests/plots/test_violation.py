"""A profile is the share of draws that violate a rule, and zero is a line."""

import numpy as np
import pytest

from ocbnn.errors import DataError, SettingError
from ocbnn.plots import violation_profile
from ocbnn.rules import Schema, bind, custom
from tests.plots.helpers import COLOURS, PLAIN, axes, labels, rule, waves

X = np.linspace(-3, 3, 61)
VALUES = waves(X)


def test_profile_is_the_share_of_breaking_draws_in_the_region_only():
    ax = violation_profile(axes(), X, VALUES, [rule("low: if x > 0 then y < 1")])
    share = ax.lines[0].get_ydata()
    assert np.isnan(share[X <= 0]).all()
    assert np.array_equal(share[X > 0], (VALUES >= 1).mean(0)[X > 0])


def test_a_kept_rule_is_a_line_at_zero_within_the_view():
    ax = violation_profile(axes(), X, VALUES, [rule("if x > 0 then y < 999")])
    share = ax.lines[0].get_ydata()
    assert np.array_equal(share[X > 0], np.zeros(30))
    assert ax.get_ylim()[0] < 0
    assert labels(ax) == ["“if x > 0 then y < 999”: 0 %"]


def test_legend_never_rounds_a_broken_rule_to_zero():
    values = np.zeros((1000, 61))
    values[0, 0] = 5
    ax = violation_profile(axes(), X, values, [rule("low: y < 1")])
    assert labels(ax) == ["“low”: < 0.01 %"]


def test_rules_without_points_or_truth_say_so():
    mine = bind(custom(lambda xs, ys: 0.0, name="mine"), PLAIN)
    ax = violation_profile(axes(), X, VALUES, [mine, rule("far: if x > 9 then y < 1")])
    assert labels(ax) == [
        "“mine”: cannot be checked",
        "“far”: no input of `x` in its region",
    ]


def test_values_do_not_show_whether_a_rule_about_slopes_is_broken():
    ax = violation_profile(
        axes(), X, VALUES, [rule("up: if x > 0 then y rises with x")]
    )
    assert labels(ax) == ["“up”: about slopes, which `values` lack"]
    assert np.isnan(ax.lines[0].get_ydata()).all()


def test_several_outputs_and_classes_have_profiles_too():
    both = rule("y < z", Schema(("x",), ("y", "z")))
    ax = violation_profile(axes(), X, np.stack([VALUES, VALUES + 1], -1), [both])
    assert labels(ax) == ["“y < z”: 0 %"]
    colour = rule("if a > 0 then class in {red}", COLOURS)
    ax = violation_profile(axes(), X, np.full((5, 61), 2), [colour])
    assert labels(ax)[0].endswith("100.00 %")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (VALUES.T, r"`values` has shape \(draws, 61\).*\(61, 40\)"),
        (VALUES[0], r"got float64 of shape \(61,\)"),
        (np.zeros((4, 61, 2)), r"of shape \(4, 61, 2\)"),
    ],
)
def test_bad_values_are_named(values, message):
    with pytest.raises(DataError, match=message):
        violation_profile(axes(), X, values, [rule("y < 1")])


def test_no_rules_is_refused():
    with pytest.raises(SettingError, match="nothing to draw"):
        violation_profile(axes(), X, VALUES, [])
