"""Files that appear whole or not at all, and reading that follows no links."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from ocbnn.errors import StorageError

TEMPORARY = ".tmp"
_WINDOWS_BINARY = getattr(os, "O_BINARY", 0)
# A link is not followed, and opening a pipe does not wait for someone to write to it.
_CAREFULLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that others see all of the old one or all of the new one.

    Raises
    ------
    StorageError
        When it cannot be written; what was there is still there.
    """
    path = Path(path)
    with explained(path, "written"):
        temporary = temporary_beside(path)
        try:
            _write_through(temporary, data)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def temporary_beside(path: Path) -> Path:
    """A name in the same folder that nobody uses, so that a rename is one step."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}{TEMPORARY}")


def sync_folder(folder: Path) -> None:
    """Have the disk remember the names in a folder, where the system can do that."""
    if os.name == "nt":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def read_file(path: Path, most: int) -> bytes:
    """The bytes of a plain file.

    Raises
    ------
    StorageError
        When it is a link or no plain file, or larger than `most`.
    """
    with explained(path, "read"):
        if path.is_symlink():
            raise StorageError(
                f"{path} is a link, and links in a bundle are not followed. Put the "
                "file itself in its place."
            )
        number = os.open(path, os.O_RDONLY | _WINDOWS_BINARY | _CAREFULLY)
        with open(number, "rb") as file:
            status = os.fstat(number)
            if not stat.S_ISREG(status.st_mode):
                raise StorageError(f"{path} is not a plain file, so it is not read.")
            data = b"" if status.st_size > most else file.read(most + 1)
        if status.st_size > most or len(data) > most:
            raise StorageError(
                f"{path} has {status.st_size} bytes, more than the {most} that are "
                "read here. If you trust the file and have the memory, raise the "
                "limit: read_bundle(path, most_bytes=...)."
            )
        return data


@contextlib.contextmanager
def explained(path: Path, verb: str) -> Iterator[None]:
    """What the operating system says, as a sentence that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"{path} could not be {verb}: {reason}.") from error
    except MemoryError as error:
        raise StorageError(
            f"{path} could not be {verb}: it does not fit into memory."
        ) from error


def _write_through(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _WINDOWS_BINARY
    with open(os.open(path, flags, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
