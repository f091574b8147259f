"""Code compiled by one command, kept for the next: compiling takes most of a short run.

JAX keeps it in a folder, by what was compiled and for which machine and version. Who
has set `JAX_COMPILATION_CACHE_DIR` keeps their own; `OCBNN_CACHE=off` keeps nothing.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

_FOLDER = "JAX_COMPILATION_CACHE_DIR"
_SETTINGS = {
    # Reading what took less to compile than this is no faster.
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
        return  # A home that cannot be written to is no reason to fail.
    if not os.access(folder, os.W_OK):
        return
    os.environ[_FOLDER] = str(folder)
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)


def cache_folder(environment: Mapping[str, str], platform: str) -> Path:
    """Where this system keeps what can be made again.

    >>> cache_folder({"XDG_CACHE_HOME": "/scratch"}, "linux").as_posix()
    '/scratch/ocbnn/compiled'
    """
    home = Path(environment.get("HOME") or environment.get("USERPROFILE") or ".")
    if platform == "win32":
        place = Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif platform == "darwin":
        place = home / "Library" / "Caches"
    else:
        place = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    return place / "ocbnn" / "compiled"
