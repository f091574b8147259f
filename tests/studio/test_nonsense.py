"""Nonsense at every door: it is refused in a sentence, and nothing is lost."""

import itertools
import json
import random
import socket

import pytest

VALUES = [
    *(None, True, 0, -1, 2**62, 10**39, 1.5, -1e308, 1e-320, "", "x", "\0", "é" * 500),
    *("../../x", "[rule", "<b>", "${x}", [], [[]], ["x"], [1, 2], [None, "x", {}]),
    *({}, {"x": None}, {"": {"": []}}, {"x": [1, 2]}, "a" * 5000),
]
MOST = 150
NESTED = b"[" * 200_000 + b"]" * 200_000
RAW = [
    *(b"", b"\xff\xfe", b"{", b"nul", b'"\xed\xa0\x80"', NESTED, b"9" * 5000),
    *(b'{"a":' * 200_000, b"1e999", b"NaN", b"-Infinity", b'{"a": "\\ud800"}'),
    *(b"[" * 900 + b"]" * 900, b"1" * 4000, b'{"\\udfff": 1}'),
]
JSON_ROUTES = [
    *(("POST", "/api/sessions"), ("POST", "/api/rules/edit"), ("PUT", "{}")),
    *(("POST", "{}/drawn"), ("POST", "{}/moved"), ("POST", "{}/layers")),
    *(("POST", "{}/prior"), ("POST", "{}/posterior"), ("POST", "{}/fit")),
]


@pytest.fixture(scope="module")
def session(studio):
    return studio.example("fig1-left")


def bodies(state):
    """A good request of every route, to be spoilt."""
    view = state["document"]["view"]
    text = state["document"]["rules"][0]["text"]
    shape = {"kind": "band", "x": [-0.3, 0.3], "y": [2.5, 3]}
    draws = [
        shape,
        {"kind": "curve", "points": [[0, 1], [1, 2]], "sd": 1},
        {**shape, "kind": "limits", "low": 0, "high": 1},
        {**shape, "kind": "class", "classes": ["x"]},
    ]
    return {
        "/api/sessions": [{"example": "nothing"}],
        "/api/rules/edit": [{"text": text, "strength": 10, "weight": 1, "name": "a"}],
        "{}": [{"revision": state["revision"], "document": state["document"]}],
        "{}/drawn": [{**one, "view": view} for one in draws],
        "{}/moved": [{"text": text, "shape": shape, "view": view}],
        "{}/layers": [{"view": view}],
    }


def places(value, path=()):
    """Every place in a body."""
    yield path
    pairs = value.items() if isinstance(value, dict) else ()
    pairs = enumerate(value) if isinstance(value, list) else pairs
    for key, inner in pairs:
        yield from places(inner, (*path, key))


def spoilt(value, path, by):
    """A body with something else at one place."""
    if not path:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = spoilt(value[path[0]], path[1:], by)
    return copy


def check(answer, asked):
    status, headers, content = answer
    assert status < 500, (asked, content)
    assert b"Traceback" not in content
    if status >= 400 and headers.get_content_type() == "application/json":
        document = json.loads(content)["error"]
        assert document, asked
        assert len(document) < 10_000, asked
    return status


def well(studio, session, before):
    """Whether all is there, and answers."""
    state = studio.json(session)
    assert state["table"] == before["table"]
    assert state["problem"] is None


@pytest.mark.parametrize(("method", "route"), JSON_ROUTES)
def test_bytes_that_are_no_request_are_refused_at_once(studio, session, method, route):
    before = studio.json(session)
    for raw in RAW:
        answer = studio.ask(route.format(session), raw, method)
        assert check(answer, (route, raw[:40])) == 422
    assert studio.json(session) == before


@pytest.mark.parametrize(
    ("method", "route", "body", "message"),
    [
        ("POST", "/api/sessions", [], 'is []: send a JSON object, {"example": ...}.'),
        ("POST", "/api/sessions", "x" * 90, "xxx...: send a JSON object"),
        ("POST", "/api/sessions", {}, "example: this is missing."),
        ("POST", "{}/fit", 5, 'is 5: send a JSON object, {"quick": ...}.'),
        ("PUT", "{}", {"revision": 1, "document": 3}, "document: send a JSON object"),
        ("POST", "{}/drawn", [], "the request: send a JSON object"),
        ("POST", "{}/drawn", {}, "the request: send a JSON object with a kind."),
        ("POST", "{}/drawn", {"kind": "x"}, "'forbid', 'band', 'curve'"),
    ],
)
def test_a_refusal_says_what_to_send(studio, session, method, route, body, message):
    status, _, content = studio.ask(route.format(session), body, method)
    assert status == 422
    assert message in json.loads(content)["error"]


