"""The processor cores of this process, and who may use them."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


def cores() -> int:
    """The cores this process may use, which may be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_on_cores(
    function: Callable[[Item], Outcome], items: Iterable[Item]
) -> list[Outcome]:
    """The function's results in the order of the items, computed on all cores.

    Threads suffice, because compiled code does not hold Python's lock. The first item
    goes alone, because it compiles what the others use.
    """
    first, *others = items
    outcomes = [function(first)]
    if others:
        with ThreadPoolExecutor(cores()) as pool:
            outcomes += pool.map(function, others)
    return outcomes


@contextlib.contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Small matrices are factorised on the caller's core alone.

    Where callers have a core each, threads of BLAS wait for one another while spinning:
    a factor of 50 columns took 15 times as long beside other work.
    """
    # Both only where they are needed: SciPy brings the BLAS that JAX calls, which must
    # be there to be limited.
    import scipy.linalg  # noqa: F401, PLC0415
    from threadpoolctl import threadpool_limits  # noqa: PLC0415

    with threadpool_limits(1, user_api="blas"):
        yield
