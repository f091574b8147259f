"""`ocbnn studio`: what is checked and opened before the server runs."""

import os
import socket
import stat
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest

from ocbnn.cli import studio
from ocbnn.errors import SettingError
from ocbnn.studio.private_files import keep_private


@pytest.fixture
def private():
    """Files as the studio's process writes them."""
    before = os.umask(0o022)
    keep_private()
    yield
    os.umask(before)


def test_the_page_is_opened_by_a_file_that_only_its_owner_can_read(
    private, monkeypatch, tmp_path
):
    opened = []
    monkeypatch.setattr(studio.webbrowser, "open", opened.append)
    with studio._shown("http://127.0.0.1:8000/?token=secret", tmp_path):
        (address,) = opened
        page = Path(url2pathname(urlparse(address).path))
        assert "secret" not in address
        assert "url=http://127.0.0.1:8000/?token=secret" in page.read_text()
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert not page.exists()


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingError, match=rf"--port {port}: .*Leave out --port"):
            studio._bound("127.0.0.1", port)


@pytest.mark.parametrize(
    ("name", "message"),
    [("none.csv", "no such file"), ("data.txt", "Name one of them")],
)
def test_what_cannot_be_opened_is_refused_first(tmp_path, name, message):
    (tmp_path / "data.txt").write_text("x,y\n")
    with pytest.raises(SettingError, match=message):
        studio.studio(tmp_path / name)


def test_a_machine_without_a_network_is_called_by_its_name(monkeypatch):
    class Unreachable(socket.socket):
        def connect(self, address):
            raise OSError("Network is unreachable")

    monkeypatch.setattr(studio.socket, "socket", Unreachable)
    assert studio._own_address() == socket.gethostname().lower()
