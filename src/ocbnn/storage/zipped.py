"""A bundle as one file: a zip of its members, read defensively."""

import io
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

from ocbnn.errors import StorageError
from ocbnn.storage.files import explained
from ocbnn.storage.members import LIST, Members, is_member

# Compression of real numbers and text; zip bombs reach a thousand and more.
_MOST_COMPRESSION = 100
_SMALL = 2**20
_CHUNK = 2**17
# The list comes first and uncompressed, so the first bytes identify a bundle.
_HEAD = b"PK\x03\x04"
_NAME_AT = 30


def zip_members(members: Members) -> bytes:
    """The members as a zip with reproducible bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name in sorted(members, key=lambda name: (name != LIST, name)):
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            # Weights hardly compress, and uncompressed ones are fast to read.
            if name.endswith(".json"):
                entry.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(entry, members[name])
    return buffer.getvalue()


def starts_like_bundle(path: Path) -> bool:
    """Whether a file begins like those of `zip_members`."""
    with explained(path, "read"), path.open("rb") as file:
        head = file.read(_NAME_AT + len(LIST))
    return head.startswith(_HEAD) and head[_NAME_AT:] == LIST.encode()


def unzip_members(path: Path, most: int) -> Members:
    """The members of a zip.

    Raises
    ------
    StorageError
        When the file is not a zip, or holds anything but a bundle's members.
    """
    with explained(path, "read"), path.open("rb") as raw:
        try:
            with zipfile.ZipFile(_SmallReads(raw, path)) as file:
                entries = file.infolist()
                _check_entries(entries, path, most)
                return {entry.filename: _read(file, entry, path) for entry in entries}
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
                f"{path} is not a readable zip file: {_reason(error)} It may have been "
                "cut short. Take it from a backup, or save again."
            ) from error


class _SmallReads:
    """A file that is read only in small pieces.

    `zipfile` reads a zip's directory at once; an oversized one is refused here before
    it fills the memory.
    """

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, and never more than a chunk."""
        data = self._file.read(_CHUNK + 1 if size < 0 else min(size, _CHUNK + 1))
        if len(data) > _CHUNK:
            raise StorageError(
                f"{self._path} is a zip with a directory too large for a bundle. It "
                "was not written by ocbnn."
            )
        return data

    def close(self) -> None:
        """The caller closes the file."""


def _check_entries(entries: list[zipfile.ZipInfo], path: Path, most: int) -> None:
    for entry in entries:
        name = entry.filename
        if not is_member(name) or entry.orig_filename != name:
            raise StorageError(
                f"{path} holds {name[:80]!r}, which is not part of a bundle. If you "
                f"zipped it yourself, zip the files ({LIST} and the two it names) "
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
                f"{path}: {name!r} is not compressed by deflate. Unpack "
                "it and read the folder."
            )
        _check_size(entry, path, most)
    if len({entry.filename for entry in entries}) != len(entries):
        raise StorageError(f"{path} holds a file twice. It was not written by ocbnn.")


def _check_size(entry: zipfile.ZipInfo, path: Path, most: int) -> None:
    archive_size = path.stat().st_size
    is_bomb = entry.file_size > max(_SMALL, _MOST_COMPRESSION * entry.compress_size)
    if is_bomb or entry.compress_size > archive_size or entry.file_size > most:
        raise StorageError(
            f"{path}: {entry.filename!r} claims {entry.file_size} bytes unpacked from "
            f"{entry.compress_size}, in a file of {archive_size}: too many. If "
            "you trust it, unpack it and read the folder, or raise the limit: "
            "read_bundle(path, most_bytes=...)."
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
            f"{path}: {entry.filename!r} does not have the {entry.file_size} bytes it "
            "claims. Take the file from a backup, or save again."
        )
    return bytes(data)


def _reason(error: Exception) -> str:
    reason = str(error) or type(error).__name__
    return reason if reason.endswith(".") else f"{reason}."
