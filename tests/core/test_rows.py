"""Rows that stand for all of a table."""

import numpy as np
from hypothesis import given, strategies as st

from ocbnn.core.rows import evenly


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_rows_are_the_distinct_ones_of_an_even_grid(count: int, most: int):
    grid = np.linspace(0, count - 1, most).astype(int)
    np.testing.assert_array_equal(evenly(count, most), np.unique(grid))


@given(st.integers(1, 5000), st.integers(2, 5000))
def test_gaps_between_rows_differ_by_one_at_most(count: int, most: int):
    gaps = np.diff(evenly(count, most))
    assert len(gaps) == min(count, most) - 1
    assert not len(gaps) or gaps.max() - gaps.min() <= 1


def test_an_empty_table_has_no_rows_to_choose():
    assert evenly(0, 5).shape == (0,)
