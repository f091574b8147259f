"""Connections that keep the server waiting, and very many of them."""

import asyncio
import functools
import http.client
import json
import socket
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest
import uvicorn

from ocbnn.studio.connections import KNOWN, ConnectionLimits, WatchedProtocol

SHORT = ConnectionLimits(
    head=1.0, silence=2.0, taking=2.0, rate=500.0, most=20, look=0.05
)
LARGE = b"x" * 2**20
POST = b"POST /%s HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n"


async def app(scope, receive, send):
    """Counts what it hears; or answers at once, at length, or bit by bit."""
    received, kind = 0, scope["path"]
    scope["state"][KNOWN] = kind == "/known"
    while kind in ("/count", "/known"):
        message = await receive()
        received += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    start = {"type": "http.response.start", "status": 200, "headers": []}
    await send(start)
    parts = {"/long": [LARGE] * 64, "/slow": [b"."] * 10}.get(kind, [])
    for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
        await asyncio.sleep(0.15 if kind == "/slow" else 0)
    last = LARGE * 64 if kind == "/whole" else str(received).encode()
    await send({"type": "http.response.body", "body": last})


@pytest.fixture(scope="module")
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        protocol = functools.partial(WatchedProtocol, limits=SHORT)
        config = uvicorn.Config(app, http=protocol, log_level="error", lifespan="off")
        instance = uvicorn.Server(config)
        instance.port = listening.getsockname()[1]
        thread = threading.Thread(target=instance.run, args=([listening],), daemon=True)
        thread.start()
        yield instance
        instance.should_exit = True
        thread.join(10)


@contextmanager
def connected(port):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        yield connection


def seconds_until_closed(made, drop=b""):
    """How long a connection lives that says no more than a drop at a time."""
    started = time.monotonic()
    made.settimeout(0.1)
    while time.monotonic() - started < 8:
        try:
            if drop:
                made.sendall(drop)
            if not made.recv(1000):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - started


@pytest.mark.parametrize(
    ("message", "drop"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nhost: a\r\n", b""),
        (b"GET / HTTP/1.1\r\n", b"a"),
        (POST % b"count", b""),
        (POST % b"count", b"a"),
        (POST % b"refused-at-once", b"a"),
        (b"GET / HTTP/1.1\r\nhost: a\r\n\r\n", b"a"),
    ],
)
def test_who_keeps_the_server_waiting_is_left(server, message, drop):
    with connected(server.port) as connection:
        connection.sendall(message)
        assert 0.3 < seconds_until_closed(connection, drop) < 8


def test_who_does_not_take_the_answer_is_left(server):
    with connected(server.port) as connection:
        connection.sendall(b"GET /long HTTP/1.1\r\nhost: a\r\n\r\n")
        assert connection.recv(10)
        deadline = time.monotonic() + 8
        while server.server_state.connections and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not server.server_state.connections


@pytest.mark.parametrize("path", [b"/long", b"/whole"])
def test_who_takes_the_answer_slowly_gets_it(server, path):
    with connected(server.port) as connection:
        connection.sendall(b"GET %s HTTP/1.1\r\nhost: a\r\n\r\n" % path)
        until = time.monotonic() + 3 * SHORT.taking
        while time.monotonic() < until:
            assert connection.recv(20_000)
            time.sleep(0.05)
        assert len(server.server_state.connections) == 1


def test_who_speaks_at_a_fair_pace_is_heard_to_the_end(server):
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    client.putrequest("POST", "/count")
    client.putheader("content-length", "12000")
    client.endheaders()
    for _ in range(12):
        time.sleep(0.2)
        client.send(b"x" * 1000)
    assert client.getresponse().read() == b"12000"
    client.close()


def test_who_asks_again_and_again_stays_connected(server):
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        client.request("POST", "/count", b"abc")
        assert client.getresponse().read() == b"3"
        first = client.sock.getsockname()
        time.sleep(0.04)
        assert client.sock.getsockname() == first
    client.close()


def test_an_answer_that_comes_bit_by_bit_is_given_to_the_end(server):
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    client.request("GET", "/slow")
    assert client.getresponse().read() == b"." * 10 + b"0"
    client.close()


def test_many_who_say_nothing_do_not_keep_others_out(server):
    with ExitStack() as stack:
        for _ in range(3 * SHORT.most):
            stack.enter_context(connected(server.port))
        client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        client.request("POST", "/count", b"abc")
        assert client.getresponse().read() == b"3"
        assert len(server.server_state.connections) <= SHORT.most
        client.close()


def test_the_studio_answers_among_hundreds_of_silent_connections(studio):
    port = int(studio.address.rpartition(":")[2])
    with ExitStack() as stack:
        for _ in range(2 * ConnectionLimits().most):
            connection = stack.enter_context(connected(port))
            connection.sendall(b"GET / HTTP/1.1\r\n")
        started = time.monotonic()
        assert studio.ask("/api/start")[0] == 200
        assert time.monotonic() - started < 5


def test_strangers_do_not_keep_the_owner_out(studio):
    port = int(studio.address.rpartition(":")[2])
    head = b"POST /x HTTP/1.1\r\nhost: 127.0.0.1:%d\r\ncontent-length: 1000000000\r\n"
    with ExitStack() as stack, studio.listen(f"{studio.example('fig2-left')}/events"):
        strangers = []
        for _ in range(ConnectionLimits().most):
            connection = stack.enter_context(connected(port))
            connection.sendall(head % port + b"\r\n")
            strangers.append(connection)
        for connection in strangers:
            assert seconds_until_closed(connection, b"x" * 1000) < 2
        assert studio.ask("/api/start")[0] == 200


def test_who_has_shown_the_token_stays_while_strangers_come(server):
    with ExitStack() as stack:
        post = lambda path: POST % path
        known = stack.enter_context(connected(server.port))
        known.sendall(post(b"known"))
        for _ in range(2 * SHORT.most):
            connection = stack.enter_context(connected(server.port))
            connection.sendall(post(b"count"))
            known.sendall(b"x" * 500)
            time.sleep(0.02)
        assert len(server.server_state.connections) <= SHORT.most
        assert any(one.is_known for one in server.server_state.connections)


def test_a_study_is_listened_to_by_so_many_pages_only(studio):
    session = studio.example("fig2-left")
    with ExitStack() as stack:
        for _ in range(16):
            stream = stack.enter_context(studio.listen(f"{session}/events"))
            assert stream.readline() == b"event: fit\n"
        status, _, content = studio.ask(f"{session}/events")
        assert status == 429
        assert "open in 16 tabs" in json.loads(content)["error"]
        assert studio.ask(session)[0] == 200
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            with studio.listen(f"{session}/events") as stream:
                assert stream.readline() == b"event: fit\n"
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError("nobody is let in after the others have gone")
