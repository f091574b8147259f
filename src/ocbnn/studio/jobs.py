"""Fits in processes of their own, and one process that looks at functions.

The server never computes what takes long: its page would freeze. A process that dies
takes nothing with it; what it said last is told, and the server lives.
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

# For a fit that is to stop; for one that sums up what it has drawn, on a busy machine;
# and between telling a process to end and killing it.
_GENTLE_SECONDS, _KEEPING_SECONDS, _INSISTING_SECONDS = 3.0, 60.0, 0.5
_CLOSING_SECONDS = 10.0
_LOOK_SECONDS = 120.0
_NOTHING_SHOWN = "Stopped before there was anything to show."
_NOT_FOLLOWED = "The studio lost track of this fit and ended it. Fit again to go on."
_SUMMING_UP = "Stopped. What was drawn is being summed up, and is shown in a moment."


class CrashError(OcbnnError, RuntimeError):
    """A process that looked at functions has died."""


class SupersededError(OcbnnError, RuntimeError):
    """A newer question was asked instead of this one."""


class Listeners:
    """Pages that want to hear of a session."""

    def __init__(self) -> None:
        self._queues: dict[str, set[asyncio.Queue[tuple[str, Any]]]] = {}

    @contextlib.contextmanager
    def listening(self, session: str):  # noqa: ANN201 (a generator's type says less)
        """A queue of what is told, until the page is gone."""
        queue: asyncio.Queue[tuple[str, Any]] = asyncio.Queue(200)
        self._queues.setdefault(session, set()).add(queue)
        try:
            yield queue
        finally:
            self._queues[session].discard(queue)
            if not self._queues[session]:
                del self._queues[session]

    def tell(self, session: str, event: str, data: Any) -> None:
        """Tell all of them; who does not keep up misses the oldest."""
        for queue in self._queues.get(session, ()):
            if queue.full():
                queue.get_nowait()
            queue.put_nowait((event, data))


class Fits:
    """The fits that run or wait, at most so many at a time."""

    def __init__(self, listeners: Listeners, at_once: int) -> None:
        self._listeners = listeners
        self._turn = asyncio.Semaphore(at_once)
        self._jobs: dict[str, _Job] = {}
        self._said: dict[str, dict[str, Any]] = {}
        # One after the other, and nobody waits for a disk that is busy.
        self._writing = ThreadPoolExecutor(1)

    def is_busy(self, session: Session) -> bool:
        """Whether a fit of it runs or waits."""
        return session.id in self._jobs

    def state(self, session: Session) -> dict[str, Any]:
        """How a session's fit goes, or went."""
        return self._said.get(session.id) or session.fit_state()

    @contextlib.contextmanager
    def reserved(self, session: Session):  # noqa: ANN201 (a generator's type says less)
        """A place for a fit that is looked at before it starts, and may be stopped."""
        job = self._jobs[session.id] = _Job(session)
        try:
            yield
        finally:
            if job.task is None:
                del self._jobs[session.id]

    def start(self, session: Session, text: str, *, quick: bool) -> None:
        """Fit what a session says; `text` is its study."""
        message = "Another fit is running; this one waits."
        first = {"state": "waiting", "message": message, "stage": "", "note": ""}
        empty = dict.fromkeys(("share", "rate", "left"))
        run = secrets.token_hex(4)
        fit = {"text": text, "quick": quick, "run": run}
        self._say(session, {**first, **empty, **fit})
        options = ["--run", run, *(["--quick"] if quick else [])]
        job = self._jobs.setdefault(session.id, _Job(session))
        job.task = asyncio.create_task(self._run(job, options))
        job.task.add_done_callback(lambda _: self._jobs.pop(session.id, None))
        if job.stopping.is_set():
            self._call_off(job, job.task)

    def stop(self, session: Session) -> None:
        """End a fit gently: what was drawn is kept."""
        job = self._jobs.get(session.id)
        if job is None or job.is_told:
            return
        if job.has_turn:
            job.stopping.set()
            self._say(session, {"message": "Stopping; what was drawn is kept."})
        elif job.task is not None:
            self._call_off(job, job.task)
        else:
            job.stopping.set()

    def _call_off(self, job: "_Job", task: asyncio.Task[None]) -> None:
        task.cancel()
        self._say(job.session, {"state": "stopped", "message": "It had not begun."})

    async def settle(self, session: Session) -> None:
        """Wait for a fit no longer that only sums up what it has drawn.

        That is saved, and the same fit continues from there.
        """
        job = self._jobs.get(session.id)
        if job is not None and job.is_told and job.process and job.task:
            await end(job.process, _INSISTING_SECONDS)
            await asyncio.wait({job.task})

    async def close(self) -> None:
        """End all of them, gently at first; those that wait do not begin."""
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
        async with self._turn:
            job.has_turn = True
            start = {"state": "running", "stage": "starting", "message": ""}
            self._say(session, start)
            try:
                process = await start_process("worker", str(session.folder), *options)
            except OSError as error:
                message = f"no process could be started: {error.strerror or error}."
                self._say(session, {"state": "failed", "message": message})
                return
            job.process = process
            ending = asyncio.create_task(self._end_when_asked(job, process))
            status = {"state": "failed", "message": _NOT_FOLLOWED}
            try:
                words = asyncio.create_task(last_words(process))
                ended = await self._follow(job, process)
                await process.wait()
                session.mend()
                status = self._ending(job, ended, await words)
            except OSError as error:
                why = error.strerror or error
                status["message"] = f"the session's folder cannot be used: {why}."
            finally:
                ending.cancel()
                if process.returncode is None:
                    await end(process, _INSISTING_SECONDS)
                self._say(session, {**status, "share": None, "left": None})

    async def _end_when_asked(
        self, job: "_Job", process: asyncio.subprocess.Process
    ) -> None:
        """Tell a process to stop once a person wants it, and see to it that it does."""
        await job.stopping.wait()
        assert process.stdin is not None
        process.stdin.write(b"stop\n")
        is_over_soon = await is_over(process, _GENTLE_SECONDS)
        if not is_over_soon and job.is_keeping:
            job.is_told = True
            status = {"state": "stopped", "message": _SUMMING_UP}
            self._say(job.session, {**status, "share": None, "left": None})
            await is_over(process, _KEEPING_SECONDS)
        if process.returncode is None:
            await end(process, _INSISTING_SECONDS)

    def _ending(
        self, job: "_Job", ended: dict[str, Any] | None, words: str
    ) -> dict[str, Any]:
        """How a fit ended: as it said, or as one sees from what it left."""
        status = ended or {"state": "failed", "message": words}
        if job.stopping.is_set() and status["state"] == "failed":
            run = self._said[job.session.id]["run"]
            is_shown = (job.session.read_result() or {}).get("run") == run
            early = _NOTHING_SHOWN if job.is_keeping else NOTHING_DRAWN
            message = "" if is_shown else stopped_early(job.session.folder, early)
            status = {"state": "stopped", "message": message}
        return status

    async def _follow(
        self, job: "_Job", process: asyncio.subprocess.Process
    ) -> dict[str, Any] | None:
        """Pass on what a fit says; how it ended, if it lived to say so."""
        assert process.stdout is not None
        ended, session = None, job.session
        async for line in lines(process.stdout):
            message = _parse_message(line)
            match message.pop("event", None):
                case "progress":
                    self._say(session, message, keep=False)
                case "bands":
                    self._listeners.tell(session.id, "bands", message)
                case "result":
                    self._listeners.tell(session.id, "result", {})
                case "keeping":
                    job.is_keeping = True
                case "end":
                    ended = message
                case _:
                    pass  # Not for us: a library has printed it.
        return ended

    def _say(self, session: Session, news: dict[str, Any], keep: bool = True) -> None:
        whole = {**self._said.get(session.id, {}), **news}
        self._said[session.id] = whole
        self._listeners.tell(session.id, "fit", whole)
        if keep:
            self._writing.submit(session.keep_fit_state, whole)


