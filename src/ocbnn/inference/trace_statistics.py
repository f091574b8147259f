"""What a run's own traces say about it: divergences, energies, collapse, climbing."""

from typing import NamedTuple

import numpy as np

from ocbnn.inference.diagnostics import energy_mixing, rise
from ocbnn.inference.draws import Draws

MANY_DIVERGENCES = 0.25
# Particles this much closer to each other than at their start are one point.
COLLAPSED = 0.01
# A gain in log density that nobody needs to wait for.
_SMALL_GAIN, _SMALL_SHARE = 1.0, 1e-3

# Names of traces that climb, what people call them, in the order they are looked for.
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
    """The share of their first distance that is left between collapsed particles."""
    spread = draws.warmup.get("spread")
    if spread is None or not spread.size:
        return None
    left = float(np.min(spread[:, -1] / np.maximum(spread[:, 0], 1e-30)))
    return left if left < COLLAPSED else None


def climbing(draws: Draws) -> tuple[str, np.ndarray] | None:
    """The trace that an optimisation climbs, with its name; None for samplers."""
    if draws.plan.is_exact or draws.plan.is_chain:
        return None
    for name in _CLIMBING:
        if draws.warmup.get(name, np.zeros(0)).size:
            return name, np.asarray(draws.warmup[name], float)
    return None


def gain(draws: Draws) -> Gain | None:
    """Whether, and by how much, an optimisation was still climbing at its end."""
    found = climbing(draws)
    if found is None:
        return None
    name, trace = found
    risen = rise(trace)
    level = abs(float(trace[:, -1].mean()))
    if risen <= max(_SMALL_GAIN, _SMALL_SHARE * level):
        return None
    setting = "iterations" if hasattr(draws.plan, "iterations") else "warmup"
    return Gain(_CLIMBING[name], risen, setting)
