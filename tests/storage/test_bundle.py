"""Bundles come back as they went in, and appear whole or not at all."""

import contextlib
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from ocbnn.errors import StorageError
from ocbnn.storage import files, is_bundle, read_bundle, replace_file, write_bundle
from tests.limits import within
from tests.storage.hostile import some_bundle

KINDS = [*"?bhilBHILefd", ">f8"]
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
documents = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.recursive(
        leaves, lambda one: st.lists(one) | st.dictionaries(st.text("ab"), one)
    ),
)
arrays = st.dictionaries(
    st.text("abc./", min_size=1),
    st.sampled_from(KINDS).flatmap(
        lambda kind: hnp.arrays(kind, hnp.array_shapes(min_dims=0, min_side=0))
    ),
    max_size=4,
)


@pytest.fixture(params=["model.ocbnn", "model"])
def path(request, tmp_path):
    return tmp_path / request.param


@given(documents, arrays)
def test_what_is_written_is_read(tmp_path_factory, document, arrays):
    for name in ("a.ocbnn", "a"):
        path = tmp_path_factory.mktemp("bundle") / name
        write_bundle(path, document, arrays)
        back = read_bundle(path)
        assert back.document == document
        assert back.arrays.keys() == arrays.keys()
        for key, array in arrays.items():
            assert back.arrays[key].dtype == array.dtype.newbyteorder("=")
            np.testing.assert_array_equal(back.arrays[key], array)


def test_arrays_of_any_layout_keep_their_bits(path):
    table = np.arange(12.0).reshape(3, 4)
    odd = np.array([np.nan, -0.0, np.inf, 5e-324])
    write_bundle(path, {}, {"t": table.T, "s": table[::2, ::-1], "odd": odd})
    back = read_bundle(path).arrays
    np.testing.assert_array_equal(back["t"], table.T)
    np.testing.assert_array_equal(back["s"], table[::2, ::-1])
    assert back["odd"].tobytes() == odd.tobytes()


def test_the_same_content_gives_the_same_bytes(tmp_path):
    first = some_bundle(tmp_path / "a.ocbnn").read_bytes()
    assert some_bundle(tmp_path / "b.ocbnn").read_bytes() == first


def test_a_bundle_replaces_a_bundle_and_leaves_nothing_behind(path):
    some_bundle(path)
    write_bundle(path, {"second": 2}, {"w": np.ones(3)})
    assert read_bundle(path).document == {"second": 2}
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    if path.is_dir():
        assert len(list(path.iterdir())) == 3
    assert is_bundle(path)


def test_checksums_can_be_tested_without_us(path, tmp_path):
    some_bundle(path)
    folder = path
    if path.is_file():
        folder = tmp_path / "unpacked"
        zipfile.ZipFile(path).extractall(folder)
    completed = subprocess.run(
        [sys.executable, "-c", _SHA256SUM],
        cwd=folder,
        capture_output=True,
        check=True,
        timeout=300,
    )
    assert completed.stdout.split() == [b"OK", b"OK"]


# `sha256sum -c SHA256SUMS`, for systems that have none.
_SHA256SUM = """
import hashlib
for line in open("SHA256SUMS"):
    digest, name = line.split()
    assert hashlib.sha256(open(name, "rb").read()).hexdigest() == digest
    print("OK")
"""


class PowerCut(BaseException):
    """Nothing more is done after this, as when the power fails."""


@contextlib.contextmanager
def power_cut(monkeypatch, step, *names):
    """Let the first `step` calls of these functions of `os` through, and no more."""
    calls = 0

    def cut(real):
        def wrapped(*args, **kwargs):
            nonlocal calls
            calls += 1
            if calls > step:
                raise PowerCut
            return real(*args, **kwargs)

        return wrapped

    with monkeypatch.context() as patch, contextlib.suppress(PowerCut):
        for name in names:
            patch.setattr(os, name, cut(getattr(os, name)))
        yield


