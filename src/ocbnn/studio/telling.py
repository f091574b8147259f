"""What a process says to the server: one JSON object a line, on its standard output.

Nothing heavy is loaded here: a process must be able to speak before anything else.
"""

import contextlib
import json
import math
import os
import sys
import threading
from pathlib import Path
from typing import Any

NOTHING_DRAWN = "Stopped before anything was drawn."
_speaking = threading.Lock()
_voice = 1  # the descriptor that the server listens to


def speak_alone() -> None:
    """Keep what libraries print apart: it goes where errors go, from now on."""
    global _voice  # noqa: PLW0603 (a process has one standard output)
    sys.stdout.flush()
    _voice = os.dup(1)
    os.dup2(2, 1)


def tell(event: str, **said: Any) -> None:
    """Say something; when the server is gone, nobody hears it."""
    say({"event": event, **said})


def say(said: dict[str, Any]) -> None:
    """Say something of any form."""
    left = memoryview(in_json(said).encode() + b"\n")
    with _speaking, contextlib.suppress(OSError):
        while left:
            left = left[os.write(_voice, left) :]


def in_json(said: Any) -> str:
    """The same as JSON, in which a number that is none is null."""
    try:
        return json.dumps(said, allow_nan=False)
    except ValueError:
        return json.dumps(_known(said), allow_nan=False)


def _known(said: Any) -> Any:
    match said:
        case float():
            return said if math.isfinite(said) else None
        case dict():
            return {key: _known(value) for key, value in said.items()}
        case list() | tuple():
            return [_known(value) for value in said]
    return said


def before(session: Path, early: str = NOTHING_DRAWN) -> str:
    """What a person hears who stopped a fit too early, and what there is instead."""
    said = [early]
    if _is_saved(session):
        said.append("Fit goes on from there.")
    if (session / "result.json").exists():
        said.append("What is shown is the fit before, which is kept.")
    return " ".join(said)


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
