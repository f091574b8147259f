"""Who may talk to the studio, and what leaves it."""

import asyncio
import json

import pytest
from starlette.responses import PlainTextResponse

from ocbnn.studio.security import Guard
from tests.studio.conftest import Client, started

PORT = 8765


def asked(guard, *, method="GET", path="/", query="", **headers):
    """Status, headers and content of an answer."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [
            (name.replace("_", "-").encode(), value.encode())
            for name, value in headers.items()
        ],
    }
    asyncio.run(guard(scope, receive, send))
    start, body = sent[0], b"".join(one.get("body", b"") for one in sent[1:])
    found = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], found, body.decode()


def guard(**settings):
    given = {"hosts": (), "port": PORT, "token": None, **settings}
    return Guard(PlainTextResponse("welcome"), **given)


OURS = f"127.0.0.1:{PORT}"


@pytest.mark.parametrize("host", [OURS, f"localhost:{PORT}", f"[::1]:{PORT}"])
def test_this_machine_is_let_in(host):
    assert asked(guard(), host=host)[::2] == (200, "welcome")
    own = {"host": host, "origin": f"http://{host}", "x_ocbnn": "studio"}
    assert asked(guard(), method="POST", **own)[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:1", ""]
)
def test_other_names_are_not_answered_to(host):
    status, _, said = asked(guard(), host=host)
    assert status == 421
    assert "does not answer to that name" in said


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://x"]
)
def test_other_sites_are_refused(origin):
    for method in ("GET", "POST"):
        status, _, said = asked(
            guard(), method=method, host=OURS, origin=origin, x_ocbnn="studio"
        )
        assert status == 403
        assert "other sites" in said


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_what_changes_something_needs_a_mark_that_other_sites_cannot_make(method):
    status, _, said = asked(guard(), method=method, host=OURS)
    assert status == 403
    assert "x-ocbnn" in said


def test_every_answer_has_a_strict_policy():
    for host in (OURS, "evil.example"):
        _, headers, _ = asked(guard(), host=host)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe-inline" not in policy
        assert "unsafe-eval" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


def test_beyond_loopback_a_token_is_needed():
    far = guard(hosts=("lab.example",), token="s3cret")
    there = f"lab.example:{PORT}"
    assert asked(far, host=there)[0] == 401
    assert asked(far, host=there, query="token=wrong")[0] == 401
    status, headers, _ = asked(far, host=there, path="/s/ab", query="token=s3cret")
    assert status == 303
    assert headers["location"] == "/s/ab"
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    known = cookie.partition(";")[0]
    assert asked(far, host=there, cookie=known)[0] == 200
    assert asked(far, host=there, cookie="ocbnn-studio=wrong")[0] == 401
    assert asked(far, host="evil.example:8765", cookie=known)[0] == 421


def test_the_token_is_printed_where_others_can_reach_the_studio(tmp_path):
    with started(tmp_path / "studio", "--host", "0.0.0.0") as (_, address):
        assert "?token=" in address
        assert "0.0.0.0" not in address  # Which no other machine could open.
        far = Client(address.partition("?")[0])
        assert far.ask("/")[0] == 401
        assert far.ask("/", headers={"host": "evil.example"}.items())[0] == 421


def test_what_is_no_table_and_no_study_is_refused_by_name(tmp_path):
    page = tmp_path / "README.md"
    page.write_text("# Hello")
    with started(tmp_path / "studio", str(page)) as (process, address):
        assert not address
        assert "(.csv or .parquet) or a study file (.toml)" in process.stderr.read()


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/..%2fserver.py",
        "/static/server.py",
        "/static/%2e%2e/%2e%2e/__init__.py",
        "/s/../../etc/passwd",
        "/api/sessions/..",
        "/api/sessions/%2e%2e%2f%2e%2e",
        "/api/sessions/ffffffffffff",
    ],
)
def test_no_file_beyond_its_own_is_handed_out(studio, path):
    assert studio.ask(path)[0] in (404, 421)


@pytest.mark.parametrize("name", ["session.json", "..%2fsession.json", "data.csv"])
def test_only_what_is_offered_is_taken_away(studio, name):
    session = studio.example("fig2-left")
    assert studio.ask(f"{session}/files/{name}")[0] == 404


def test_nonsense_is_refused_in_words(studio):
    session = studio.example("fig2-left")
    status, _, content = studio.ask(session, b"no json", "PUT")
    assert (status, json.loads(content)["error"]) == (422, "the request is no JSON.")
    status, _, content = studio.ask(session, {"revision": 1}, "PUT")
    assert status == 422
    assert "document" in json.loads(content)["error"]
    status, _, content = studio.ask(f"{session}/drawn", {"kind": "spiral"})
    assert status == 422
    status, _, content = studio.ask(session, b" " * (5 * 2**20), "PUT")
    assert status == 413
