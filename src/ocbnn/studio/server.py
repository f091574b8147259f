"""The server and its routes. Long computations run in other processes."""

import asyncio
import contextlib
import importlib.resources
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import plotly
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from ocbnn.core.cores import cores
from ocbnn.errors import OcbnnError
from ocbnn.studio.controller import Controller
from ocbnn.studio.document import MOST_TEXT, Document, View
from ocbnn.studio.drawing import Drawn, MovedBox, with_name
from ocbnn.studio.jobs import Fits, Listeners, PreviewProcess, SupersededError
from ocbnn.studio.requests import (
    RequestError,
    read_body,
    read_json,
    read_model,
    with_error_responses,
)
from ocbnn.studio.security import Guard
from ocbnn.studio.sessions import Session, StaleError, Store
from ocbnn.studio.strictness import with_strength, with_weight

MOST_BYTES = 100 * 2**20
_HEARTBEAT = 15.0
_MOST_LISTENING = 16
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
_PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


class _Payload(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _SavePayload(_Payload):
    revision: int
    document: Document


class _EditPayload(_Payload):
    text: str = Field(max_length=MOST_TEXT)
    strength: float | Literal["soft", "firm", "hard"] | None = None
    weight: float | Literal["usual"] | None = None
    name: str | None = None


class _MovePayload(_Payload):
    text: str = Field(max_length=MOST_TEXT)
    shape: MovedBox
    view: View | None = None


class _ViewPayload(_Payload):
    view: View | None = None


class _FitPayload(_Payload):
    quick: bool = False


class _NewSessionPayload(_Payload):
    example: str


_DRAWN: TypeAdapter[Any] = TypeAdapter(Drawn)


class Studio:
    """The web application for one folder of sessions."""

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
        self.store = Store(folder)
        self._most_bytes = most_bytes
        self._listeners = Listeners()
        self._fits = Fits(self._listeners, max(1, cores() // 2))
        self._preview = PreviewProcess()
        self._controller = Controller(self.store, self._fits, self._preview)
        self._closing = asyncio.Event()
        self._listening: Counter[str] = Counter()

    def app(self, *, hosts: tuple[str, ...], port: int, token: str) -> Guard:
        """The ASGI application."""
        routes = [
            ("/", "GET", self._start_page),
            ("/s/{id}", "GET", self._work_page),
            ("/static/{file}", "GET", self._static),
            ("/api/start", "GET", self._start),
            ("/api/sessions", "POST", self._new),
            ("/api/upload", "POST", self._upload),
            ("/api/rules/edit", "POST", self._edit),
            ("/api/sessions/{id}", "GET", self._state),
            ("/api/sessions/{id}", "PUT", self._save),
            ("/api/sessions/{id}", "DELETE", self._delete),
            ("/api/sessions/{id}/rows", "GET", self._rows),
            ("/api/sessions/{id}/drawn", "POST", self._drawn),
            ("/api/sessions/{id}/moved", "POST", self._moved),
            ("/api/sessions/{id}/layers", "POST", self._layers),
            ("/api/sessions/{id}/prior", "POST", self._prior),
            ("/api/sessions/{id}/posterior", "POST", self._posterior),
            ("/api/sessions/{id}/fit", "POST", self._fit),
            ("/api/sessions/{id}/cancel", "POST", self._cancel),
            ("/api/sessions/{id}/events", "GET", self._events),
            ("/api/sessions/{id}/files/{name}", "GET", self._file),
            ("/s/{rest:path}", "GET", self._no_page),
        ]
        starlette = Starlette(
            routes=[
                Route(path, with_error_responses(handler), methods=[method])
                for path, method, handler in routes
            ],
            lifespan=self._lifespan,
        )
        return Guard(starlette, hosts=hosts, port=port, token=token)

    def end_streams(self) -> None:
        """End event streams and pending requests, so that the server can stop."""
        self._closing.set()
        self._preview.stop()

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        await run_in_threadpool(self._controller.tidy_up)
        warmup = asyncio.create_task(self._preview.start())
        try:
            yield
        finally:
            self.end_streams()
            warmup.cancel()
            with contextlib.suppress(asyncio.CancelledError, OcbnnError):
                await warmup
            await self._fits.close()
            await self._preview.close()

    # Pages.

    async def _start_page(self, _: Request) -> Response:
        return _shipped("index.html")

    async def _work_page(self, request: Request) -> Response:
        try:
            self._session(request)
        except KeyError:
            return await self._no_page(request)
        return _shipped("studio.html")

    async def _no_page(self, _: Request) -> Response:
        return _shipped("missing.html", 404)

    async def _static(self, request: Request) -> Response:
        name = request.path_params["file"]
        if name == "plotly.js":
            return FileResponse(
                _PLOTLY,
                media_type="text/javascript",
                headers={"cache-control": "private, max-age=86400"},
            )
        return _shipped(name)

    # Sessions.

    async def _start(self, _: Request) -> Response:
        state = await run_in_threadpool(self._controller.start)
        return JSONResponse({**state, "limit": self._most_bytes})

    async def _new(self, request: Request) -> Response:
        payload = await read_model(request, _NewSessionPayload)
        return JSONResponse(
            await run_in_threadpool(self._controller.new, payload.example)
        )

    async def _upload(self, request: Request) -> Response:
        name = request.query_params.get("name", "")
        most = self._most_bytes
        content = await read_body(request, most, f"{name or 'the file'} is too large")
        session = await run_in_threadpool(self.store.from_table, name, content)
        return JSONResponse({"id": session.id})

    async def _state(self, request: Request) -> Response:
        session = self._session(request)
        return JSONResponse(await run_in_threadpool(self._controller.state, session))

    async def _save(self, request: Request) -> Response:
        session = self._session(request)
        payload = await read_model(request, _SavePayload)
        save = lambda: session.write(payload.document, payload.revision)
        try:
            revision = await run_in_threadpool(save)
        except StaleError as error:
            state = await run_in_threadpool(self._controller.state, session)
            return JSONResponse({"error": str(error), "state": state}, 409)
        self._listeners.publish(session.id, "changed", {"revision": revision})
        return JSONResponse(await run_in_threadpool(self._controller.state, session))

    async def _delete(self, request: Request) -> Response:
        session = self._session(request)
        await self._fits.settle(session)
        if self._fits.is_busy(session):
            raise OcbnnError("a fit of this session is running. Stop it first.")
        await run_in_threadpool(self.store.remove, session)
        return JSONResponse({})

    async def _rows(self, request: Request) -> Response:
        session = self._session(request)
        return JSONResponse(await run_in_threadpool(self._controller.rows, session))

    # Rules.

    async def _edit(self, request: Request) -> Response:
        payload = await read_model(request, _EditPayload)
        text = payload.text
        if payload.strength is not None:
            text = with_strength(text, payload.strength)
        if payload.weight is not None:
            text = with_weight(
                text, None if payload.weight == "usual" else payload.weight
            )
        if payload.name is not None:
            text = with_name(text, payload.name)
        return JSONResponse({"text": text})

    async def _drawn(self, request: Request) -> Response:
        session = self._session(request)
        drawn = _DRAWN.validate_python(await read_json(request))
        return JSONResponse(
            await run_in_threadpool(self._controller.drawn, session, drawn)
        )

    async def _moved(self, request: Request) -> Response:
        session = self._session(request)
        payload = await read_model(request, _MovePayload)
        move = lambda: self._controller.moved(
            session, payload.text, payload.shape, payload.view
        )
        return JSONResponse(await run_in_threadpool(move))

    async def _layers(self, request: Request) -> Response:
        session = self._session(request)
        view = (await read_model(request, _ViewPayload)).view
        return JSONResponse(
            await run_in_threadpool(self._controller.layers, session, view)
        )

    # Functions.

    async def _prior(self, request: Request) -> Response:
        return await self._functions(request, "prior")

    async def _posterior(self, request: Request) -> Response:
        return await self._functions(request, "posterior")

    async def _functions(self, request: Request, kind: str) -> Response:
        session = self._session(request)
        view = (await read_model(request, _ViewPayload)).view
        page = request.headers.get("x-page", "")
        try:
            return JSONResponse(await self._controller.look(page, kind, session, view))
        except SupersededError:
            return JSONResponse({"error": "a newer request has replaced this one"}, 409)

    async def _fit(self, request: Request) -> Response:
        session = self._session(request)
        payload = await read_model(request, _FitPayload)
        await self._controller.fit(session, quick=payload.quick)
        return JSONResponse({})

    async def _cancel(self, request: Request) -> Response:
        self._fits.stop(self._session(request))
        return JSONResponse({})

    async def _events(self, request: Request) -> Response:
        session = self._session(request)
        session.read()  # Errors can no longer be sent once the answer has begun.
        if self._listening[session.id] >= _MOST_LISTENING:
            raise RequestError(
                f"this study is open in {_MOST_LISTENING} tabs. Close some of them.",
                429,
            )
        return StreamingResponse(
            self._event_stream(session), media_type="text/event-stream"
        )

    async def _event_stream(self, session: Session) -> AsyncIterator[str]:
        closing = asyncio.create_task(self._closing.wait())
        next_event = None
        self._listening[session.id] += 1
        try:
            with self._listeners.listening(session.id) as queue:
                yield _event("fit", self._controller.fit_state(session))
                while not self._closing.is_set():
                    next_event = asyncio.create_task(queue.get())
                    await asyncio.wait(
                        {next_event, closing},
                        timeout=_HEARTBEAT,
                        return_when=asyncio.FIRST_COMPLETED,
                    )
                    if not next_event.done():
                        next_event.cancel()
                        yield ": still here\n\n"
                        continue
                    name, data = next_event.result()
                    if name == "fit":
                        data = self._controller.fit_state(session)
                    yield _event(name, data)
        finally:
            self._listening[session.id] -= 1
            closing.cancel()
            if next_event is not None:
                next_event.cancel()

    async def _file(self, request: Request) -> Response:
        session = self._session(request)
        name = request.path_params["name"]
        content, media = await self._controller.file(session, name)
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        if isinstance(content, Path):
            return FileResponse(content, media_type=media, headers=headers)
        return Response(content, media_type=media, headers=headers)

    def _session(self, request: Request) -> Session:
        return self.store.session(request.path_params["id"])


def _event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data, allow_nan=False)}\n\n"


def _shipped(name: str, status: int = 200) -> Response:
    """A static file of the page."""
    suffix = Path(name).suffix
    folder = importlib.resources.files("ocbnn.studio") / "static"
    if suffix not in _TYPES or name not in {path.name for path in folder.iterdir()}:
        raise KeyError(name)
    return Response((folder / name).read_bytes(), status, media_type=_TYPES[suffix])
