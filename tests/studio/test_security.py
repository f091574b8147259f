"""Who may talk to the studio, and what leaves it."""

import asyncio
import json
import os
import stat

import pytest
from starlette.responses import PlainTextResponse

from ocbnn.studio.examples import EXAMPLES
from ocbnn.studio.security import Guard
from ocbnn.studio.sessions import Store
from tests.limits import within
from tests.studio.conftest import Client, open_to_others, started

PORT, TOKEN = 8765, "s3cret"
KNOWN = f"ocbnn-studio-{PORT}={TOKEN}"


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
            (name.replace("_", "-").encode(), value.encode("latin-1"))
            for name, value in headers.items()
        ],
    }
    asyncio.run(guard(scope, receive, send))
    start, body = sent[0], b"".join(one.get("body", b"") for one in sent[1:])
    result = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], result, body.decode()


def guard(**settings):
    given = {"hosts": (), "port": PORT, "token": TOKEN, **settings}
    return Guard(PlainTextResponse("welcome"), **given)


OURS = f"127.0.0.1:{PORT}"


@pytest.mark.parametrize("host", [OURS, f"localhost:{PORT}", f"[::1]:{PORT}"])
def test_this_machine_is_let_in(host):
    assert asked(guard(), host=host, cookie=KNOWN)[::2] == (200, "welcome")
    own = {"host": host, "origin": f"http://{host}", "x_ocbnn": "studio"}
    assert asked(guard(), method="POST", **own, cookie=KNOWN)[0] == 200


def test_names_are_the_same_in_capitals():
    lab = guard(hosts=("Lab.Example",))
    for host in ("lab.example", "Lab.Example", "LOCALHOST"):
        there = {"host": f"{host}:{PORT}", "origin": f"http://{host}:{PORT}"}
        assert asked(lab, **there, cookie=KNOWN)[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:1", ""]
)
def test_other_names_are_not_answered_to(host):
    status, _, message = asked(guard(), host=host)
    assert status == 421
    assert "does not answer to that name" in message


@pytest.mark.parametrize(
    "origin",
    [
        *("http://evil.example", "null", "http://127.0.0.1:1", "https://x", ""),
        *(
            "http://[bad",
            "http://[::1",
            f"http://a@{OURS}",
            "\xff\xfe",
            "http://" * 999,
        ),
    ],
)
def test_other_sites_are_refused(origin):
    for method in ("GET", "POST"):
        status, _, message = asked(
            guard(), method=method, host=OURS, origin=origin, x_ocbnn="studio"
        )
        assert status == 403
        assert "other sites" in message


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_what_changes_something_needs_a_mark_that_other_sites_cannot_make(method):
    status, _, message = asked(guard(), method=method, host=OURS)
    assert status == 403
    assert "x-ocbnn" in message


def test_only_who_knows_the_token_keeps_a_connection():
    for refused in ({"host": "evil.example"}, {"host": OURS, "origin": "null"}):
        assert asked(guard(), **refused)[1]["connection"] == "close"
    for path in ("/", "/api/start"):
        assert asked(guard(), host=OURS, path=path)[1]["connection"] == "close"
    assert asked(guard(), host=OURS, method="POST")[1]["connection"] == "close"
    assert "connection" not in asked(guard(), host=OURS, cookie=KNOWN)[1]


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


def test_without_the_token_a_page_says_where_the_address_is():
    status, headers, message = asked(guard(), host=OURS)
    assert status == 403
    assert headers["content-type"].startswith("text/html")
    assert "address that ocbnn studio printed" in message
    status, _, message = asked(guard(), host=OURS, path="/api/start")
    assert status == 403
    assert "address that ocbnn studio printed" in json.loads(message)["error"]
    for query in ("token=wrong", "token=", "token=%ff", "token", "x=s3cret", "&;=%"):
        assert asked(guard(), host=OURS, query=query)[0] == 403
    post = {"method": "POST", "query": f"token={TOKEN}", "x_ocbnn": "studio"}
    assert asked(guard(), host=OURS, **post)[0] == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "lab.example"])
