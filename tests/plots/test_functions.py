"""Bands are one and two sd around the mean, and bad shapes are told how to be good."""

import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection, LineCollection

from ocbnn.errors import DataError, SettingError
from ocbnn.plots import BASELINE, CONSTRAINED, prior_predictive, regression
from tests.plots.helpers import axes, labels, rule, waves

X = np.linspace(-3, 3, 61)
VALUES = waves(X)


def bands_of(ax):
    result = [c for c in ax.collections if isinstance(c, FillBetweenPolyCollection)]
    return [band.get_paths()[0].vertices for band in result]


def test_mean_line_is_the_mean_of_the_draws():
    (line,) = regression(axes(), X, VALUES).lines
    assert np.array_equal(line.get_xdata(), X)
    assert np.array_equal(line.get_ydata(), VALUES.mean(0))


def test_bands_are_two_and_one_sd_around_the_mean():
    mean, sd = VALUES.mean(0), VALUES.std(0)
    wide, narrow = bands_of(regression(axes(), X, VALUES))
    for vertices, width in ((wide, 2), (narrow, 1)):
        for at in (0, 30, 60):
            ys = vertices[np.isclose(vertices[:, 0], X[at]), 1]
            assert np.isclose(ys.min(), mean[at] - width * sd[at])
            assert np.isclose(ys.max(), mean[at] + width * sd[at])


def test_shown_draws_are_evenly_chosen_draws():
    ax = regression(axes(), X, VALUES, shown=3, bands=False, mean=False)
    (threads,) = ax.collections
    assert isinstance(threads, LineCollection)
    shown = [segment[:, 1] for segment in threads.get_segments()]
    assert np.array_equal(shown, VALUES[[0, 20, 39]])
    assert len(ax.lines) == 0


def test_two_models_data_and_rules_share_one_legend():
    ax = axes()
    rules = [rule("gap: if -1 <= x <= 1 then y < 2"), rule("y ~ Normal(x, 1)")]
    data = {"X": np.zeros((1, 1)), "y": np.ones(1), "rules": rules}
    regression(ax, X, VALUES, **BASELINE, **data)
    regression(ax, X, VALUES[..., None] / 2, **CONSTRAINED, **data)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "data",
        "BNN: mean, ±1 and ±2 sd",
        "OC-BNN: mean, ±1 and ±2 sd",
        "forbidden by “gap”",
        "expected by “y ~ Normal(x, 1)”, ±2 sd",
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")


def test_legend_lies_below_the_axes():
    ax = regression(axes(), X, VALUES, label="posterior")
    ax.figure.draw_without_rendering()
    legend, below = ax.get_legend().get_window_extent(), ax.xaxis.get_tightbbox()
    assert legend.y1 <= below.y0
    assert legend.y0 >= 0


def test_rules_go_beyond_the_view_without_widening_it():
    ax, plain = axes(), axes()
    regression(plain, X, VALUES)
    regression(ax, X, VALUES, rules=[rule("if x > 0 then y < 0")])
    assert ax.get_ylim() == plain.get_ylim()
    assert ax.patches[0].get_path().get_extents().y1 > ax.get_ylim()[1]


def test_prior_predictive_says_how_many_of_how_many():
    ax = prior_predictive(axes(), X, VALUES, shown=10, rules=[rule("low: y < 1")])
    assert sorted(labels(ax)) == ["10 of 40 prior draws", "forbidden by “low”"]
    assert labels(prior_predictive(axes(), X, VALUES)) == ["40 prior draws"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X, VALUES.T), r"`values` has shape \(draws, 61\).*\(61, 40\).*`values.T`"),
        ((X, VALUES[0]), r"`values` has shape .*got \(61,\).*one row per draw"),
        ((X, np.stack([VALUES] * 2, -1)), r"`values\[:, :, 0\]`"),
        ((X, np.full_like(VALUES, np.nan)), r"`values` is finite, but 2440 of"),
        ((X[:, None].repeat(2, 1), VALUES), r"`x` has shape \(n,\).*got \(61, 2\)"),
        ((X[::-1], VALUES), "`x` increases"),
    ],
)
def test_bad_shapes_are_named_shown_and_mended(arguments, message):
    with pytest.raises(DataError, match=message):
        regression(axes(), *arguments)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"X": np.zeros(3)}, "`y` is None"),
        ({"X": np.zeros((3, 2)), "y": np.zeros(3)}, r"`X`.*got \(3, 2\).*`X\[:, 0\]`"),
        ({"X": np.zeros(3), "y": np.zeros(4)}, "got 3 and 4 rows"),
    ],
)
def test_bad_data_is_named(data, message):
    with pytest.raises(DataError, match=message):
        regression(axes(), X, VALUES, **data)


def test_drawing_nothing_is_refused():
    with pytest.raises(SettingError, match="nothing to draw"):
        regression(axes(), X, VALUES, mean=False, bands=False)
    with pytest.raises(SettingError, match="`shown` is a whole number"):
        regression(axes(), X, VALUES, shown=-1)
