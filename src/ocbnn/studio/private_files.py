"""Files that only their owner can read, on shared machines."""

import contextlib
import os
import stat
from pathlib import Path

_OTHERS = 0o077


def keep_private() -> None:
    """Make files of this process and its children private to their owner."""
    os.umask(_OTHERS)


def make_folder(folder: Path) -> None:
    """Make a folder that is private to its owner; an existing one is left as it is."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def close_to_others(folder: Path) -> None:
    """Remove all permissions of others from a folder and everything in it."""
    if folder.is_symlink():
        return
    for directory, _, names in os.walk(folder):
        for path in (directory, *(os.path.join(directory, name) for name in names)):
            # Files of other owners cannot be changed.
            with contextlib.suppress(OSError):
                mode = os.lstat(path).st_mode
                if mode & _OTHERS and not stat.S_ISLNK(mode):
                    os.chmod(path, stat.S_IMODE(mode) & ~_OTHERS)