def _parse_message(line: bytes) -> dict[str, Any]:
    """What a line says, if it does: a process may be ended while it speaks."""
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
    is_keeping: bool = False  # it has heard, and has something to write first
    is_told: bool = False  # as stopped, although it writes still


class PreviewProcess:
    """One process that answers questions about functions, one after the other."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._words: asyncio.Task[str] | None = None
        self._turn = asyncio.Lock()
        self._latest: dict[tuple[str, str, str], int] = {}
        self._number = 0
        self._is_closed = False

    async def start(self) -> None:
        """Load the library before anyone asks."""
        async with self._turn:
            await self._ready()

    async def ask(self, page: str, kind: str, session: Session, **more: Any) -> Any:
        """An answer; of a page's questions of one kind only the last is answered.

        Raises
        ------
        OcbnnError
            When there is no answer, or a newer question.
        """
        key = (page, kind, session.id)
        self._number += 1
        number = self._latest[key] = self._number
        async with self._turn:
            if self._latest.get(key) != number:
                raise SupersededError("a newer question was asked")
            try:
                question = {
                    "kind": kind,
                    "folder": str(session.folder),
                    "number": number,
                }
                return await self._answer({**question, **more})
            finally:
                if self._latest.get(key) == number:
                    del self._latest[key]

    def stop(self) -> None:
        """Answer nothing any more: who waits is told at once."""
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
            self._words = asyncio.create_task(last_words(self._process))
            await self._line()
        return self._process

    async def _answer(self, question: dict[str, Any]) -> Any:
        process = await self._ready()
        assert process.stdin is not None
        process.stdin.write(json.dumps(question).encode() + b"\n")
        answer = await self._line()
        if "error" in answer:
            raise OcbnnError(answer["error"])
        return answer["answer"]

    async def _line(self) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), _LOOK_SECONDS)
        except (TimeoutError, asyncio.CancelledError):
            # Its answer would be taken for that to the next question.
            process.kill()
            await process.wait()
            raise
        if not line:
            await process.wait()
            words = "" if self._words is None else await self._words
            raise CrashError(f"the process that draws functions has died. {words}")
        return json.loads(line)


def mark_abandoned(session: Session) -> None:
    """Mark a fit that a server which is gone has left running."""
    status = session.fit_state()
    if status.get("state") in ("running", "waiting"):
        message = "The studio was closed while this ran. Fit again to go on from there."
        session.keep_fit_state({**status, "state": "stopped", "message": message})
