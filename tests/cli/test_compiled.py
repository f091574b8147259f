"""Compiled code is kept between commands, where that is possible and wanted."""

import os

import pytest

from ocbnn.core.compilation_cache import cache_folder, keep_compiled

NAME = "JAX_COMPILATION_CACHE_DIR"


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in (NAME, "OCBNN_CACHE", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # Undone at the end, because it is set here.
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    return tmp_path


def test_jax_is_told_of_a_folder(home, monkeypatch):
    monkeypatch.setattr(os, "environ", dict(os.environ))
    keep_compiled()
    assert os.environ[NAME] == str(home / "ocbnn" / "compiled")
    assert (home / "ocbnn" / "compiled").is_dir()


def test_ones_own_folder_stays_and_nothing_is_kept_when_told_so(home, monkeypatch):
    monkeypatch.setattr(os, "environ", {**os.environ, NAME: "mine"})
    keep_compiled()
    assert os.environ[NAME] == "mine"
    monkeypatch.setattr(os, "environ", {"OCBNN_CACHE": "off", "HOME": str(home)})
    keep_compiled()
    assert NAME not in os.environ
    assert not (home / "ocbnn").exists()


def test_a_home_that_cannot_be_written_to_is_no_reason_to_fail(home, monkeypatch):
    (home / "ocbnn").write_text("a file where the folder should be")
    monkeypatch.setattr(os, "environ", dict(os.environ))
    keep_compiled()
    assert NAME not in os.environ


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"HOME": "/h"}, "/h/.cache/ocbnn/compiled"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Caches/ocbnn/compiled"),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/ocbnn/compiled"),
        ("win32", {"USERPROFILE": "/u"}, "/u/AppData/Local/ocbnn/compiled"),
    ],
)
def test_every_system_has_its_place(platform, environment, expected):
    assert cache_folder(environment, platform).as_posix() == expected
