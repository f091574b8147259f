"""A bundle as one file: a zip of its members, read with every suspicion."""

import io
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

from ocbnn.errors import StorageError
from ocbnn.storage.files import explained
from ocbnn.storage.members import LIST, Members, is_member

# What honest numbers and text can shrink by; a bomb shrinks by a thousand and more.
_MOST_SHRINKING = 100
_SMALL = 2**20
_CHUNK = 2**17
# The list comes first and uncompressed, so that a file can be told by its first bytes.
_HEAD = b"PK\x03\x04"
_NAME_AT = 30


def zip_members(members: Members) -> bytes:
    """The members as a zip that is the same for the same members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name in sorted(members, key=lambda one: (one != LIST, one)):
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            # Weights hardly shrink, and reading them as they are is quick.
            if name.endswith(".json"):
                entry.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(entry, members[name])
    return buffer.getvalue()


def starts_like_bundle(path: Path) -> bool:
    """Whether a file begins as `zip_members` begins its files."""
    with explained(path, "read"), path.open("rb") as file:
        head = file.read(_NAME_AT + len(LIST))
    return head.startswith(_HEAD) and head[_NAME_AT:] == LIST.encode()


def unzip_members(path: Path, most: int) -> Members:
    """The members of a zip.

    Raises
    ------
    StorageError
        When the file is no zip, or holds anything but a bundle's members.
    """
    with explained(path, "read"), path.open("rb") as raw:
        try:
            with zipfile.ZipFile(_SmallReads(raw, path)) as file:
                entries = file.infolist()
                _check_entries(entries, path, most)
                return {one.filename: _read(file, one, path) for one in entries}
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            ValueError,
            NotImplementedError,
            RuntimeError,
            IndexError,
            OverflowError,
        ) as error:
            if isinstance(error, StorageError):
                raise
            raise StorageError(
                f"{path} is not a readable zip file: {_end(error)} It may have been "
                "cut short. Take it from a backup, or save again."
            ) from error


class _SmallReads:
    """A file that is read in small pieces only.

    `zipfile` reads a zip's directory at once; one that is larger than any bundle's is
    noticed here before it fills the memory.
    """

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, and never more than a chunk."""
        found = self._file.read(_CHUNK + 1 if size < 0 else min(size, _CHUNK + 1))
        if len(found) > _CHUNK:
            raise StorageError(
                f"{self._path} is a zip with a directory too large for a bundle. It "
                "was not written by ocbnn."
            )
        return found

    def close(self) -> None:
        """Closed by whoever opened it."""


def _check_entries(entries: list[zipfile.ZipInfo], path: Path, most: int) -> None:
    for entry in entries:
        name = entry.filename
        if not is_member(name) or entry.orig_filename != name:
            raise StorageError(
                f"{path} holds {name[:80]!r}, which is no part of a bundle. Was it "
                f"zipped anew? Zip the files themselves ({LIST} and the two it names), "
                "without a folder around them."
            )
        bits = entry.external_attr >> 16
        if bits & 0o170000 not in (0, 0o100000) or entry.is_dir():
            raise StorageError(f"{path}: {name!r} is a link or a folder, not a file.")
        if entry.flag_bits & 1:
            raise StorageError(
                f"{path}: {name!r} is encrypted. Unpack it with its password first."
            )
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise StorageError(
                f"{path}: {name!r} is packed by a method other than deflate. Unpack "
                "it and read the folder."
            )
        _check_size(entry, path, most)
    if len({entry.filename for entry in entries}) != len(entries):
        raise StorageError(f"{path} holds a file twice. It was not written by ocbnn.")


def _check_size(entry: zipfile.ZipInfo, path: Path, most: int) -> None:
    fits = path.stat().st_size
    bomb = entry.file_size > max(_SMALL, _MOST_SHRINKING * entry.compress_size)
    if bomb or entry.compress_size > fits or entry.file_size > most:
        raise StorageError(
            f"{path}: {entry.filename!r} says it has {entry.file_size} bytes out of "
            f"{entry.compress_size} in a file of {fits}, which is more than is read "
            "here. If you trust it, unpack it and read the folder; a limit on sizes is "
            "raised by read_bundle(path, most_bytes=...)."
        )


def _read(file: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> bytes:
    data = bytearray()
    with file.open(entry) as member:
        while piece := member.read(min(_CHUNK, entry.file_size + 1 - len(data))):
            data += piece
            if len(data) > entry.file_size:
                break
    if len(data) != entry.file_size:
        raise StorageError(
            f"{path}: {entry.filename!r} has not the {entry.file_size} bytes it says. "
            "Take the file from a backup, or save again."
        )
    return bytes(data)


def _end(error: Exception) -> str:
    said = str(error) or type(error).__name__
    return said if said.endswith(".") else f"{said}."
