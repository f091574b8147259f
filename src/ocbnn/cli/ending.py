"""How a command that was interrupted ends."""

import os
import sys
from typing import NoReturn

import typer


def stop(message: str) -> NoReturn:
    """Say so, and leave with the exit code of Ctrl-C."""
    typer.echo(f"ocbnn: {message}", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    # Compiled work may still be running in threads of its own, and an interpreter that
    # is taken down around them can crash. Nothing is left to clean up.
    os._exit(130)
