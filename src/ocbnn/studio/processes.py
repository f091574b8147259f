"""Processes that the server starts: their streams, their last words, their end."""

import asyncio
import contextlib
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator

_LINE = 2**26  # bytes of a line that a process may say
_LAST_WORDS = 30


async def start_process(module: str, *args: str) -> asyncio.subprocess.Process:
    """A module of the studio in a process of its own."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"ocbnn.studio.{module}", *args),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # Ctrl-C is for the server, which then ends its processes gently.
        start_new_session=True,
        limit=_LINE,
    )


async def lines(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Whole lines; of one that is too long the end at most."""
    while True:
        try:
            line = await stream.readline()
        except ValueError:
            continue
        if not line:
            return
        yield line


async def last_words(process: asyncio.subprocess.Process) -> str:
    """What a process said on its way out, for people."""
    assert process.stderr is not None
    last: deque[str] = deque(maxlen=_LAST_WORDS)
    async for line in lines(process.stderr):
        last.append(line.decode(errors="replace").rstrip())
    code = await process.wait()
    why = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    said = next((line for line in reversed(last) if line.strip()), "")
    return f"It ended with {why}{f': {said}' if said else ''}."


async def is_over(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Whether a process ends within so many seconds."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), seconds)
    return process.returncode is not None


async def end(process: asyncio.subprocess.Process, seconds: float) -> None:
    """End a process that does not answer, and kill it after so many seconds."""
    for way in (process.terminate, process.kill):
        with contextlib.suppress(ProcessLookupError):
            way()
        if await is_over(process, seconds):
            return