def test_the_token_is_changed_for_a_cookie_that_only_our_pages_send(host):
    there, far = f"{host}:{PORT}", guard(hosts=("lab.example",))
    path = "/s/0123456789ab"
    status, headers, page = asked(far, host=there, path=path, query=f"token={TOKEN}")
    assert status == 200
    assert f'content="0; url={path}"' in page
    assert TOKEN not in page
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert cookie.partition(";")[0] == KNOWN
    assert asked(far, host=there, cookie=KNOWN)[0] == 200
    wrong = ("ocbnn-studio=s3cret", "ocbnn-studio-1=s3cret", f"{KNOWN}x", "s3cret")
    for one in wrong:
        assert asked(far, host=there, cookie=one)[0] == 403
    assert asked(far, host="evil.example:8765", cookie=KNOWN)[0] == 421


@pytest.mark.parametrize(
    "other",
    [
        *('a="', "a=b=c", "=", "{json:[1,2]}", "näme=\xff", "a b c", "a@b=(c)", ",,,"),
        *("ocbnn-studio-8765=of-before", "ocbnn-studio-9999=s3cret", "x" * 9000),
    ],
)
def test_cookies_of_others_do_not_hide_ours(other):
    for line in (f"{other}; {KNOWN}", f"{KNOWN};{other}", f"{other} ;{KNOWN} ; a=b"):
        assert asked(guard(), host=OURS, cookie=line)[0] == 200
    assert asked(guard(), host=OURS, cookie=other)[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        *(
            "//evil.example/",
            "//evil.example/s/0123456789ab",
            "/\\evil.example",
            "/s/x",
        ),
        *("https://evil.example/", "/s/0123456789ab/..", '/"><script>', "/s/0123\n"),
    ],
)
def test_the_token_leads_to_pages_of_ours_only(path):
    status, headers, page = asked(guard(), host=OURS, path=path, query=f"token={TOKEN}")
    assert status == 200
    assert "location" not in headers
    assert 'content="0; url=/"' in page
    assert "evil" not in page
    assert "script" not in page


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_the_printed_address_has_the_token_that_is_needed(tmp_path, host):
    with started(tmp_path / "studio", "--host", host) as (_, address):
        assert "?token=" in address
        assert "0.0.0.0" not in address  # Which no other machine could open.
        client = Client(address)
        assert client.ask("/")[0] == 403
        assert client.ask("/", headers={"host": "evil.example"}.items())[0] == 421
        assert client.enter().json("/api/start")["sessions"] == []


def test_the_browser_is_told_the_token_where_no_one_else_can_read_it(
    tmp_path, monkeypatch
):
    said, browser = tmp_path / "said", tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\necho "$@" > {said}\ncat "${{1#file://}}" >> {said}\n'
    )
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    folder = tmp_path / "studio"
    with started(folder, "--browser") as (_, address):
        assert Client(address).enter().ask("/api/start")[0] == 200
        line, page = said.read_text().split("\n", 1)
        assert line == (folder / "open.html").as_uri()
        assert f"url={address}" in page
        assert stat.S_IMODE((folder / "open.html").stat().st_mode) == 0o600
    assert not (folder / "open.html").exists()


def test_sessions_of_before_are_closed_to_others(tmp_path):
    store = Store(tmp_path / "studio")
    session = store.from_document(*EXAMPLES["fig1-left"].make())
    session.folder.chmod(0o755)
    (session.folder / "with").mkdir(mode=0o775)
    for path in session.folder.iterdir():
        path.chmod(0o755 if path.is_dir() else 0o664)
    other = tmp_path / "other"
    other.write_text("not ours")
    other.chmod(0o644)
    (session.folder / "link").symlink_to(other)
    Store(store.folder)
    assert open_to_others(session.folder) == []
    assert stat.S_IMODE(other.stat().st_mode) == 0o644
    assert os.access(session.folder / "with", os.X_OK)


def test_what_is_no_table_and_no_study_is_refused_by_name(tmp_path):
    page = tmp_path / "README.md"
    page.write_text("# Hello")
    with started(tmp_path / "studio", str(page)) as (process, address):
        assert not address
        said = within(60, process.stderr.read)
        assert "(.csv or .parquet) or a study file (.toml)" in said


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
    assert (status, json.loads(content)["error"]) == (422, "the request is not JSON.")
    status, _, content = studio.ask(session, {"revision": 1}, "PUT")
    assert status == 422
    assert "document" in json.loads(content)["error"]
    status, _, content = studio.ask(f"{session}/drawn", {"kind": "spiral"})
    assert status == 422
    status, _, content = studio.ask(session, b" " * (5 * 2**20), "PUT")
    assert status == 413
