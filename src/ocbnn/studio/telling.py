"""What a process says to the server: one JSON object a line, on its standard output.

Nothing heavy is loaded here: a process must be able to speak before anything else.
"""

import contextlib
import json
import sys
import threading
from pathlib import Path
from typing import Any

NOTHING_DRAWN = "Stopped before anything was drawn."
_speaking = threading.Lock()


def tell(event: str, **said: Any) -> None:
    """Say something; when the server is gone, nobody hears it."""
    line = json.dumps({"event": event, **said}, allow_nan=False)
    with _speaking, contextlib.suppress(BrokenPipeError, ValueError):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


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
