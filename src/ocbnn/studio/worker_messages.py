"""What a process says to the server: one JSON object a line, on its standard output.

Nothing heavy is loaded here: a process must be able to speak before anything else.
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
_speaking = threading.Lock()
_voice = 1  # the descriptor that the server listens to


def reserve_stdout() -> None:
    """Keep what libraries print apart: it goes where errors go, from now on."""
    global _voice  # noqa: PLW0603 (a process has one standard output)
    sys.stdout.flush()
    _voice = os.dup(1)
    os.dup2(2, 1)


def send_event(event: str, **content: Any) -> None:
    """Say something; when the server is gone, nobody hears it."""
    send({"event": event, **content})


def send(message: dict[str, Any]) -> None:
    """Say something of any form."""
    left = memoryview(to_json(message).encode() + b"\n")
    with _speaking, contextlib.suppress(OSError):
        while left:
            left = left[os.write(_voice, left) :]


def to_json(value: Any) -> str:
    """The same as JSON, in which a number that is none is null."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(plain(value), allow_nan=False)


def stopped_early(session: Path, early: str = NOTHING_DRAWN) -> str:
    """What a person hears who stopped a fit too early, and what there is instead."""
    sentences = [early]
    if _is_saved(session):
        sentences.append("Fit goes on from there.")
    if (session / "result.json").exists():
        sentences.append("What is shown is the fit before, which is kept.")
    return " ".join(sentences)


def _is_saved(session: Path) -> bool:
    """Whether something of this very fit was saved."""
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
