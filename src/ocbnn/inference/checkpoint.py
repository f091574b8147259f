"""Saving one run: its folder, the interval, and warnings when saving fails."""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from ocbnn.core.processes import is_first
from ocbnn.core.types import Position, RandomKey
from ocbnn.core.warn import warn
from ocbnn.errors import CheckpointWarning, SettingError, StorageError
from ocbnn.inference.base import LogDensity, Plan
from ocbnn.inference.identity import identify, surroundings
from ocbnn.inference.runfolder import RunFolder
from ocbnn.storage.files import explained


class Checkpoint:
    """Where and when a run is saved, shared by its chains."""

    def __init__(self, folder: RunFolder, every: float) -> None:
        self.folder, self.every = folder, every
        # When processes share a run, one of them writes; all read.
        self.is_writer = is_first()
        self.before, self._started = 0.0, time.monotonic()
        self._unsaved: set[Path] = set()
        self._mending = threading.Lock()
        self._trouble: str | None = None
        self._has_warned = False

    @property
    def seconds(self) -> float:
        """Time spent on the run so far, including earlier processes."""
        return self.before + time.monotonic() - self._started

    def open(self) -> None:
        """Lock the folder and check what it holds.

        Raises
        ------
        CheckpointError
            When it holds something else, or is in use.
        """
        if not self.is_writer:
            return
        try:
            self.folder.open()
        except StorageError as error:
            self._trouble = str(error)

    def add_seconds(self, seconds: float) -> None:
        """Note how long earlier processes took until a state was saved."""
        self.before = max(self.before, seconds)

    def prepare(self, chain: Path) -> None:
        """Create the folders, if that was not possible so far."""
        if not self.folder.is_ready:
            # Only after a failure at the start, so chains rarely wait here.
            with self._mending:
                self.folder.prepare()
        with explained(chain, "written to"):
            chain.mkdir(exist_ok=True)

    def mark_saved(self, chain: Path) -> None:
        """Record that all of a chain is on disk."""
        self._unsaved.discard(chain)

    def mark_failed(self, chain: Path, error: Exception) -> None:
        """Record that a chain could not be written."""
        self._unsaved.add(chain)
        self._trouble = self._trouble or str(error)

    def warn_once(self) -> None:
        """Warn, once, that something could not be written. Call in the main thread."""
        if self._trouble is None or self._has_warned:
            return
        self._has_warned = True
        warn(
            f"the run could not be saved: {self._trouble} It goes on in memory, and "
            f"saving is tried again every {self.every:g} seconds. Make room, or let "
            f"{self.folder.path} be written to.",
            CheckpointWarning,
        )

    def closing_note(self, stopped: bool) -> str:
        """What the user should know about the folder at the end; empty if all is well.

        Warns if anything is in memory only.
        """
        self.warn_once()
        path = self.folder.path
        if self._unsaved:
            warn(
                f"the last part of the run is not saved in {path}. It is in memory: "
                "save the result elsewhere before Python ends.",
                CheckpointWarning,
            )
            return "the last part is not saved"
        return f"saved in {path}: run the same again to go on" if stopped else ""


@contextlib.contextmanager
def open_checkpoint(
    path: str | os.PathLike[str] | None,
    every: float,
    plan: Plan,
    target: LogDensity,
    key: RandomKey,
    starts: Position | None = None,
) -> Iterator["Checkpoint | None"]:
    """Open the folder that a run is saved in; None without a folder.

    Raises
    ------
    CheckpointError
        When the folder holds something else, or is in use.
    """
    if path is None:
        yield None
        return
    _check_settings(path, every)
    identity = identify(plan, target, key, starts=starts)
    folder = RunFolder(Path(path), identity, surroundings())
    saving = Checkpoint(folder, every)
    try:
        saving.open()
        yield saving
    finally:
        folder.close()


def _check_settings(path: object, every: object) -> None:
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise SettingError(
            f"checkpoint must name a folder, got {path!r}. Write "
            'checkpoint="runs/first", or leave it out.'
        )
    if not isinstance(every, (int, float)) or not 0 <= every < float("inf"):
        raise SettingError(
            f"every must be a number of seconds, not negative, got {every!r}. Write "
            "every=30."
        )
