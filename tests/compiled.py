"""Let go of compiled code before the system runs out of places to put it.

Every compiled function is a few memory maps of the process, of which Linux allows some
65,000. A test run compiles thousands of functions in one process, and when no map is
left the compiler itself crashes.
"""

import gc
from pathlib import Path

import jax

_MAPS = Path("/proc/self/maps")
_MANY = 20_000


def pytest_runtest_teardown(item, nextitem):
    """Between files, so that tests of one file share what they compile."""
    if nextitem is not None and nextitem.path == item.path:
        return
    if _MAPS.exists() and _MAPS.read_bytes().count(b"\n") > _MANY:
        jax.clear_caches()
        gc.collect()
