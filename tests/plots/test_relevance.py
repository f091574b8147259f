"""A line for each input: its median, half of the draws and nine tenths of them."""

import numpy as np
import pytest

from ocbnn.errors import DataError
from ocbnn.plots import relevance_bars
from tests.plots.helpers import axes

SHARES = np.random.default_rng(0).dirichlet([8, 1, 1], 500)


def test_medians_are_where_the_points_are_with_the_first_on_top():
    ax = relevance_bars(axes(), ["a", "$b", "c"], SHARES)
    points = ax.lines[-1]
    np.testing.assert_array_equal(points.get_xdata(), np.median(SHARES, axis=0))
    np.testing.assert_array_equal(points.get_ydata(), [0, 1, 2])
    assert ax.get_ylim() == (2.5, -0.5)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", r"\$b", "c"]


def test_a_line_shows_what_all_would_have_if_they_mattered_alike():
    ax = relevance_bars(axes(), ["a", "b", "c"], SHARES)
    assert ax.lines[0].get_xdata()[0] == pytest.approx(1 / 3)


def test_shares_of_another_shape_are_refused():
    with pytest.raises(DataError, match=r"\(draws, 2\).*got \(500, 3\)"):
        relevance_bars(axes(), ["a", "b"], SHARES)
