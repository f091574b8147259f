"""Messages of a process to the server: one JSON object per line, on standard output.

Nothing heavy is imported here, because a process must be able to report at once.
"""

import contextlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from ocbnn.core.plain import plain

NOTHING_DRAWN = "Stopped before anything was drawn."
_lock = threading.Lock()
_descriptor = 1  # the server reads this one


def reserve_stdout() -> None:
    """Reserve standard output for messages; libraries print to standard error."""
    global _descriptor  # noqa: PLW0603 (a process has one standard output)
    sys.stdout.flush()
    _descriptor = os.dup(1)
    os.dup2(2, 1)


def send_event(event: str, **content: Any) -> None:
    """Send an event; it is lost if the server is gone."""
    send({"event": event, **content})


def send(message: dict[str, Any]) -> None:
    """Send a message."""
    remaining = memoryview(to_json(message).encode() + b"\n")
    with _lock, contextlib.suppress(OSError):
        while remaining:
            remaining = remaining[os.write(_descriptor, remaining) :]


def to_json(value: Any) -> str:
    """A value as JSON; numbers that are not finite become null."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(plain(value), allow_nan=False)


def stopped_early(session: Path, first: str = NOTHING_DRAWN) -> str:
    """The message when a fit is stopped too early, and what is shown instead."""
    sentences = [first]
    if _is_saved(session):
        sentences.append("Fit continues from there.")
    if (session / "result.json").exists():
        sentences.append("The previous fit is kept and shown.")
    return " ".join(sentences)


def _is_saved(session: Path) -> bool:
    """Whether a checkpoint of this very fit was saved."""
    try:
        text = (session / "study.toml").read_bytes()
        return any(
            (run / "study.toml").read_bytes() == text
            and any((run / "checkpoint").rglob("state.ocbnn"))
            for run in (session / "with", session / "coming" / "with")
            if (run / "study.toml").exists()
        )
    except OSError:
        return False
