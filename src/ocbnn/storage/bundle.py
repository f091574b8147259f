"""A bundle: one JSON document and named arrays, as a folder or as one file."""

import dataclasses
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ocbnn.errors import StorageError
from ocbnn.storage import arrays as safetensors, document as json
from ocbnn.storage.files import (
    TEMPORARY,
    explained,
    read_file,
    replace_file,
    sync_folder,
    temporary_beside,
)
from ocbnn.storage.members import (
    LIST,
    MOST_LIST_BYTES,
    Members,
    check_digest,
    is_member,
    listed,
    make_members,
)
from ocbnn.storage.zipped import starts_like_bundle, unzip_members, zip_members

SUFFIX = ".ocbnn"
MOST_BYTES = 16 * 2**30
_AnyPath = str | os.PathLike[str]


@dataclasses.dataclass(frozen=True)
class Bundle:
    """The content of a bundle.

    Attributes
    ----------
    document
        Plain values: text, numbers, lists, and objects with text as keys.
    arrays
        Arrays by name. They may be read-only.
    """

    document: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write_bundle(
    path: _AnyPath, document: dict[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write a bundle atomically; an existing one is replaced.

    Parameters
    ----------
    path
        A folder, or one file when the name ends in `.ocbnn`.
    document
        Plain values that JSON can express.
    arrays
        Arrays of numbers by name.

    Raises
    ------
    StorageError
        When it cannot be written; an existing bundle is kept.
    """
    path = Path(path)
    text, numbers = json.encode_document(document), safetensors.encode_arrays(arrays)
    if not path.parent.is_dir():
        raise StorageError(
            f"{path} cannot be written: there is no folder {path.parent}. Make it "
            "first."
        )
    _refuse_other_content(path)
    with explained(path, "written"):
        if path.suffix == SUFFIX:
            members = make_members(text, numbers, tagged=False)
            replace_file(path, zip_members(members))
        else:
            _write_folder(path, make_members(text, numbers, tagged=True))


def read_bundle(path: _AnyPath, *, most_bytes: int = MOST_BYTES) -> Bundle:
    """Read a bundle. Nothing in it is executed, and everything is checked.

    Parameters
    ----------
    path
        A folder, or one file.
    most_bytes
        A larger file is refused before it is read.

    Raises
    ------
    StorageError
        When it is missing, damaged, changed, or not a bundle.
    """
    path = Path(path)
    if not path.exists():
        raise StorageError(
            f"there is nothing at {path}. Check the name and the folder."
        )
    if not path.is_dir():
        return _read_zip(path, most_bytes)
    _refuse_extras(path)
    try:
        return _read_folder(path, most_bytes)
    except StorageError:
        # Another process may have replaced it after we read the list.
        return _read_folder(path, most_bytes)


def is_bundle(path: _AnyPath) -> bool:
    """Whether a path looks like a bundle, intact or damaged."""
    path = Path(path)
    if path.is_dir():
        return (path / LIST).is_file()
    return path.is_file() and starts_like_bundle(path)


def _write_folder(path: Path, members: Members) -> None:
    if path.exists():
        _fill(path, members)
        return
    temporary = temporary_beside(path)
    try:
        temporary.mkdir()
        _fill(temporary, members)
        os.rename(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(path.parent)


def _fill(folder: Path, members: Members) -> None:
    # The list is the last member: until it is replaced, it names the old files.
    for name, data in members.items():
        replace_file(folder / name, data)
    for entry in folder.iterdir():
        if entry.name not in members and _is_ours(entry.name):
            entry.unlink()


def _read_zip(path: Path, most: int) -> Bundle:
    if not path.is_file():
        raise StorageError(f"{path} is neither a plain file nor a folder.")
    members = unzip_members(path, most)
    if LIST not in members:
        raise StorageError(
            f"{path} is a zip file, but not a bundle: {LIST} is missing."
        )

    def read(name: str, most: int) -> bytes:
        if name not in members:
            raise StorageError(f"{path} is incomplete: {name} is missing.")
        if len(members[name]) > most:
            raise StorageError(f"{path}: {name} has more than {most} bytes.")
        return members[name]

    sums, text, numbers = listed(read(LIST, MOST_LIST_BYTES), f"{path}: {LIST}")
    if extra := sorted(members.keys() - {LIST, text, numbers}):
        raise StorageError(f"{path} holds {extra[0]!r}, which {LIST} does not name.")
    return _decoded(sums, text, numbers, read, f"{path}: ", most)


def _read_folder(path: Path, most: int) -> Bundle:
    if not (path / LIST).exists():
        raise StorageError(f"{path} is a folder, but not a bundle: {LIST} is missing.")

    def read(name: str, most: int) -> bytes:
        return read_file(path / name, most)

    sums, text, numbers = listed(read(LIST, MOST_LIST_BYTES), str(path / LIST))
    return _decoded(sums, text, numbers, read, f"{path}{os.sep}", most)


def _decoded(
    sums: dict[str, str], text: str, numbers: str, read: Any, where: str, most: int
) -> Bundle:
    document = read(text, json.MOST_BYTES)
    check_digest(document, sums[text], where + text)
    data = read(numbers, most)
    check_digest(data, sums[numbers], where + numbers)
    return Bundle(
        json.decode_document(document, where + text),
        safetensors.decode_arrays(data, where + numbers),
    )


def _is_ours(name: str) -> bool:
    return is_member(name) or (name.startswith(".") and name.endswith(TEMPORARY))


def _refuse_extras(folder: Path) -> None:
    with explained(folder, "read"), os.scandir(folder) as entries:
        extra = next(
            (entry.name for entry in entries if not _is_ours(entry.name)), None
        )
    if extra is not None:
        raise StorageError(
            f"{folder} holds {extra[:80]!r}, which is not part of a bundle. Move it "
            "elsewhere."
        )


def _refuse_other_content(path: Path) -> None:
    """Refuse to overwrite anything but a bundle."""
    if path.suffix == SUFFIX and path.is_dir():
        raise StorageError(
            f"{path} is a folder, but a name that ends in {SUFFIX} means a file. "
            "Choose another name."
        )
    if path.is_dir():
        _refuse_extras(path)
    elif path.suffix == SUFFIX and path.exists() and not is_bundle(path):
        raise StorageError(
            f"{path} exists already and was not written by ocbnn, so it is not "
            "replaced. Choose another name, or remove it."
        )
    elif path.suffix != SUFFIX and path.exists():
        raise StorageError(
            f"{path} is a file, but this name means a folder. Choose "
            f"another name, or one that ends in {SUFFIX}."
        )
