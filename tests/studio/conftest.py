"""A studio that runs as people run it, and a client that speaks to it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from tests.limits import within

# A fit that goes on until it is stopped.
LONG = {"algorithm": "nuts", "chains": 1, "warmup": 300, "draws": 1_000_000}


class Client:
    """Asks a running studio, as its page does.

    Attributes:
        entry: The address that was printed, with its token.
        address: The same without: the start of all others.
    """

    def __init__(self, entry):
        self.entry = entry
        self.address = entry.partition("?")[0].rstrip("/")
        self._known = {}

    def enter(self):
        """Open the page as its browser does, which then knows the token."""
        status, headers, _ = self.ask(self.entry.removeprefix(self.address))
        assert status == 200
        self._known = {"cookie": headers["set-cookie"].partition(";")[0]}
        return self

    def listen(self, path, timeout=120):
        """The lines of an answer as they come."""
        request = urllib.request.Request(self.address + path, headers=self._known)
        return urllib.request.urlopen(request, timeout=timeout)

    def ask(self, path, body=None, method=None, headers=()):
        """Status, headers and content of an answer."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        method = method or ("GET" if body is None else "POST")
        request = urllib.request.Request(
            self.address + path,
            data,
            {"x-ocbnn": "studio", **self._known, **dict(headers)},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def json(self, path, body=None, method=None):
        """A good answer."""
        status, _, content = self.ask(path, body, method)
        assert status == 200, content
        return json.loads(content)

    def example(self, name):
        """The address of a new session about an example."""
        return f"/api/sessions/{self.json('/api/sessions', {'example': name})['id']}"

    def save(self, session, change):
        """Change a session's document, and its new state."""
        state = self.json(session)
        change(state["document"])
        body = {"revision": state["revision"], "document": state["document"]}
        return self.json(session, body, "PUT")

    def fitted(self, session, quick=True):
        """Fit, hear of it until it ends, and the state then."""
        self.json(f"{session}/fit", {"quick": quick})
        return self.heard(session)

    def events(self, session, seconds=240):
        """What a page hears of, line by line, for so many seconds."""
        deadline = time.monotonic() + seconds
        # A server that is alive says so every 15 seconds.
        with self.listen(f"{session}/events", timeout=60) as stream:
            for line in stream:
                yield line.decode().strip()
                assert time.monotonic() < deadline, f"listened for {seconds} seconds"

    def heard(self, session, seconds=240, is_settled=True):
        """Listen to a fit until it is over; all events, and the session's last state.

        A fit that was stopped on a busy machine may sum up what it has drawn
        afterwards; `is_settled` waits for that as well.
        """
        calls, name = [], ""
        for text in self.events(session, seconds):
            if text.startswith("event: "):
                name = text.removeprefix("event: ")
                calls.append(name)
            if name == "fit" and text.startswith("data: "):
                document = json.loads(text.removeprefix("data: "))
                goes_on = is_settled and "summed up" in document["message"]
                if document["state"] in ("done", "failed", "stopped") and not goes_on:
                    break
        return calls, self.json(session)

    def long_fit(self, **more):
        """A session whose fit has begun to draw, and goes on."""
        session = self.example("fig1-left")
        self.save(session, lambda d: d.update(inference=LONG, **more))
        self.json(f"{session}/fit", {"quick": False})
        self.until_bands(session)
        return session

    def until_bands(self, session):
        """Listen until draws are shown."""
        assert any(text == "event: bands" for text in self.events(session))


@contextmanager
def started(folder, *options):
    """A studio in a process of its own, and the address that it prints."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "ocbnn.cli", "studio", "--no-browser"),
            *("--folder", str(folder), *options),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        umask=0o022,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        yield process, within(120, process.stdout.readline).strip()
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            if not process.stdout.closed:
                process.communicate(timeout=60)
        finally:
            process.kill()


@contextmanager
def running(folder, *options):
    """A client of a studio on loopback."""
    with started(folder, *options) as (process, address):
        is_up = re.match(r"http://127\.0\.0\.1:\d+/", address)
        assert is_up, within(60, process.stderr.read)
        client = Client(address).enter()
        client.process, client.folder = process, folder
        yield client


def open_to_others(folder):
    """What others on this machine could look into."""
    return [
        str(path.relative_to(folder))
        for path in (folder, *folder.rglob("*"))
        if path.lstat().st_mode & 0o077 and not path.is_symlink()
    ]


@pytest.fixture(scope="session")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio") / "sessions"
    with running(folder, "--most", "2") as client:
        yield client


@pytest.fixture(scope="module")
def chromium():
    # Here, so that the other tests need neither of them.
    from playwright.sync_api import sync_playwright

    from tests.studio.browsing import CHROMIUM

    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()
