"""Exits of commands that are stopped, fail or crash."""

import atexit
import os
import subprocess
import sys
import time
from typing import NoReturn

import typer

from ocbnn.cli.console import show_json

# Prints its text if stdin closes before anything is written to it.
_WITNESS = "import sys; sys.stdin.read() or sys.stderr.write(sys.argv[1])"


def stop(message: str, *, as_json: bool = False) -> NoReturn:
    """Print a message, and a JSON object if requested; exit as after Ctrl-C."""
    if as_json:
        show_json({"error": message})
    leave(message, 130)


def leave(message: str, code: int) -> NoReturn:
    """Print a message and exit at once, whatever else is still running."""
    _crash_notice.withdraw()
    typer.echo(f"ocbnn: {message}", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(_crash_notice.patience)
    # Compiled code may still run in threads of its own, and the interpreter can crash
    # if it shuts down under them. There is nothing to clean up.
    os._exit(code)


class CrashNotice:
    """A message that is printed even if this process is killed.

    JAX kills a process when another one of the same computation is lost. So a child
    process waits, and prints the message when its parent has ended.
    """

    def __init__(self) -> None:
        self._witness: subprocess.Popen[bytes] | None = None
        self.patience = 0.0

    @property
    def is_left(self) -> bool:
        """Whether there is a message to print."""
        return self._witness is not None

    def leave(self, message: str, patience: float = 0.0) -> None:
        """Print `message` if this process ends without withdrawing it.

        With `patience`, this process waits that many seconds before it exits: JAX kills
        the other processes when it ends, and they may still have to report something.
        """
        self.withdraw()
        self.patience = patience
        self._witness = subprocess.Popen(
            [sys.executable, "-S", "-c", _WITNESS, f"ocbnn: {message}\n"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C must not reach it.
        )
        atexit.register(self.withdraw)

    def withdraw(self) -> None:
        """Drop the message."""
        witness, self._witness = self._witness, None
        if witness is None or witness.stdin is None:
            return
        try:
            witness.stdin.write(b".")
            witness.stdin.close()
        except OSError:
            return  # It has ended already.
        witness.wait()


_crash_notice = CrashNotice()
set_crash_notice = _crash_notice.leave


def fail(message: str, code: int) -> NoReturn:
    """Print an error and exit, without waiting for other processes."""
    if _crash_notice.is_left:
        leave(message, code)
    typer.echo(f"ocbnn: {message}", err=True)
    sys.exit(code)
