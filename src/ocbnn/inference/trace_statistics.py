"""Statistics of a run's traces: divergences, energies, collapse, convergence."""

from typing import NamedTuple

import numpy as np

from ocbnn.inference.diagnostics import energy_mixing, rise
from ocbnn.inference.draws import Draws

MANY_DIVERGENCES = 0.25
# Particles have collapsed if their distance shrinks to this share.
COLLAPSED = 0.01
# Gains in log density that do not matter.
_SMALL_GAIN, _SMALL_SHARE = 1.0, 1e-3

# Names of objectives' traces and their names in messages, in order of preference.
_CLIMBING = {"elbo": "The evidence bound (ELBO)", "logdensity": "The log density"}


class Gain(NamedTuple):
    """A trace that was still rising when the run ended."""

    name: str
    value: float
    setting: str


def divergent_share(draws: Draws) -> float:
    """The share of moves after warm-up whose integration went wrong."""
    return draws.divergences / max(1, draws.size * max(1, draws.plan.thin))


def energies(draws: Draws) -> np.ndarray | None:
    """E-BFMI of each chain; None where energies were not kept move by move."""
    energy = draws.stats.get("energy")
    # A thinned trace holds means over moves, whose differences mean something else.
    if energy is None or draws.plan.thin != 1 or energy.shape[1] < 2:
        return None
    return energy_mixing(np.asarray(energy, float))


def collapse(draws: Draws) -> float | None:
    """The remaining share of collapsed particles' distance; None if not collapsed."""
    spread = draws.warmup.get("spread")
    if spread is None or not spread.size:
        return None
    remaining = float(np.min(spread[:, -1] / np.maximum(spread[:, 0], 1e-30)))
    return remaining if remaining < COLLAPSED else None


def climbing(draws: Draws) -> tuple[str, np.ndarray] | None:
    """The trace of an optimisation's objective, with its name; None for samplers."""
    if draws.plan.is_exact or draws.plan.is_chain:
        return None
    for name in _CLIMBING:
        if draws.warmup.get(name, np.zeros(0)).size:
            return name, np.asarray(draws.warmup[name], float)
    return None


def gain(draws: Draws) -> Gain | None:
    """How much an optimisation was still gaining at its end; None if not noticeably."""
    objective = climbing(draws)
    if objective is None:
        return None
    name, trace = objective
    risen = rise(trace)
    level = abs(float(trace[:, -1].mean()))
    if risen <= max(_SMALL_GAIN, _SMALL_SHARE * level):
        return None
    setting = "iterations" if hasattr(draws.plan, "iterations") else "warmup"
    return Gain(_CLIMBING[name], risen, setting)
