"""Fits in processes of their own, and one process that evaluates functions.

The server never runs long computations, which would freeze the page. If a process
dies, the server survives and shows the last line the process printed.
"""

import asyncio
import contextlib
import dataclasses
import json
import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ocbnn.errors import OcbnnError
from ocbnn.studio.processes import (
    end,
    is_over,
    last_words,
    lines,
    start_process,
)
from ocbnn.studio.sessions import Session
from ocbnn.studio.worker_messages import NOTHING_DRAWN, stopped_early

# Time for a fit to stop; for one that summarizes its draws, on a busy machine; and
# between ending a process and killing it.
_GENTLE_SECONDS, _KEEPING_SECONDS, _INSISTING_SECONDS = 3.0, 60.0, 0.5
_CLOSING_SECONDS = 10.0
_LOOK_SECONDS = 120.0
_NOTHING_SHOWN = "Stopped before there was anything to show."
_NOT_FOLLOWED = "The studio lost track of this fit and ended it. Fit again to continue."
_SUMMING_UP = "Stopped. The draws so far are being summed up and will be shown soon."


class CrashError(OcbnnError, RuntimeError):
    """The process that evaluates functions has died."""


class SupersededError(OcbnnError, RuntimeError):
    """A newer request has replaced this one."""


class Listeners:
    """Event queues of the pages that show a session."""

    def __init__(self) -> None:
        self._queues: dict[str, set[asyncio.Queue[tuple[str, Any]]]] = {}

    @contextlib.contextmanager
    def listening(self, session: str):  # noqa: ANN201 (a generator's type says less)
        """A queue of events, until the page is closed."""
        queue: asyncio.Queue[tuple[str, Any]] = asyncio.Queue(200)
        self._queues.setdefault(session, set()).add(queue)
        try:
            yield queue
        finally:
            self._queues[session].discard(queue)
            if not self._queues[session]:
                del self._queues[session]

    def publish(self, session: str, event: str, data: Any) -> None:
        """Send an event to all pages; a page that is too slow misses the oldest."""
        for queue in self._queues.get(session, ()):
            if queue.full():
                queue.get_nowait()
            queue.put_nowait((event, data))


