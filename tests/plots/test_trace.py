"""Outlines agree with membership everywhere, and edges are exact."""

import numpy as np
import pytest

from ocbnn.plots.trace import trace

SETS = {
    "box": lambda x, y: (abs(x) <= 0.3) & ((y < 2.5) | (y > 3)),
    "slanted": lambda x, y: (x >= 1) & (y > x + 1),
    "disc": lambda x, y: x**2 + y**2 <= 2,
    "annulus": lambda x, y: abs(x**2 + y**2 - 5) <= 2,
    "two regions": lambda x, y: ((x < -2) & (y < 1)) | ((x > 1) & (y < 3)),
    "step": lambda x, y: y > np.where(x < 0.123, 0.0, 2.0),
    "steep": lambda x, y: y > np.tanh(200 * x),
    "all": lambda x, y: np.ones_like(x, dtype=bool),
}


def evenly_odd(path, points):
    """Inside by crossing parity of each polygon; matplotlib's own test has a margin."""
    inside = np.zeros(len(points), dtype=bool)
    path = path.deepcopy()
    path.should_simplify = False  # which is to a pixel, here a unit
    for polygon in path.to_polygons(closed_only=False):
        ends, starts = np.roll(polygon, -1, axis=0), polygon
        x, y = points[:, :1], points[:, 1:]
        spans = (starts[:, 0] <= x) != (ends[:, 0] <= x)
        with np.errstate(all="ignore"):
            share = (x - starts[:, 0]) / (ends[:, 0] - starts[:, 0])
            height = starts[:, 1] + share * (ends[:, 1] - starts[:, 1])
        inside |= (spans & (y < height)).sum(axis=1) % 2 == 1
    return inside


@pytest.mark.parametrize("name", SETS)
def test_filled_points_are_the_points_of_the_set(name):
    outline = trace(SETS[name], (-4, 4), (-4, 4))
    points = np.random.default_rng(1).uniform(-3.99, 3.99, (4000, 2))
    wrong = evenly_odd(outline.fill, points) != SETS[name](*points.T)
    # Chords of curved edges leave slivers, and tips end a mesh width early.
    assert wrong.sum() <= (2 if name in ("disc", "annulus", "steep") else 0)


def test_edges_lie_where_they_are_and_not_on_a_mesh():
    outline = trace(SETS["box"], (-4, 4), (-4, 4))
    assert np.allclose(np.unique(outline.sides[:, 0].round(7))[:2], [-0.3, 0.3])
    ends = outline.curves[~np.isnan(outline.curves[:, 1]), 1]
    assert np.allclose(np.unique(ends.round(7)), [2.5, 3.0])


def test_limits_that_cut_a_set_off_are_no_boundary():
    outline = trace(SETS["all"], (-4, 4), (-4, 4))
    assert np.isnan(outline.boundary[:, 1]).all()
    assert outline.fill.get_extents().extents.tolist() == [-4, -4, 4, 4]


def test_a_region_narrower_than_the_mesh_is_found_where_it_is_announced():
    narrow = lambda x, y: (x >= 0.1234) & (x <= 0.1235)
    assert trace(narrow, (-4, 4), (-4, 4)).is_empty
    result = trace(narrow, (-4, 4), (-4, 4), at=[0.1234, 0.1235])
    assert np.allclose(result.fill.get_extents().intervalx, [0.1234, 0.1235], atol=1e-7)


def test_wild_sets_end_in_reasonable_time():
    wild = lambda x, y: y > 3 * np.sin(1 / np.where(x == 0, 1, x) ** 2)
    assert len(trace(wild, (-1, 1), (-4, 4)).fill.vertices) < 100_000