# Functions are drawn by another process, one after the other: fewer of those.
@pytest.mark.parametrize(("method", "route"), JSON_ROUTES[:6])
def test_wrong_values_are_refused_at_every_place(studio, session, method, route):
    before = studio.json(session)
    wrong = [
        (body, path, by)
        for body in bodies(before)[route]
        for path, by in itertools.product(places(body), VALUES)
    ]
    for body, path, by in random.Random(0).sample(wrong, min(len(wrong), MOST)):
        asked = spoilt(body, path, by)
        if route == "{}" and isinstance(asked, dict):
            # Of the revision that is there, so that it comes to what it says.
            now = studio.json(session)["revision"]
            asked = {**asked, "revision": by if path == ("revision",) else now}
        check(studio.ask(route.format(session), asked, method), (route, path, by))
    document = before["document"]
    now = studio.json(session)["revision"]
    studio.json(session, {"revision": now, "document": document}, "PUT")
    well(studio, session, before)


@pytest.mark.parametrize("route", ["{}/prior", "{}/posterior"])
def test_wrong_views_are_refused(studio, session, route):
    before = studio.json(session)
    view = before["document"]["view"]
    for path, by in [
        *(((), by) for by in (3, "x", [], {"along": ["x", "x"]}, {"output": "z"})),
        *((("ranges", "x"), by) for by in ([1e308, -1e308], [0, 1e-320], [1], "x")),
        *((("ranges", "y"), by) for by in ([-1e308, 1e308], [2**62, 10**39])),
        (("along",), ["<b>"]),
    ]:
        body = {"view": spoilt(view, path, by)}
        check(studio.ask(route.format(session), body), (route, path, by))
    well(studio, session, before)


def test_addresses_headers_and_names_of_files_may_be_anything(studio, session):
    before = studio.json(session)
    odd = [
        "%ff%fe",
        "%00",
        "%2e%2e%2f",
        "a" * 3000,
        "%f0%9f%92%a9",
        "?x=%ff",
        "{}",
        "[a]",
    ]
    for one in odd:
        for path in (f"/{one}", f"/s/{one}", f"/static/{one}", f"/api/sessions/{one}"):
            check(studio.ask(path), path)
        for path in (f"{session}/files/{one}", f"{session}/{one}"):
            check(studio.ask(path), path)
        for name in (one, f"{one}.csv", f"{one}.parquet"):
            check(studio.ask(f"/api/upload?name={name}", b"x,y\n1,2\n"), name)
    for name in ("origin", "cookie", "content-type", "x-page", "range", "accept"):
        for value in ("http://[bad", "\xff\xfe", "a" * 9000, "bytes=0-,-1,5-2", ";=,"):
            answer = studio.ask("/", headers=[(name, value)])
            check(answer, (name, value))
    well(studio, session, before)


@pytest.mark.parametrize("name", ["a" * 300 + ".csv", "é" * 200 + ".csv", "\0.csv"])
def test_tables_may_be_called_anything(studio, name):
    quoted = "".join(f"%{byte:02x}" for byte in name.encode())
    rows = b"x,y\n" + b"".join(b"%d,%d\n" % (i, i * i % 7) for i in range(12))
    answer = studio.json(f"/api/upload?name={quoted}", rows)
    state = studio.json(f"/api/sessions/{answer['id']}")
    assert state["problem"] is None
    assert len(state["document"]["data"]["file"].encode()) < 200


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: [bad\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"GET / HTTP/9.9\r\nhost: OURS\r\n\r\n",
        b"GET \xff HTTP/1.1\r\nhost: OURS\r\n\r\n",
        b"GET http://[bad/ HTTP/1.1\r\nhost: OURS\r\n\r\n",
        b"GET * HTTP/1.1\r\nhost: OURS\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: OURS\r\ncontent-length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: OURS\r\ncontent-length: 9e9\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: OURS\r\ncontent-length: 1\r\n"
        b"content-length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: OURS\r\ntransfer-encoding: odd\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: OURS\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nhost: OURS\r\nx: " + b"a" * 70_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: OURS\r\ncookie: a=\xff\xfe; =;\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: OURS\r\nupgrade: websocket\r\n"
        b"connection: upgrade\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_hardly_http_is_refused_as_such(studio, head):
    host = studio.address.removeprefix("http://")
    name, _, port = host.partition(":")
    with socket.create_connection((name, int(port)), timeout=20) as connection:
        connection.sendall(head.replace(b"OURS", host.encode()))
        assert connection.recv(100).startswith(b"HTTP/1.1 4")
    assert studio.ask("/api/start")[0] == 200
