"""Files that someone else made: each fault has its sentence, and nothing is run."""

import json
import os
import resource
import shutil
import struct
import zipfile

import numpy as np
import pytest

from ocbnn.errors import StorageError
from ocbnn.storage import read_bundle, write_bundle
from tests.storage.hostile import (
    ARRAYS,
    DOCUMENT,
    LIST,
    members_of,
    some_bundle,
    summed,
    with_arrays,
    with_document,
    zipped,
)


@pytest.fixture
def path(tmp_path):
    return some_bundle(tmp_path / "m.ocbnn")


def refused(path, message):
    with pytest.raises(StorageError, match=message) as caught:
        read_bundle(path)
    text = str(caught.value)
    assert str(path) in text
    assert text.endswith((".", ")"))


def whole(**changed):
    base = {"format": "ocbnn bundle", "version": 1, "content": {}}
    return json.dumps({**base, **changed})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff\xfe", "not UTF-8 text"),
        ("{", "not valid JSON"),
        ("[]", "not an ocbnn document"),
        ("{}", "not an ocbnn document"),
        ("\ufeff{}", "not valid JSON"),
        (whole(version=2), "format version 2.*Update ocbnn"),
        (whole(version=0), "whole number above zero"),
        (whole(version=True), "whole number above zero"),
        (whole(version="1"), "whole number above zero"),
        (whole(content=[]), "must hold the keys"),
        (whole(more=1), "must hold the keys"),
        (whole(content={"a": float("nan")}), "NaN is not a JSON number"),
        (whole(content={"a": float("-inf")}), "-Infinity is not a JSON number"),
        (whole(content={"a": 0}).replace("0", "1e999"), "too large"),
        (whole(content={"a": 0}).replace("0", "9" * 5000), "not valid JSON"),
        (whole(content={"a": "\ud800"}), "not valid Unicode"),
        ('{"format": 1, "format": 2}', "'format' is repeated"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("[" * 80 + "]" * 80, "nested deeper than 64"),
    ],
)
def test_documents(path, text, message):
    with_document(path, text)
    refused(path, message)


F8 = {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}


@pytest.mark.parametrize(
    ("header", "data", "message"),
    [
        (b"", b"", "header has the wrong size"),
        (b"{", b"", "header has the wrong size"),
        (b"{{", b"", "not a valid safetensors"),
        (b"\xff\xff", b"", "not a valid safetensors"),
        (b"[" * 100_000, b"", "not a valid safetensors"),
        ({"a": F8}, b"", "not a valid safetensors"),
        ({"a": F8}, bytes(17), "not a valid safetensors"),
        ({"a": F8, "b": F8}, bytes(16), "not a valid safetensors"),
        ({"a": {**F8, "shape": [2**40, 2**40]}}, bytes(16), "not a valid safetensors"),
        ({"a": {**F8, "shape": [2**62]}}, bytes(16), "not a valid safetensors"),
        ({"a": {**F8, "shape": [-2]}}, bytes(16), "not a valid safetensors"),
        ({"a": {**F8, "dtype": "F128"}}, bytes(16), "not a valid safetensors"),
        ({"a": {**F8, "dtype": "BF16", "shape": [8]}}, bytes(16), "type 'BF16'"),
        ({"a": {**F8, "dtype": "C64"}}, bytes(16), "complex64"),
        ({"a": {**F8, "shape": [1] * 40 + [2]}}, bytes(16), "41 axes"),
        ({"a": {**F8, "shape": [1] * 400 + [2]}}, bytes(16), "impossible shape"),
        (
            {"a": {"dtype": "F64", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}},
            b"",
            "valid safetensors|impossible shape",
        ),
        ({"a": {**F8, "data_offsets": [16, 0]}}, bytes(16), "not a valid safetensors"),
        ({"a": {"dtype": "F64"}}, bytes(16), "not a valid safetensors"),
    ],
)
def test_arrays(path, header, data, message):
    with_arrays(path, header, data)
    refused(path, message)


def test_a_header_that_promises_much_takes_no_memory(path):
    members = members_of(path)
    promised = struct.pack("<Q", 2**60) + members[ARRAYS][8:]
    path.write_bytes(zipped(summed({**members, ARRAYS: promised})))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(path, "header has the wrong size")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**15


def test_a_truncated_file_is_noticed_wherever_it_ends(path):
    data = path.read_bytes()
    for end in range(0, len(data), 7):
        path.write_bytes(data[:end])
        refused(path, "is not a readable zip")


def test_a_changed_bit_is_noticed(path, tmp_path):
    folder = some_bundle(tmp_path / "folder")
    for file in folder.iterdir():
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 4
        file.write_bytes(data)
        refused(folder, "is damaged or was changed|must have two lines")
        data[len(data) // 2] ^= 4
        file.write_bytes(data)
    assert read_bundle(folder).document["name"] == "ä"


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "/etc/passwd", "C:\\a", "a/../b", "folder/", "extra.txt",
     "model/document.json", "document.json.exe", "dócument.json"],
)  # fmt: skip
def test_names_that_are_not_a_bundles_are_refused(path, name):
    path.write_bytes(zipped({**members_of(path), name: b"x"}))
    refused(path, "which is not part of a bundle")


