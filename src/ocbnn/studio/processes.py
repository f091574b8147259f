"""Processes that the server starts: their output, last message and end."""

import asyncio
import contextlib
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator

_LINE = 2**26  # bytes per line of a process's output
_LAST_WORDS = 30


async def start_process(module: str, *args: str) -> asyncio.subprocess.Process:
    """Start a module of the studio in a process of its own."""
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
    """Complete lines; of a line that is too long, at most the end."""
    while True:
        try:
            line = await stream.readline()
        except ValueError:
            continue
        if not line:
            return
        yield line


async def last_words(process: asyncio.subprocess.Process) -> str:
    """How a process ended and the last line that it printed, for people."""
    assert process.stderr is not None
    last: deque[str] = deque(maxlen=_LAST_WORDS)
    async for line in lines(process.stderr):
        last.append(line.decode(errors="replace").rstrip())
    code = await process.wait()
    why = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    message = next((line for line in reversed(last) if line.strip()), "")
    return f"It ended with {why}{f': {message}' if message else ''}."


async def is_over(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Whether a process ends within `seconds`."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), seconds)
    return process.returncode is not None


async def end(process: asyncio.subprocess.Process, seconds: float) -> None:
    """Terminate a process, and kill it if it has not ended after `seconds`."""
    for action in (process.terminate, process.kill):
        with contextlib.suppress(ProcessLookupError):
            action()
        if await is_over(process, seconds):
            return
