"""Who may talk to the server: pages of its own, in the browser of who knows a token.

Everybody who has an account on a machine reaches its loopback, so the token is needed
there as well. A page of another site, opened in the same browser, can send requests to
loopback. So the Host must be ours (else a name of theirs leads here: DNS rebinding), an
Origin must be ours, and whatever changes something carries a header that other sites
cannot send without asking first, which is never allowed.
"""

import re
import secrets
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, Response

from ocbnn.studio.connections import KNOWN

_EMPTY = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
HEADERS = {
    # Plotly makes empty styles and fills them by script: those alone are let through.
    "content-security-policy": "default-src 'none'; script-src 'self'; "
    f"style-src 'self' 'unsafe-hashes' {_EMPTY}; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
# Strangers keep no connection, and nothing more of what they send is read.
_LAST = {"connection": "close"}
MARK = "x-ocbnn"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_SAFE = ("GET", "HEAD")
_WORK = re.compile(r"/s/[0-9a-f]{12}")
_STRANGER = (
    "This page opens with the whole address that ocbnn studio printed in its terminal "
    "when it started, which ends in ?token= and the token."
)
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>ocbnn studio</title>
<link rel="icon" href="data:,">{}</html>
"""

Scope = dict[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]


class Guard:
    """Lets through what comes from our own pages, and adds headers to answers."""

    def __init__(
        self, app: App, *, hosts: Iterable[str], port: int, token: str
    ) -> None:
        self._app, self._token = app, token.encode()
        names = {name.lower() for name in (*_LOOPBACK, *hosts)}
        self._hosts = {f"{name}:{port}" for name in names}
        if port == 80:
            self._hosts |= names
        self._origins = {f"http://{host}" for host in self._hosts}
        # Browsers send cookies to every port of a host: each studio has its own.
        self._cookie = f"ocbnn-studio-{port}"

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sending(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer: Any = self._instead(scope)
        if answer is None:
            scope.setdefault("state", {})[KNOWN] = True
            answer = self._app
        await answer(scope, receive, sending)

    def _instead(self, scope: Scope) -> Response | None:
        """What is answered instead of the studio, if anything is."""
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._hosts:
            return _refused(421, "this server does not answer to that name.")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self._origins:
            return _refused(403, "requests from other sites are refused.")
        if scope["method"] not in _SAFE and headers.get(MARK) != "studio":
            return _refused(403, f"requests that change something need {MARK}: studio.")
        if scope["method"] in _SAFE and self._has_token(scope["query_string"]):
            return self._admitted(scope["path"])
        known = self._has_cookie(headers.getlist("cookie"))
        return None if known else _asked_for_token(scope["path"])

    def _has_token(self, query: bytes) -> bool:
        found = parse_qs(query.decode("latin-1")).get("token", [])
        return any(map(self._is_token, found))

    def _has_cookie(self, lines: Iterable[str]) -> bool:
        # Read by hand: a parser stops at cookies of others that it cannot read.
        pairs = [one.partition("=") for line in lines for one in line.split(";")]
        ours = [value for name, _, value in pairs if name.strip() == self._cookie]
        return any(self._is_token(value.strip()) for value in ours)

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(errors="replace"), self._token)

    def _admitted(self, path: str) -> Response:
        """Who opens the page with the token gets a cookie, and an address without."""
        # Only to pages of ours: of "//host/", a browser makes an address elsewhere.
        here = path if _WORK.fullmatch(path) else "/"
        # A page leads there, not a status: strict cookies are sent on the way from a
        # page of ours, but not on that from a web terminal where the link was clicked.
        lead = f'<meta http-equiv="refresh" content="0; url={here}">'
        link = f'<p><a href="{here}">Open the studio</a></p>'
        answer = HTMLResponse(_PAGE.format(lead + link))
        token = self._token.decode()
        answer.set_cookie(self._cookie, token, httponly=True, samesite="strict")
        return answer


def _asked_for_token(path: str) -> Response:
    if path.startswith(("/api/", "/static/")):
        return _refused(403, _STRANGER)
    return HTMLResponse(_PAGE.format(f"<p>{_STRANGER}</p>"), 403, _LAST)


def _refused(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status, _LAST)
