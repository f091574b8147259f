"""How a command ends when it does not end by itself."""

import atexit
import os
import subprocess
import sys
import time
from typing import NoReturn

import typer

from ocbnn.cli.console import show_json

# Says its text unless it is told something first.
_WITNESS = "import sys; sys.stdin.read() or sys.stderr.write(sys.argv[1])"


def stop(message: str, *, as_json: bool = False) -> NoReturn:
    """Say so, as an object, too, where asked; leave with the exit code of Ctrl-C."""
    if as_json:
        show_json({"error": message})
    leave(message, 130)


def leave(message: str, code: int) -> NoReturn:
    """Say something and end at once, whatever else is still running."""
    _crash_notice.withdraw()
    typer.echo(f"ocbnn: {message}", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(_crash_notice.patience)
    # Compiled work may still be running in threads of its own, and an interpreter that
    # is taken down around them can crash. Nothing is left to clean up.
    os._exit(code)


class CrashNotice:
    """A sentence for the case that this process is ended before it can say anything.

    JAX ends a process outright when one that it computes with is gone. So a child
    listens, and speaks when its parent falls silent.
    """

    def __init__(self) -> None:
        self._witness: subprocess.Popen[bytes] | None = None
        self.patience = 0.0

    @property
    def is_left(self) -> bool:
        """Whether there is one."""
        return self._witness is not None

    def leave(self, message: str, patience: float = 0.0) -> None:
        """Have `message` said if nothing else comes after it.

        With `patience`, this process waits so long before it ends early: it is the one
        without which JAX ends the others, who may have something to say.
        """
        self.withdraw()
        self.patience = patience
        self._witness = subprocess.Popen(
            [sys.executable, "-S", "-c", _WITNESS, f"ocbnn: {message}\n"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is not meant for it.
        )
        atexit.register(self.withdraw)

    def withdraw(self) -> None:
        """All is said."""
        witness, self._witness = self._witness, None
        if witness is None or witness.stdin is None:
            return
        try:
            witness.stdin.write(b".")
            witness.stdin.close()
        except OSError:
            return  # It is gone already.
        witness.wait()


_crash_notice = CrashNotice()
set_crash_notice = _crash_notice.leave


def fail(message: str, code: int) -> NoReturn:
    """Say what went wrong and leave, without waiting for other processes."""
    if _crash_notice.is_left:
        leave(message, code)
    typer.echo(f"ocbnn: {message}", err=True)
    sys.exit(code)