def test_a_member_that_is_not_listed_is_refused(path):
    path.write_bytes(zipped({**members_of(path), f"document-{'0' * 16}.json": b"x"}))
    refused(path, "which SHA256SUMS does not name")


def test_a_name_that_hides_its_end_is_refused(path):
    data = zipped({**members_of(path), "document.json_.exe": b"x"})
    path.write_bytes(data.replace(b"document.json_", b"document.json\0"))
    refused(path, "which is not part of a bundle")


def test_no_file_is_there_twice(path):
    members = members_of(path)
    with zipfile.ZipFile(path, "a") as file, pytest.warns(match="Duplicate"):
        file.writestr(DOCUMENT, members[DOCUMENT])
    refused(path, "twice")


def test_all_three_members_are_needed(path):
    members = members_of(path)
    for name in members:
        fewer = {key: data for key, data in members.items() if key != name}
        path.write_bytes(zipped(fewer))
        refused(path, "is missing")


def test_links_in_a_zip_are_refused(path):
    members = members_of(path)
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o120777 << 16
            file.writestr(entry, data)
    refused(path, "is a link or a folder")


def test_a_bomb_is_refused_before_it_goes_off(path):
    bomb = struct.pack("<Q", 2) + b"{}" + bytes(2**26)
    members = summed({**members_of(path), ARRAYS: bomb})
    path.write_bytes(zipped(members, zipfile.ZIP_DEFLATED))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(path, "too many")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**15


def test_a_bomb_that_lies_about_its_size_is_cut(path):
    bomb = struct.pack("<Q", 2) + b"{}" + bytes(2**24)
    data = zipped(summed({**members_of(path), ARRAYS: bomb}), zipfile.ZIP_DEFLATED)
    path.write_bytes(data.replace(struct.pack("<I", len(bomb)), struct.pack("<I", 99)))
    refused(path, "not a readable zip file: Bad CRC-32")


def test_bundles_that_were_zipped_again_are_read(path):
    original = read_bundle(path)
    path.write_bytes(zipped(members_of(path), zipfile.ZIP_DEFLATED))
    back = read_bundle(path)
    assert back.document == original.document
    np.testing.assert_array_equal(back.arrays["w"], original.arrays["w"])


def test_other_packings_are_refused(path):
    path.write_bytes(zipped(members_of(path), zipfile.ZIP_LZMA))
    refused(path, "not compressed by deflate")


def test_a_directory_of_a_million_names_is_not_read(path):
    with zipfile.ZipFile(path, "w") as file:
        for number in range(3000):
            file.writestr(f"{number:060}", b"")
    refused(path, "directory too large")


def test_other_peoples_zips_and_files_are_told_apart(tmp_path):
    path = tmp_path / "sheet.xlsx"
    path.write_bytes(zipped({}))
    refused(path, "not a bundle: SHA256SUMS is missing")
    path.write_text("a,b")
    refused(path, "not a readable zip")
    refused(tmp_path / "missing", "there is nothing at")
    empty = tmp_path / "empty"
    empty.mkdir()
    refused(empty, "is a folder, but not a bundle")


@pytest.fixture
def folder(tmp_path):
    return some_bundle(tmp_path / "folder")


def test_links_in_a_folder_are_not_followed(folder, tmp_path):
    for name in [one.name for one in folder.iterdir()]:
        copy = shutil.copytree(folder, tmp_path / f"copy-{name}")
        elsewhere = tmp_path / f"elsewhere-{name}"
        (copy / name).rename(elsewhere)
        (copy / name).symlink_to(elsewhere)
        refused(copy, "is a link")


def test_a_pipe_is_not_waited_for(folder):
    arrays = next(folder.glob("arrays*"))
    arrays.unlink()
    os.mkfifo(arrays)
    refused(folder, "not a plain file")


def test_strangers_in_a_folder_are_refused(folder):
    (folder / "notes.txt").write_text("hello")
    refused(folder, r"holds 'notes\.txt'")


def test_a_missing_part_is_named(folder):
    next(folder.glob("arrays*")).unlink()
    refused(folder, r"arrays-.* could not be read: No such file")


@pytest.mark.parametrize(
    "text",
    ["", "x", "0" * 64 + "  document.json\n", "é" * 20, "\x00" * 99, "x" * 1000]
    + [f"{'0' * 64}  {name}\n{'0' * 64}  arrays.safetensors\n" for name in
       ("../document.json", "/document.json", "document.json/", "arrays.safetensors")],
)  # fmt: skip
def test_lists_that_name_anything_else_are_refused(folder, text):
    (folder / LIST).write_text(text)
    refused(folder, "must have two lines")


def test_a_file_larger_than_asked_for_is_not_read(folder, path):
    for one in (folder, path):
        with pytest.raises(StorageError, match="most_bytes"):
            read_bundle(one, most_bytes=10)


def test_a_sparse_file_of_a_terabyte_is_not_read(folder):
    with next(folder.glob("arrays*")).open("r+b") as file:
        file.truncate(2**40)
    refused(folder, "raise the limit")


def test_reading_a_large_bundle_is_quick_enough(tmp_path):
    write_bundle(tmp_path / "a.ocbnn", {}, {"w": np.zeros(2**22)})
    assert read_bundle(tmp_path / "a.ocbnn").arrays["w"].shape == (2**22,)
