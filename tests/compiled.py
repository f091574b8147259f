"""Compile once for all processes of a test run, and let go before it is too much.

Nearly all the time of a test run is spent compiling. What one process compiled, the
others (the workers, and the commands that tests start) read from a folder that lasts as
long as the run. Who has set `JAX_COMPILATION_CACHE_DIR` keeps their own folder, and a
second run finds there what the first one compiled.

Every compiled function is a few memory maps of the process, of which Linux allows some
65,000. A test run compiles thousands of functions in one process, and when no map is
left the compiler itself crashes.
"""

import gc
import os
import tempfile
from pathlib import Path

import jax
import pytest

_MAPS = Path("/proc/self/maps")
_MANY = 20_000
_FOLDER = pytest.StashKey[tempfile.TemporaryDirectory]()
# Reading what took less to compile than this is no faster.
_WORTH_KEEPING = 0.05


def pytest_configure(config):
    """Before workers are started, so that they and their children inherit it."""
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    folder = tempfile.TemporaryDirectory(prefix="ocbnn-compiled-")
    config.stash[_FOLDER] = folder
    settings = {
        "jax_compilation_cache_dir": folder.name,
        "jax_persistent_cache_min_compile_time_secs": _WORTH_KEEPING,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    for name, value in settings.items():
        os.environ[name.upper()] = str(value)
        jax.config.update(name, value)  # it has read the environment already


def pytest_unconfigure(config):
    """The folder's end, in the process that made it."""
    if _FOLDER in config.stash:
        config.stash[_FOLDER].cleanup()


def pytest_runtest_teardown(item, nextitem):
    """Between files, so that tests of one file share what they compile."""
    if nextitem is not None and nextitem.path == item.path:
        return
    if _MAPS.exists() and _MAPS.read_bytes().count(b"\n") > _MANY:
        jax.clear_caches()
        gc.collect()