@pytest.mark.parametrize("step", range(30))
def test_a_write_cut_anywhere_leaves_the_old_or_the_new(path, monkeypatch, step):
    some_bundle(path)
    old = read_bundle(path).document
    with power_cut(monkeypatch, step, "open", "fsync", "replace", "rename", "unlink"):
        write_bundle(path, {"new": True}, {"w": np.zeros(2)})
    assert read_bundle(path).document in (old, {"new": True})
    write_bundle(path, {"new": True}, {"w": np.zeros(2)})
    assert read_bundle(path).document == {"new": True}
    if path.is_dir():
        assert len(list(path.iterdir())) == 3


@pytest.mark.parametrize("step", range(20))
def test_a_first_write_that_is_cut_leaves_nothing_under_the_name(
    path, monkeypatch, step
):
    with power_cut(monkeypatch, step, "fsync", "replace", "rename"):
        some_bundle(path)
    if path.exists():
        assert read_bundle(path).document["name"] == "ä"


def test_a_killed_writer_leaves_a_whole_bundle(tmp_path):
    path = tmp_path / "run"
    code = (
        "import sys, numpy as np; from ocbnn.storage import write_bundle\n"
        "for i in range(10**6):\n"
        "    write_bundle(sys.argv[1], {'i': i}, {'w': np.full(100_000, i)})\n"
        "    print(i, flush=True)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        try:
            for _ in range(3):
                within(300, process.stdout.readline)
        finally:
            process.kill()
    back = read_bundle(path)
    assert (back.arrays["w"] == back.document["i"]).all()


def test_single_files_are_replaced_in_one_step(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    replace_file(path, b"one")
    replace_file(path, b"two")
    assert path.read_bytes() == b"two"
    monkeypatch.setattr(files, "_write_through", _no_space)
    with pytest.raises(StorageError, match=r"a\.txt could not be written: No space"):
        replace_file(path, b"three")
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_bytes() == b"two"


def _no_space(path, data):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("document", "arrays", "message"),
    [
        ({"a": np.float64(1)}, {}, "of type float64"),
        ({"a": (1, 2)}, {}, "of type tuple"),
        ({"a": {1, 2}}, {}, "of type set"),
        ({"a": {1: 2}}, {}, "keys must be text"),
        ({"a": float("nan")}, {}, "which JSON cannot express"),
        ({"a": "\ud800"}, {}, "not valid Unicode"),
        ({}, {"a": np.array(["x"])}, "of type str"),
        ({}, {"a": np.array([object()])}, "of type object"),
        ({}, {"a": np.zeros(2, complex)}, "of type complex"),
        ({}, {"": np.zeros(2)}, "non-empty text"),
    ],
)
def test_what_could_not_come_back_is_not_written(path, document, arrays, message):
    with pytest.raises(StorageError, match=message):
        write_bundle(path, document, arrays)
    assert not path.exists()


def test_a_document_too_deep_or_too_long_is_not_written(path):
    deep = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(StorageError, match="nested deeper"):
        write_bundle(path, {"a": deep}, {})
    with pytest.raises(StorageError, match="among the arrays"):
        write_bundle(path, {"a": "x" * 2**24}, {})


def test_what_is_not_a_bundle_is_never_written_over(tmp_path):
    letter = tmp_path / "letter.ocbnn"
    letter.write_text("dear")
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "me.png").write_text("x")
    (tmp_path / "b.ocbnn").mkdir()
    for path, message in [
        (letter, "not written by ocbnn"),
        (folder, r"holds 'me\.png'"),
        (tmp_path / "b.ocbnn", "is a folder"),
        (tmp_path / "no" / "a.ocbnn", "Make it first"),
    ]:
        with pytest.raises(StorageError, match=message):
            some_bundle(path)
    (tmp_path / "plain").write_text("dear")
    with pytest.raises(StorageError, match=r"ends in \.ocbnn"):
        some_bundle(tmp_path / "plain")
    assert letter.read_text() == "dear"
    assert not is_bundle(letter)
    assert not is_bundle(folder)
