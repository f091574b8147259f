"""Timing things in turns, so that a slow moment of the machine hits all of them."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

Run = Callable[[], Any]
Seconds = dict[str, np.ndarray]


class Spread(NamedTuple):
    """A number that was measured several times."""

    middle: float
    low: float
    high: float


def in_turns(runs: Mapping[str, Run], repeats: int) -> Seconds:
    """Seconds of every run in each of several turns, after one turn that compiles.

    Turns begin with another run each, because the first one finds the coldest caches.
    """
    for run in runs.values():
        jax.block_until_ready(run())
    names, found = list(runs), {name: [] for name in runs}
    for turn in range(repeats):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            found[name].append(timed(runs[name])[0])
    return {name: np.array(seconds) for name, seconds in found.items()}


def timed(run: Run) -> tuple[float, Any]:
    """Seconds of one run, and what it gave."""
    began = time.perf_counter()
    found = jax.block_until_ready(run())
    return time.perf_counter() - began, found


def spread(values: np.ndarray) -> Spread:
    """The median over turns, the least and the greatest.

    >>> spread(np.array([3.0, 1.0, 2.0]))
    Spread(middle=2.0, low=1.0, high=3.0)
    """
    return Spread(float(np.median(values)), float(values.min()), float(values.max()))
