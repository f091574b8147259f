"""Access control: only the server's own pages, in browsers that have shown the token.

Everybody with an account on a machine can reach its loopback, so a token is needed
there too. Pages of other sites, opened in the same browser, can send requests to
loopback. So the Host must be ours (against DNS rebinding), an Origin must be ours, and
requests that change something must carry a header that other sites can only send after
a preflight request, which is never allowed.
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
    # Plotly creates empty style elements and fills them by script; only those may pass.
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
# Refused clients keep no connection, and the rest of their request is not read.
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
    """Passes on requests from our own pages, and adds security headers to answers."""

    def __init__(
        self, app: App, *, hosts: Iterable[str], port: int, token: str
    ) -> None:
        self._app, self._token = app, token.encode()
        names = {name.lower() for name in (*_LOOPBACK, *hosts)}
        self._hosts = {f"{name}:{port}" for name in names}
        if port == 80:
            self._hosts |= names
        self._origins = {f"http://{host}" for host in self._hosts}
        # Browsers send cookies to every port of a host, so their names have the port.
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

        answer: Any = self._early_answer(scope)
        if answer is None:
            scope.setdefault("state", {})[KNOWN] = True
            answer = self._app
        await answer(scope, receive, sending)

    def _early_answer(self, scope: Scope) -> Response | None:
        """The answer to a refused or first request; None lets the request pass."""
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._hosts:
            return _refused(421, "this server does not answer to that name.")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self._origins:
            return _refused(403, "requests from other sites are refused.")
        if scope["method"] not in _SAFE and headers.get(MARK) != "studio":
            return _refused(403, f"requests that change something need {MARK}: studio.")
        if scope["method"] in _SAFE and self._has_token(scope["query_string"]):
            return self._set_cookie(scope["path"])
        has_cookie = self._has_cookie(headers.getlist("cookie"))
        return None if has_cookie else _token_required(scope["path"])

    def _has_token(self, query: bytes) -> bool:
        tokens = parse_qs(query.decode("latin-1")).get("token", [])
        return any(map(self._is_token, tokens))

    def _has_cookie(self, lines: Iterable[str]) -> bool:
        # Split by hand: a parser stops at foreign cookies that it cannot read.
        pairs = [pair.partition("=") for line in lines for pair in line.split(";")]
        ours = [value for name, _, value in pairs if name.strip() == self._cookie]
        return any(self._is_token(value.strip()) for value in ours)

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(errors="replace"), self._token)

    def _set_cookie(self, path: str) -> Response:
        """Set the cookie, and lead to the same address without the token."""
        # Only to our own pages: browsers read "//host/" as another site's address.
        target = path if _WORK.fullmatch(path) else "/"
        # A page redirects, not a status: browsers send strict cookies when one of our
        # pages leads there, but not when a link in a web terminal was clicked.
        redirect = f'<meta http-equiv="refresh" content="0; url={target}">'
        link = f'<p><a href="{target}">Open the studio</a></p>'
        answer = HTMLResponse(_PAGE.format(redirect + link))
        token = self._token.decode()
        answer.set_cookie(self._cookie, token, httponly=True, samesite="strict")
        return answer


def _token_required(path: str) -> Response:
    if path.startswith(("/api/", "/static/")):
        return _refused(403, _STRANGER)
    return HTMLResponse(_PAGE.format(f"<p>{_STRANGER}</p>"), 403, _LAST)


def _refused(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status, _LAST)
