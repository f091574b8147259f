import shutil

import pytest

from ocbnn.datasets import shipped as module
from ocbnn.datasets.shipped import shipped
from ocbnn.errors import DataError


def test_every_shipped_file_is_listed_and_unchanged():
    root = module._root()
    on_disk = {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and path.name != "SHA256SUMS"
    }
    assert on_disk == set(module._sums(root))
    for name in on_disk:
        assert shipped(name).is_file()


def test_a_changed_file_is_refused_by_name(tmp_path, monkeypatch):
    copy = tmp_path / "data"
    shutil.copytree(module._root() / "cmu_reaching", copy / "cmu_reaching")
    shutil.copy(module._root() / "SHA256SUMS", copy)
    monkeypatch.setattr(module, "_root", lambda: copy)
    assert shipped("cmu_reaching") == copy / "cmu_reaching"
    file = copy / "cmu_reaching" / "segments.csv"
    file.write_text(file.read_text() + "one more row\n")
    with pytest.raises(DataError, match=r"segments\.csv: not the file"):
        shipped("cmu_reaching")
    file.unlink()
    with pytest.raises(DataError, match=r"segments\.csv: .* missing"):
        shipped("cmu_reaching")


def test_an_unknown_name_is_refused():
    with pytest.raises(DataError, match="'mimic4'"):
        shipped("mimic4")
