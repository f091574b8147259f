"""Fits in processes of their own, and one process that looks at functions.

The server never computes what takes long: its page would freeze. A process that dies
takes nothing with it; what it said last is told, and the server lives.
"""

import asyncio
import contextlib
import json
import secrets
import signal
import sys
from collections import deque
from typing import Any

from ocbnn.core.errors import OcbnnError
from ocbnn.studio.sessions import Session
from ocbnn.studio.telling import nothing_drawn

_LINE = 2**26  # bytes of a line that a process may say
_GENTLE_SECONDS = 10.0
_LOOK_SECONDS = 120.0
_LAST_WORDS = 30


class CrashError(OcbnnError, RuntimeError):
    """A process that looked at functions has died."""


class SupersededError(OcbnnError, RuntimeError):
    """A newer question was asked in the place of this one."""


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

    def tell(self, session: str, event: str, said: Any) -> None:
        """Tell all of them; who does not keep up misses the oldest."""
        for queue in self._queues.get(session, ()):
            if queue.full():
                queue.get_nowait()
            queue.put_nowait((event, said))


class Fits:
    """The fits that run or wait, at most so many at a time."""

    def __init__(self, listeners: Listeners, at_once: int) -> None:
        self._listeners = listeners
        self._turn = asyncio.Semaphore(at_once)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._said: dict[str, dict[str, Any]] = {}
        self._stopping: set[str] = set()

    def is_busy(self, session: Session) -> bool:
        """Whether a fit of it runs or waits."""
        return session.id in self._tasks

    def state(self, session: Session) -> dict[str, Any]:
        """How a session's fit goes, or went."""
        return self._said.get(session.id) or session.fit_state()

    def start(self, session: Session, text: str, *, quick: bool) -> None:
        """Fit what a session says; `text` is its study."""
        message = "Another fit is running; this one waits."
        first = {"state": "waiting", "message": message, "stage": "", "note": ""}
        empty = dict.fromkeys(("share", "rate", "left"))
        run = secrets.token_hex(4)
        said = {"text": text, "quick": quick, "run": run}
        self._say(session, {**first, **empty, **said})
        options = ["--run", run, *(["--quick"] if quick else [])]
        task = asyncio.create_task(self._run(session, options))
        self._tasks[session.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(session.id, None))

    def stop(self, session: Session) -> None:
        """End a fit gently: what was drawn is kept."""
        process = self._processes.get(session.id)
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
            self._stopping.add(session.id)
            self._say(session, {"message": "Stopping; what was drawn is kept."})
        elif session.id in self._tasks:
            self._tasks[session.id].cancel()
            self._say(session, {"state": "stopped", "message": "It had not begun."})

    async def close(self) -> None:
        """End all of them, gently at first."""
        for process in list(self._processes.values()):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
        tasks = list(self._tasks.values())
        if tasks:
            await asyncio.wait(tasks, timeout=_GENTLE_SECONDS)
        for process in list(self._processes.values()):
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    async def _run(self, session: Session, options: list[str]) -> None:
        async with self._turn:
            start = {"state": "running", "stage": "starting", "message": ""}
            self._say(session, start)
            process = await _started("worker", str(session.folder), *options)
            self._processes[session.id] = process
            try:
                words = asyncio.create_task(_last_words(process))
                ended = await self._hear(session, process)
                await process.wait()
                if ended is not None:
                    self._say(session, {**ended, "share": None, "left": None})
                elif session.id in self._stopping:
                    # It was still loading the library.
                    message = nothing_drawn(session.folder)
                    self._say(session, {"state": "stopped", "message": message})
                else:
                    self._say(session, {"state": "failed", "message": await words})
            finally:
                self._stopping.discard(session.id)
                self._processes.pop(session.id, None)
                session.keep_fit_state(self._said.get(session.id, {}))

    async def _hear(
        self, session: Session, process: asyncio.subprocess.Process
    ) -> dict[str, Any] | None:
        """Pass on what a fit says; how it ended, if it lived to say so."""
        assert process.stdout is not None
        ended = None
        async for line in process.stdout:
            said = json.loads(line)
            match said.pop("event"):
                case "progress":
                    self._say(session, said, keep=False)
                case "bands":
                    self._listeners.tell(session.id, "bands", said)
                case "result":
                    self._listeners.tell(session.id, "result", {})
                case "end":
                    ended = said
        return ended

    def _say(self, session: Session, said: dict[str, Any], keep: bool = True) -> None:
        whole = {**self._said.get(session.id, {}), **said}
        self._said[session.id] = whole
        if keep:
            session.keep_fit_state(whole)
        self._listeners.tell(session.id, "fit", whole)


class Looker:
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

        Raises:
            OcbnnError: When there is no answer, or a newer question.
        """
        key = (page, kind, session.id)
        self._number += 1
        number = self._latest[key] = self._number
        async with self._turn:
            if self._latest.get(key) != number:
                raise SupersededError("a newer question was asked")
            try:
                said = {"kind": kind, "folder": str(session.folder), "number": number}
                return await self._answer({**said, **more})
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
            self._process = await _started("looker", stdin=True)
            self._words = asyncio.create_task(_last_words(self._process))
            await self._line()
        return self._process

    async def _answer(self, asked: dict[str, Any]) -> Any:
        process = await self._ready()
        assert process.stdin is not None
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        found = await self._line()
        if "error" in found:
            raise OcbnnError(found["error"])
        return found["answer"]

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


async def _started(
    module: str, *args: str, stdin: bool = False
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"ocbnn.studio.{module}", *args),
        stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # Ctrl-C is for the server, which then ends its processes gently.
        start_new_session=True,
        limit=_LINE,
    )


async def _last_words(process: asyncio.subprocess.Process) -> str:
    """What a process said on its way out, for people."""
    assert process.stderr is not None
    last: deque[str] = deque(maxlen=_LAST_WORDS)
    async for line in process.stderr:
        last.append(line.decode(errors="replace").rstrip())
    code = await process.wait()
    why = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    said = next((line for line in reversed(last) if line.strip()), "")
    return f"It ended with {why}{f': {said}' if said else ''}."


def gone_on(session: Session) -> None:
    """Mark a fit that a server which is gone has left running."""
    said = session.fit_state()
    if said.get("state") in ("running", "waiting"):
        message = "The studio was closed while this ran. Fit again to go on from there."
        session.keep_fit_state({**said, "state": "stopped", "message": message})
