"""Bundles taken apart and put together again, with checksums that fit."""

import hashlib
import io
import json
import struct
import zipfile

from ocbnn.storage import write_bundle

DOCUMENT, ARRAYS, LIST = "document.json", "arrays.safetensors", "SHA256SUMS"


def members_of(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def summed(members):
    """The same members with a list that fits them."""
    lines = [
        f"{hashlib.sha256(members[name]).hexdigest()}  {name}\n"
        for name in (DOCUMENT, ARRAYS)
    ]
    return {**members, LIST: "".join(lines).encode()}


def zipped(members, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return buffer.getvalue()


def with_document(path, text):
    """Replace the text of the document in a zipped bundle."""
    data = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(zipped(summed({**members_of(path), DOCUMENT: data})))


def with_arrays(path, header, data=b""):
    """Replace the arrays in a zipped bundle by a header of one's own."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    whole = struct.pack("<Q", len(text)) + text + data
    path.write_bytes(zipped(summed({**members_of(path), ARRAYS: whole})))


def some_bundle(path):
    import numpy as np

    write_bundle(
        path,
        {"name": "ä", "numbers": [1, 2.5, None, True], "inner": {"a": {}}},
        {"w": np.arange(6.0).reshape(2, 3), "b": np.array([True, False])},
    )
    return path
