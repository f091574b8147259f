"""Plots that show whether draws can be trusted: mixing, traces, ranks, energies."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ocbnn.core.rows import evenly
from ocbnn.errors import DataError
from ocbnn.inference.diagnostics import ess_bulk, ess_tail, rhat
from ocbnn.inference.verdict import FAIR_RHAT, GOOD_RHAT, WANTED_ESS
from ocbnn.plots import checks
from ocbnn.plots.style import BLUE, DASHES, GREY, HUES, RED, legend, tidy

_BINS = 20
_MOST_POINTS = 2000


def rhat_profile(
    ax: Axes, x: np.ndarray, values: np.ndarray, *, name: str = "x"
) -> Axes:
    """Draw R-hat of the function along an input, with the limits it should keep.

    Parameters
    ----------
    ax
        Where to draw.
    x
        Inputs (n,), increasing.
    values
        The function there, of every chain and draw: (chains, draws, n).
    name
        The name of the input.
    """
    x, values = checks.along(x), _chains(values, len(x))
    numbers = rhat(values)
    ax.plot(x, numbers, color=BLUE, linewidth=2.0, label="R-hat of f")
    for limit, status, dash in (
        (GOOD_RHAT, "good", DASHES[1]),
        (FAIR_RHAT, "fair", DASHES[2]),
    ):
        ax.axhline(
            limit,
            color=GREY,
            linestyle=dash,
            linewidth=1.2,
            label=f"{status}: at most {limit}",
        )
    ax.fill_between(
        x,
        FAIR_RHAT,
        numbers,
        where=numbers > FAIR_RHAT,
        color=RED,
        alpha=0.3,
        linewidth=0,
        interpolate=True,
        label="chains disagree",
    )
    ax.set_ylim(bottom=min(0.995, float(np.nanmin(numbers))))
    return _finished(ax, x, name, "R-hat")


def ess_profile(
    ax: Axes, x: np.ndarray, values: np.ndarray, *, name: str = "x"
) -> Axes:
    """Draw bulk and tail effective sample size along an input.

    The arguments are those of `rhat_profile`.
    """
    x, values = checks.along(x), _chains(values, len(x))
    ax.plot(x, ess_bulk(values), color=BLUE, linewidth=2.0, label="bulk (means)")
    ax.plot(
        x,
        ess_tail(values),
        color=HUES[1],
        linewidth=2.0,
        linestyle=DASHES[1],
        label="tail (intervals)",
    )
    ax.axhline(
        WANTED_ESS,
        color=GREY,
        linestyle=DASHES[2],
        linewidth=1.2,
        label=f"target: {WANTED_ESS:.0f}",
    )
    ax.set_ylim(bottom=0.0)
    return _finished(ax, x, name, "effective sample size")


def chain_trace(ax: Axes, values: np.ndarray, *, name: str = "f(x)") -> Axes:
    """Draw one quantity along every chain: all should cover the same range.

    Parameters
    ----------
    ax
        Where to draw.
    values
        The quantity of every chain and draw: (chains, draws).
    name
        Its name.
    """
    values = _chains(values, None)
    draws = np.arange(values.shape[1])
    indices = evenly(len(draws), _MOST_POINTS)
    for chain, line in enumerate(values):
        ax.plot(
            draws[indices],
            line[indices],
            color=HUES[chain % len(HUES)],
            linestyle=DASHES[chain // len(HUES) % len(DASHES)],
            linewidth=0.8,
            alpha=0.85,
            label=f"chain {chain + 1}",
        )
    return _finished(ax, draws, "draw", name)


def rank_bars(ax: Axes, values: np.ndarray, *, name: str = "f(x)") -> Axes:
    """Draw how each chain's values rank among all: flat when chains agree.

    The arguments are those of `chain_trace`. The band holds 95 % of the bars of chains
    that agree and whose draws are independent.
    """
    values = _chains(values, None)
    chains, draws = values.shape
    ranks = values.ravel().argsort(kind="stable").argsort().reshape(chains, draws)
    edges = np.linspace(0, chains * draws, _BINS + 1)
    even = draws / _BINS
    half = 1.96 * np.sqrt(even * (1 - 1 / _BINS))
    ax.axhspan(
        max(even - half, 0.0),
        even + half,
        color=GREY,
        alpha=0.2,
        linewidth=0,
        label="95 % if chains agree",
    )
    for chain, row in enumerate(ranks):
        counts, _ = np.histogram(row, edges)
        ax.stairs(
            counts,
            edges,
            color=HUES[chain % len(HUES)],
            linestyle=DASHES[chain % len(DASHES)],
            linewidth=1.6,
            label=f"chain {chain + 1}",
        )
    ax.set_ylim(bottom=0.0)
    return _finished(ax, edges, f"rank of {name} among all draws", "draws")


def energy_histogram(ax: Axes, energy: np.ndarray) -> Axes:
    """Draw histograms of energies and of their changes, which should be alike.

    If changes are much narrower than energies, chains move slowly and miss tails.

    Parameters
    ----------
    ax
        Where to draw.
    energy
        The energy of every chain and draw: (chains, draws).
    """
    energy = _chains(energy, None)
    changes = np.diff(energy, axis=1).ravel()
    level = (energy - energy.mean(axis=1, keepdims=True)).ravel()
    together = np.concatenate([level, changes])
    edges = np.histogram_bin_edges(together, bins=40).tolist()
    ax.hist(
        level,
        edges,
        density=True,
        color=GREY,
        alpha=0.45,
        label="energy, less its mean",
    )
    ax.hist(
        changes,
        edges,
        density=True,
        histtype="step",
        color=BLUE,
        linewidth=2.0,
        label="change from draw to draw",
    )
    return _finished(ax, np.array(edges), "energy (log density units)", "density")


def progress_trace(ax: Axes, trace: np.ndarray, *, name: str) -> Axes:
    """Draw a number along the warm-up: ELBO, temperature, spread, log density.

    Parameters
    ----------
    ax
        Where to draw.
    trace
        (chains, moves).
    name
        Its name.
    """
    trace = _chains(trace, None)
    moves = np.arange(1, trace.shape[1] + 1)
    for chain, line in enumerate(trace):
        ax.plot(
            moves,
            line,
            color=HUES[chain % len(HUES)],
            linestyle=DASHES[chain % len(DASHES)],
            linewidth=1.6,
            label=f"run {chain + 1}",
        )
    # The first few moves climb so far that nothing else would be visible.
    late = trace[:, len(moves) // 20 :]
    low, high = np.nanmin(late), np.nanmax(late)
    if np.isfinite([low, high]).all() and high > low:
        margin = 0.05 * (high - low)
        ax.set_ylim(low - margin, high + margin)
    return _finished(ax, moves, "step", name, with_legend=len(trace) > 1)


def _chains(values: np.ndarray, points: int | None) -> np.ndarray:
    values = np.asarray(values, float)
    expected = "(chains, draws)" if points is None else f"(chains, draws, {points})"
    fits = values.ndim == (2 if points is None else 3) and values.size > 0
    if not fits or (points is not None and values.shape[2] != points):
        raise DataError(
            f"`values` has shape {expected}, got {values.shape}. Pass "
            "`functions.reshape(chains, draws, -1)`."
        )
    return values


def _finished(
    ax: Axes, x: np.ndarray, across: str, up: str, *, with_legend: bool = True
) -> Axes:
    ax.set_xlim(float(x[0]), float(x[-1]))
    ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    tidy(ax, (across, up))
    if with_legend:
        legend(ax)
    return ax
