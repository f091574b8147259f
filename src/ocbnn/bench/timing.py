"""Timing things in turns, so that a slow moment of the machine hits all of them."""

import time
from collections.abc import Callable, Iterable, Mapping
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
    """Seconds of every run in each of several turns, after one turn that compiles."""
    for run in runs.values():
        jax.block_until_ready(run())
    found = {name: [] for name in runs}
    for turn in range(repeats):
        for name in in_order(runs, turn):
            found[name].append(timed(runs[name])[0])
    return {name: np.array(seconds) for name, seconds in found.items()}


def in_order(names: Iterable[str], turn: int) -> list[str]:
    """Names in the order of a turn.

    Turns begin with another one each, because the first finds the coldest caches.

    >>> in_order(["a", "b", "c"], 4)
    ['b', 'c', 'a']
    """
    names = list(names)
    first = turn % len(names)
    return names[first:] + names[:first]


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
