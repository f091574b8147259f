"""A cache of compiled code on disk: compiling takes most of the time of a short run.

JAX keeps it in a folder, keyed by program, machine and version. A user's own
`JAX_COMPILATION_CACHE_DIR` takes precedence, and `OCBNN_CACHE=off` disables the cache.

The package `platformdirs` knows such folders, too. It is not used because it would be
one more dependency, which every command imports in 13 ms, for the few lines of
`cache_folder`.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

_FOLDER = "JAX_COMPILATION_CACHE_DIR"
_SETTINGS = {
    # Compiling anything faster than this takes no longer than reading it.
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


def keep_compiled() -> None:
    """Tell JAX, which has not been imported yet, where to keep what it compiles."""
    if _FOLDER in os.environ or os.environ.get("OCBNN_CACHE") == "off":
        return
    folder = cache_folder(os.environ, sys.platform)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return  # An unwritable home directory is not a reason to fail.
    if not os.access(folder, os.W_OK):
        return
    os.environ[_FOLDER] = str(folder)
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)


def cache_folder(environment: Mapping[str, str], platform: str) -> Path:
    """The cache folder of the operating system.

    >>> cache_folder({"XDG_CACHE_HOME": "/scratch"}, "linux").as_posix()
    '/scratch/ocbnn/compiled'
    """
    home = Path(environment.get("HOME") or environment.get("USERPROFILE") or ".")
    if platform == "win32":
        root = Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif platform == "darwin":
        root = home / "Library" / "Caches"
    else:
        root = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    return root / "ocbnn" / "compiled"
