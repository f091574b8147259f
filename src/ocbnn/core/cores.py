"""The processor cores of this process, and who may use them."""

import contextlib
import os
from collections.abc import Iterator


def cores() -> int:
    """The cores this process may use, which may be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
