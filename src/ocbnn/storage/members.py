"""A bundle's members: a document, arrays, and the list of their checksums.

The list is written last and replaced atomically, so it always names two complete files.
It has the format of `sha256sum -c`.
"""

import hashlib
import re

from ocbnn.errors import StorageError

LIST = "SHA256SUMS"
MOST_LIST_BYTES = 1024
_TAG = r"(?:-[0-9a-f]{16})?"
_DOCUMENT = re.compile(rf"document{_TAG}\.json")
_ARRAYS = re.compile(rf"arrays{_TAG}\.safetensors")
_LINE = re.compile(r"([0-9a-f]{64})  ([a-z0-9.-]{1,64})")

Members = dict[str, bytes]


def make_members(document: bytes, arrays: bytes, *, tagged: bool) -> Members:
    """Members by name, the list last. Tags separate new files from old ones."""
    tag = ""
    if tagged:
        digests = hashlib.sha256(document).digest() + hashlib.sha256(arrays).digest()
        tag = "-" + hashlib.sha256(digests).hexdigest()[:16]
    files = {f"document{tag}.json": document, f"arrays{tag}.safetensors": arrays}
    lines = [f"{_digest(data)}  {name}\n" for name, data in files.items()]
    return {**files, LIST: "".join(lines).encode()}


def is_member(name: str) -> bool:
    """Whether a bundle may hold a file of this name."""
    return name == LIST or bool(_DOCUMENT.fullmatch(name) or _ARRAYS.fullmatch(name))


def listed(data: bytes, place: str) -> tuple[dict[str, str], str, str]:
    """Checksums by name, and the names of the document and of the arrays.

    Raises
    ------
    StorageError
        When the list does not name one of each.
    """
    try:
        lines = data.decode("ascii").splitlines()
    except UnicodeDecodeError:
        lines = []
    matches = [_LINE.fullmatch(line) for line in lines[:3]]
    matched = [match for match in matches if match is not None]
    documents = [m[2] for m in matched if _DOCUMENT.fullmatch(m[2])]
    arrays = [m[2] for m in matched if _ARRAYS.fullmatch(m[2])]
    if not (len(lines) == len(matched) == 2 and len(documents) == len(arrays) == 1):
        raise StorageError(
            f"{place} must have two lines, with the SHA-256 and the name of a document "
            "and of a file of arrays. Take the bundle from a backup, or save again."
        )
    return {match[2]: match[1] for match in matched}, documents[0], arrays[0]


def check_digest(data: bytes, expected: str, place: str) -> None:
    """Refuse a file whose checksum is wrong."""
    if _digest(data) != expected:
        raise StorageError(
            f"{place} is damaged or was changed: its SHA-256 differs from the one in "
            f"{LIST}. Take it from a backup, or save again. (If you changed it "
            f"yourself, renew {LIST} with sha256sum.)"
        )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
