"""Who may talk to the server: this machine's own pages, and those who know a token.

A page of another site, opened in the same browser, can send requests to loopback. So
the Host must be ours (else a name of theirs leads here: DNS rebinding), an Origin must
be ours, and whatever changes something carries a header that other sites cannot send
without asking first, which is never allowed.
"""

import secrets
from collections.abc import Awaitable, Callable, Iterable
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response

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
_COOKIE, MARK = "ocbnn-studio", "x-ocbnn"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_SAFE = ("GET", "HEAD")

Scope = dict[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]


class Guard:
    """Lets through what comes from our own pages, and adds headers to answers."""

    def __init__(
        self, app: App, *, hosts: Iterable[str], port: int, token: str | None
    ) -> None:
        self._app, self._token = app, token
        names = dict.fromkeys([*_LOOPBACK, *hosts])
        self._hosts = {f"{name}:{port}" for name in names}
        if port == 80:
            self._hosts |= set(names)

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

        answer: Any = self._refusal(scope) or self._app
        await answer(scope, receive, sending)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._hosts:
            return _refused(421, "this server does not answer to that name.")
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() not in self._hosts:
            return _refused(403, "requests from other sites are refused.")
        if scope["method"] not in _SAFE and headers.get(MARK) != "studio":
            return _refused(403, f"requests that change something need {MARK}: studio.")
        if self._token is None or self._knows(headers):
            return None
        return self._admitted(scope)

    def _knows(self, headers: Headers) -> bool:
        cookies = SimpleCookie(headers.get("cookie", ""))
        found = cookies[_COOKIE].value if _COOKIE in cookies else ""
        return secrets.compare_digest(found.encode(), str(self._token).encode())

    def _admitted(self, scope: Scope) -> Response:
        """Who opens the page with the token gets a cookie, and an address without."""
        query = parse_qs(scope["query_string"].decode(errors="replace"))
        (given,) = query.get("token", [""])[:1]
        if not secrets.compare_digest(given.encode(), str(self._token).encode()):
            return _refused(401, "open the address with the token that was printed.")
        answer = RedirectResponse(scope["path"], 303)
        answer.set_cookie(_COOKIE, given, httponly=True, samesite="strict")
        return answer


def _refused(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status)
