"""Timing in turns, so that a slow moment of the machine affects all runs."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

Run = Callable[[], Any]
Seconds = dict[str, np.ndarray]


class Spread(NamedTuple):
    """The median, minimum and maximum of a number."""

    middle: float
    low: float
    high: float


def in_turns(runs: Mapping[str, Run], repeats: int) -> Seconds:
    """Seconds of every run in each of several turns, after one turn that compiles."""
    for run in runs.values():
        jax.block_until_ready(run())
    seconds = {name: [] for name in runs}
    for turn in range(repeats):
        for name in in_order(runs, turn):
            seconds[name].append(timed(runs[name])[0])
    return {name: np.array(times) for name, times in seconds.items()}


def in_order(names: Iterable[str], turn: int) -> list[str]:
    """The order of runs in a turn.

    Each turn starts with another run, because the first one finds the coldest caches.

    >>> in_order(["a", "b", "c"], 4)
    ['b', 'c', 'a']
    """
    names = list(names)
    first = turn % len(names)
    return names[first:] + names[:first]


def timed(run: Run) -> tuple[float, Any]:
    """The seconds that a run takes, and its result."""
    start = time.perf_counter()
    result = jax.block_until_ready(run())
    return time.perf_counter() - start, result


def spread(values: np.ndarray) -> Spread:
    """The median over turns, the minimum and the maximum.

    >>> spread(np.array([3.0, 1.0, 2.0]))
    Spread(middle=2.0, low=1.0, high=3.0)
    """
    return Spread(float(np.median(values)), float(values.min()), float(values.max()))