class Fits:
    """The fits that run or wait; only `at_once` run at a time."""

    def __init__(self, listeners: Listeners, at_once: int) -> None:
        self._listeners = listeners
        self._slots = asyncio.Semaphore(at_once)
        self._jobs: dict[str, _Job] = {}
        self._statuses: dict[str, dict[str, Any]] = {}
        # One thread keeps the order, and nobody waits for a busy disk.
        self._writing = ThreadPoolExecutor(1)

    def is_busy(self, session: Session) -> bool:
        """Whether a fit of this session runs or waits."""
        return session.id in self._jobs

    def state(self, session: Session) -> dict[str, Any]:
        """The status of a session's fit."""
        return self._statuses.get(session.id) or session.fit_state()

    @contextlib.contextmanager
    def reserved(self, session: Session):  # noqa: ANN201 (a generator's type says less)
        """Reserve the session for a fit that is being checked; it can be stopped."""
        job = self._jobs[session.id] = _Job(session)
        try:
            yield
        finally:
            if job.task is None:
                del self._jobs[session.id]

    def start(self, session: Session, text: str, *, quick: bool) -> None:
        """Fit a session; `text` is its study file."""
        message = "Waiting for another fit to finish."
        waiting = {"state": "waiting", "message": message, "stage": "", "note": ""}
        empty = dict.fromkeys(("share", "rate", "left"))
        run = secrets.token_hex(4)
        fit = {"text": text, "quick": quick, "run": run}
        self._update(session, {**waiting, **empty, **fit})
        options = ["--run", run, *(["--quick"] if quick else [])]
        job = self._jobs.setdefault(session.id, _Job(session))
        job.task = asyncio.create_task(self._run(job, options))
        job.task.add_done_callback(lambda _: self._jobs.pop(session.id, None))
        if job.stopping.is_set():
            self._cancel_waiting(job, job.task)

    def stop(self, session: Session) -> None:
        """Stop a fit gently: its draws are kept."""
        job = self._jobs.get(session.id)
        if job is None or job.is_shown_stopped:
            return
        if job.has_turn:
            job.stopping.set()
            self._update(session, {"message": "Stopping; the draws so far are kept."})
        elif job.task is not None:
            self._cancel_waiting(job, job.task)
        else:
            job.stopping.set()

    def _cancel_waiting(self, job: "_Job", task: asyncio.Task[None]) -> None:
        task.cancel()
        self._update(
            job.session, {"state": "stopped", "message": "The fit had not started."}
        )

    async def settle(self, session: Session) -> None:
        """End a stopped fit that is only summing up its draws.

        They are saved, and the same fit continues from there.
        """
        job = self._jobs.get(session.id)
        if job is not None and job.is_shown_stopped and job.process and job.task:
            await end(job.process, _INSISTING_SECONDS)
            await asyncio.wait({job.task})

    async def close(self) -> None:
        """Stop all fits, gently at first; waiting ones never start."""
        jobs = list(self._jobs.values())
        for job in jobs:
            self.stop(job.session)
        tasks = {job.task for job in jobs if job.task is not None}
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSING_SECONDS)
        for job in jobs:
            await self.settle(job.session)
        self._writing.shutdown()

    async def _run(self, job: "_Job", options: list[str]) -> None:
        session = job.session
        async with self._slots:
            job.has_turn = True
            running = {"state": "running", "stage": "starting", "message": ""}
            self._update(session, running)
            try:
                process = await start_process("worker", str(session.folder), *options)
            except OSError as error:
                message = f"no process could be started: {error.strerror or error}."
                self._update(session, {"state": "failed", "message": message})
                return
            job.process = process
            stopper = asyncio.create_task(self._stop_on_request(job, process))
            status = {"state": "failed", "message": _NOT_FOLLOWED}
            try:
                exit_message = asyncio.create_task(last_words(process))
                final = await self._follow(job, process)
                await process.wait()
                session.mend()
                status = self._final_status(job, final, await exit_message)
            except OSError as error:
                why = error.strerror or error
                status["message"] = f"the session's folder cannot be used: {why}."
            finally:
                stopper.cancel()
                if process.returncode is None:
                    await end(process, _INSISTING_SECONDS)
                self._update(session, {**status, "share": None, "left": None})

    async def _stop_on_request(
        self, job: "_Job", process: asyncio.subprocess.Process
    ) -> None:
        """Stop a process when the user asks for it, and make sure that it ends."""
        await job.stopping.wait()
        assert process.stdin is not None
        process.stdin.write(b"stop\n")
        is_over_soon = await is_over(process, _GENTLE_SECONDS)
        if not is_over_soon and job.is_saving:
            job.is_shown_stopped = True
            status = {"state": "stopped", "message": _SUMMING_UP}
            self._update(job.session, {**status, "share": None, "left": None})
            await is_over(process, _KEEPING_SECONDS)
        if process.returncode is None:
            await end(process, _INSISTING_SECONDS)

    def _final_status(
        self, job: "_Job", final: dict[str, Any] | None, exit_message: str
    ) -> dict[str, Any]:
        """How a fit ended: as it reported, or as its files show."""
        status = final or {"state": "failed", "message": exit_message}
        if job.stopping.is_set() and status["state"] == "failed":
            run = self._statuses[job.session.id]["run"]
            is_shown = (job.session.read_result() or {}).get("run") == run
            nothing = _NOTHING_SHOWN if job.is_saving else NOTHING_DRAWN
            message = "" if is_shown else stopped_early(job.session.folder, nothing)
            status = {"state": "stopped", "message": message}
        return status

    async def _follow(
        self, job: "_Job", process: asyncio.subprocess.Process
    ) -> dict[str, Any] | None:
        """Pass on a fit's messages; return how it ended, if it reported that."""
        assert process.stdout is not None
        final, session = None, job.session
        async for line in lines(process.stdout):
            message = _parse_message(line)
            match message.pop("event", None):
                case "progress":
                    self._update(session, message, keep=False)
                case "bands":
                    self._listeners.publish(session.id, "bands", message)
                case "result":
                    self._listeners.publish(session.id, "result", {})
                case "keeping":
                    job.is_saving = True
                case "end":
                    final = message
                case _:
                    pass  # Printed by a library.
        return final

    def _update(
        self, session: Session, changes: dict[str, Any], keep: bool = True
    ) -> None:
        status = {**self._statuses.get(session.id, {}), **changes}
        self._statuses[session.id] = status
        self._listeners.publish(session.id, "fit", status)
        if keep:
            self._writing.submit(session.keep_fit_state, status)


