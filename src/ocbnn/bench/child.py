"""Runs Python code in a new process."""

import os
import subprocess
import sys
from collections.abc import Mapping


def run_child(code: str, settings: Mapping[str, str] | None = None) -> str:
    """Run code in a new process, and return what it printed."""
    environment = {**os.environ, **(settings or {})}
    command = [sys.executable, "-W", "ignore", "-c", code]
    return subprocess.run(
        command, check=True, env=environment, stdout=subprocess.PIPE, text=True
    ).stdout
