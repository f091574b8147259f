"""Pictures of mixing: what they show, and what they refuse."""

import numpy as np
import pytest

from ocbnn import plots
from ocbnn.errors import DataError

X = np.linspace(0.0, 1.0, 11)


def values(shift=0.0):
    """Four chains; the first lies elsewhere from the middle of the axis on."""
    rng = np.random.default_rng(0)
    result = rng.standard_normal((4, 100, 11))
    result[0, :, 6:] += shift
    return result


def axes():
    return plots.figure(4, 3).add_subplot()


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_r_hat_rises_where_chains_disagree():
    ax = plots.rhat_profile(axes(), X, values(5.0), name="dose")
    line = ax.lines[0].get_ydata()
    assert line[:5].max() < 1.1 < line[8]
    assert ax.get_xlabel() == "dose"
    assert {"good: at most 1.01", "chains disagree"} <= set(labels(ax))


def test_sample_sizes_have_two_lines_and_what_is_wanted():
    ax = plots.ess_profile(axes(), X, values())
    assert labels(ax) == ["bulk (means)", "tail (intervals)", "target: 400"]
    assert ax.get_ylim()[0] == 0


def test_traces_and_ranks_name_every_chain():
    one = values(3.0)[..., 8]
    trace = plots.chain_trace(axes(), one, name="y at x = 0.8")
    assert [line.get_label() for line in trace.lines] == [
        f"chain {i}" for i in range(1, 5)
    ]
    assert trace.get_ylabel() == "y at x = 0.8"
    ranks = plots.rank_bars(axes(), one)
    assert "95 % if chains agree" in labels(ranks)
    counts = [
        patch.get_data().values for patch in ranks.patches if hasattr(patch, "get_data")
    ]
    assert [int(sum(count)) for count in counts] == [100] * 4
    assert counts[0][:10].sum() < 10  # the shifted chain ranks high


def test_energies_and_progress_are_drawn():
    energy = np.random.default_rng(1).standard_normal((2, 200))
    assert set(labels(plots.energy_histogram(axes(), energy))) == {
        "energy, less its mean",
        "change from draw to draw",
    }
    climb = np.concatenate([[[-1e9]], np.linspace(-10, 0, 99)[None]], axis=1)
    ax = plots.progress_trace(axes(), climb, name="ELBO")
    assert ax.get_ylim()[0] > -20  # the first move does not hide the rest
    assert ax.get_legend() is None
    assert ax.get_ylabel() == "ELBO"


def test_arrays_of_another_shape_are_told_what_to_pass():
    with pytest.raises(
        DataError, match=r"shape \(chains, draws, 11\), got \(400, 11\)"
    ):
        plots.rhat_profile(axes(), X, values().reshape(400, 11))
