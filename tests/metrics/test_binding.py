"""Where a rule binds and what it removes, for functions whose answers are known."""

import numpy as np
import pytest
from scipy.stats import norm

from ocbnn.metrics.binding import binding, spread

# Straight lines y = a x, with standard normal slopes in equal steps of probability.
SLOPES = norm.ppf((np.arange(4000) + 0.5) / 4000)
X = np.linspace(0.0, 2.0, 81)
LINES = SLOPES[:, None] * X
EVEN = np.full(len(SLOPES), 1 / len(SLOPES))


def test_shares_are_those_of_the_normal_distribution():
    result, binds = binding(LINES > 1.0, EVEN)
    # A line breaks y <= 1 at x when its slope is above 1 / x.
    chances = np.array([norm.sf(1 / x) if x > 0 else 0.0 for x in X])
    assert result.pairs == pytest.approx(chances.mean(), abs=1e-3)
    assert result.points == pytest.approx(np.mean(chances > 0.05), abs=0.02)
    assert result.mostly == 0.0
    assert (X[binds].min(), X[binds].max()) == (pytest.approx(1 / 1.645, abs=0.05), 2)


def test_weights_bring_back_what_a_price_took_away():
    # Half of the lines above y = 1 at x = 1 were kept, each to count twice.
    kept = np.where(SLOPES > 1, np.arange(4000) % 2 == 0, True)
    weights = np.where(SLOPES > 1, 2.0, 1.0)[kept]
    result, _ = binding(LINES[kept] > 1.0, weights / weights.sum())
    whole, _ = binding(LINES > 1.0, EVEN)
    assert result.pairs == pytest.approx(whole.pairs, abs=1e-3)
    plain, _ = binding(LINES[kept] > 1.0, np.full(kept.sum(), 1 / kept.sum()))
    assert plain.pairs < 0.75 * whole.pairs


def test_the_spread_is_averaged_over_points_for_each_output():
    values = np.stack([LINES, 3 * LINES], axis=-1)
    np.testing.assert_allclose(spread(values, EVEN), [1.0, 3.0], rtol=1e-2)
