"""Atomic writing of files, and reading that follows no links."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from ocbnn.errors import StorageError

TEMPORARY = ".tmp"
_WINDOWS_BINARY = getattr(os, "O_BINARY", 0)
# Do not follow links, and do not wait for a writer when opening a pipe.
_CAREFULLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace a file atomically: readers see all of the old one or all of the new one.

    Raises
    ------
    StorageError
        When it cannot be written; the old file is kept.
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
    """An unused name in the same folder, so that a rename is atomic."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}{TEMPORARY}")


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, if the system supports it."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_file(path: Path, most: int) -> bytes:
    """The bytes of a plain file.

    Raises
    ------
    StorageError
        When it is a link, not a plain file, or larger than `most`.
    """
    with explained(path, "read"):
        if path.is_symlink():
            raise StorageError(
                f"{path} is a link, and links in a bundle are not followed. Replace it "
                "with the file itself."
            )
        descriptor = os.open(path, os.O_RDONLY | _WINDOWS_BINARY | _CAREFULLY)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise StorageError(f"{path} is not a plain file, so it is not read.")
            data = b"" if status.st_size > most else file.read(most + 1)
        if status.st_size > most or len(data) > most:
            raise StorageError(
                f"{path} has {status.st_size} bytes, more than the limit of {most}. If "
                "you trust it and have the memory, raise the limit: "
                "read_bundle(path, most_bytes=...)."
            )
        return data


@contextlib.contextmanager
def explained(path: Path, verb: str) -> Iterator[None]:
    """Report errors of the operating system as sentences that name the file."""
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