def _parse_message(line: bytes) -> dict[str, Any]:
    """The message in a line; empty if a process was killed while writing it."""
    with contextlib.suppress(ValueError, RecursionError):
        message = json.loads(line)
        if isinstance(message, dict):
            return message
    return {}


@dataclasses.dataclass
class _Job:
    """One fit that runs or waits."""

    session: Session
    stopping: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    process: asyncio.subprocess.Process | None = None
    has_turn: bool = False
    is_saving: bool = False  # it heard the request, and saves its draws first
    is_shown_stopped: bool = False  # although it is still saving


class PreviewProcess:
    """One process that answers requests for functions, one at a time."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._exit_message: asyncio.Task[str] | None = None
        self._turn = asyncio.Lock()
        self._latest: dict[tuple[str, str, str], int] = {}
        self._number = 0
        self._is_closed = False

    async def start(self) -> None:
        """Load the library before the first request."""
        async with self._turn:
            await self._ready()

    async def ask(self, page: str, kind: str, session: Session, **details: Any) -> Any:
        """An answer; of a page's requests of one kind, only the latest is answered.

        Raises
        ------
        OcbnnError
            When there is no answer, or a newer request.
        """
        key = (page, kind, session.id)
        self._number += 1
        number = self._latest[key] = self._number
        async with self._turn:
            if self._latest.get(key) != number:
                raise SupersededError("a newer request has replaced this one")
            try:
                question = {
                    "kind": kind,
                    "folder": str(session.folder),
                    "number": number,
                }
                return await self._answer({**question, **details})
            finally:
                if self._latest.get(key) == number:
                    del self._latest[key]

    def stop(self) -> None:
        """Stop answering; pending requests fail at once."""
        self._is_closed = True
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def close(self) -> None:
        """End the process."""
        self.stop()
        if self._process is not None:
            await self._process.wait()

    async def _ready(self) -> asyncio.subprocess.Process:
        if self._is_closed:
            raise CrashError("the studio is being closed.")
        if self._process is None or self._process.returncode is not None:
            self._process = await start_process("preview_worker")
            self._exit_message = asyncio.create_task(last_words(self._process))
            await self._next_answer()
        return self._process

    async def _answer(self, question: dict[str, Any]) -> Any:
        process = await self._ready()
        assert process.stdin is not None
        process.stdin.write(json.dumps(question).encode() + b"\n")
        answer = await self._next_answer()
        if "error" in answer:
            raise OcbnnError(answer["error"])
        return answer["answer"]

    async def _next_answer(self) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), _LOOK_SECONDS)
        except (TimeoutError, asyncio.CancelledError):
            # Its late answer would be taken for the answer to the next request.
            process.kill()
            await process.wait()
            raise
        if not line:
            await process.wait()
            exit_message = (
                "" if self._exit_message is None else await self._exit_message
            )
            raise CrashError(
                f"the process that evaluates functions has died. {exit_message}"
            )
        return json.loads(line)


def mark_abandoned(session: Session) -> None:
    """Mark a fit that an earlier server left running as stopped."""
    status = session.fit_state()
    if status.get("state") in ("running", "waiting"):
        message = (
            "The studio was closed while this ran. Fit again to continue from there."
        )
        session.keep_fit_state({**status, "state": "stopped", "message": message})
