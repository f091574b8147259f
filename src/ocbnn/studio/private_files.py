"""Files that nobody else reads, on a machine that several people use."""

import contextlib
import os
import stat
from pathlib import Path

_OTHERS = 0o077


def keep_private() -> None:
    """Whatever this process and those that it starts write is its owner's alone."""
    os.umask(_OTHERS)


def make_folder(folder: Path) -> None:
    """Make a folder that is its owner's alone; one that is there stays as it is."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def close_to_others(folder: Path) -> None:
    """Take a folder, and all that is in it, from everybody but its owner."""
    if folder.is_symlink():
        return
    for place, _, names in os.walk(folder):
        for path in (place, *(os.path.join(place, name) for name in names)):
            # What belongs to somebody else is not ours to close.
            with contextlib.suppress(OSError):
                mode = os.lstat(path).st_mode
                if mode & _OTHERS and not stat.S_ISLNK(mode):
                    os.chmod(path, stat.S_IMODE(mode) & ~_OTHERS)
