"""`--distributed`: this process is one of several, on one or more machines."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ocbnn.cli.console import note
from ocbnn.cli.exits import set_crash_notice
from ocbnn.errors import LostProcessError, SettingError

ADDRESS = "JAX_COORDINATOR_ADDRESS"
COUNT, NUMBER = "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"
_PATIENCE = 300  # seconds to wait for the other processes


def join_others(folder: Path) -> None:
    """Connect to the other processes of a fit, before JAX does anything else.

    Raises
    ------
    SettingError
        When the environment does not name the other processes.
    LostProcessError
        When they cannot be reached in time.
    """
    options = settings(os.environ)
    import jax  # noqa: PLC0415 (heavy)

    address = options.get("coordinator_address", "the first")
    timeout_message = (
        f"--distributed: the processes did not find each other in {_PATIENCE} seconds. "
        f"Start all of them, and check that {address} can be reached from each."
    )
    note(f"waiting for the other processes, {_PATIENCE} seconds at most")
    set_crash_notice(timeout_message)  # JAX kills a process whose wait times out.
    try:
        jax.distributed.initialize(**options, initialization_timeout=_PATIENCE)
    except ValueError as error:
        raise SettingError(
            "--distributed: the environment does not say how many processes there are "
            f"and which one this is ({error}). Use srun or mpirun, or set "
            f"{ADDRESS} (host:port of the first), {COUNT} and {NUMBER} (0, 1, ...) "
            "for each."
        ) from None
    except RuntimeError as error:
        reason = str(error).splitlines()[0][:200]
        raise LostProcessError(f"{timeout_message} JAX says: {reason}") from None
    _keep_stdout()
    is_first = jax.process_index() == 0
    set_crash_notice(
        f"process {jax.process_index()} of {jax.process_count()} was ended, or another "
        "was lost and JAX ended this one. What was saved is kept: `ocbnn resume "
        f"{folder}` continues, on any number of processes.",
        patience=5.0 * is_first,
    )
    if is_first:
        devices = len(jax.devices())
        note(f"{jax.process_count()} processes with {devices} devices work together")


def _keep_stdout() -> None:
    """Keep stdout for results: libraries below JAX print messages there."""
    sys.stdout.flush()
    sys.stdout = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding)
    os.dup2(2, 1)


def settings(environment: Mapping[str, str]) -> dict[str, Any]:
    """Settings from the environment; empty if JAX can find them itself.

    >>> settings({ADDRESS: "10.0.0.1:1234", COUNT: "4", NUMBER: "1"})["num_processes"]
    4

    Raises
    ------
    SettingError
        When a variable is missing or not a number.
    """
    if not any(name in environment for name in (COUNT, NUMBER)):
        return {}
    missing = [n for n in (ADDRESS, COUNT, NUMBER) if not environment.get(n)]
    if missing:
        raise SettingError(
            f"--distributed: {missing[0]} is not set, but others of {ADDRESS}, {COUNT} "
            f"and {NUMBER} are. Set all three, as in {ADDRESS}=10.0.0.1:1234 "
            f"{COUNT}=4 {NUMBER}=0."
        )
    count, number = (_whole(environment[n], n) for n in (COUNT, NUMBER))
    if not 0 <= number < count:
        raise SettingError(
            f"--distributed: {NUMBER}={number} must be a number from 0 to {COUNT} - 1, "
            f"which is {count - 1}."
        )
    host, _, port = environment[ADDRESS].rpartition(":")
    if not host or not port.isdecimal():
        raise SettingError(
            f"--distributed: {ADDRESS} must be host:port, got "
            f"{environment[ADDRESS]!r}. Write {ADDRESS}=10.0.0.1:1234."
        )
    return {
        "coordinator_address": environment[ADDRESS],
        "num_processes": count,
        "process_id": number,
        "cluster_detection_method": "deactivate",
    }


def _whole(text: str, name: str) -> int:
    if not text.isdecimal():
        raise SettingError(
            f"--distributed: {name} must be a whole number, got {text!r}."
        )
    return int(text)
