"""The folder of a run: whose it is, and that one process at a time writes to it."""

import json
import os
from pathlib import Path
from typing import Any

from ocbnn.core.warn import warn
from ocbnn.errors import CheckpointError, CheckpointWarning, StorageError
from ocbnn.inference.identity import differences
from ocbnn.storage import replace_file
from ocbnn.storage.files import TEMPORARY, explained, read_file

FORMAT, VERSION = "ocbnn run", 1
_RUN, _LOCK = "run.json", "lock"
_MOST_BYTES = 16 * 2**20
_MOST_SAID = 3


class RunFolder:
    """A folder that holds one run, or will."""

    def __init__(
        self, path: Path, identity: dict[str, str], surroundings: dict[str, str]
    ) -> None:
        self.path = path
        self._identity, self._surroundings = identity, surroundings
        self._lock: int | None = None
        self.is_ready = False

    def open(self) -> None:
        """Take the folder; make it, if it is not there.

        Raises
        ------
        CheckpointError
            When it holds something else, or is in use.
        StorageError
            When it cannot be written to. What it holds may be read
            nevertheless.
        """
        with explained(self.path, "read"):
            self._refuse_strangers()
        try:
            self.prepare()
        except StorageError:
            if (self.path / _RUN).exists():
                self._compare(self._read())
            raise

    def prepare(self) -> None:
        """Have the folder ready to write to, if it is not yet."""
        if self.is_ready:
            return
        with explained(self.path, "written to"):
            self.path.mkdir(parents=True, exist_ok=True)
            self._take()
            # Only now: someone else may have had the folder until a moment ago.
            self._refuse_strangers()
            if (self.path / _RUN).exists():
                self._compare(self._read())
            else:
                replace_file(self.path / _RUN, self._described())
            self._sweep()
        self.is_ready = True

    def close(self) -> None:
        """Let others have it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _sweep(self) -> None:
        """Remove what a killed process left half-written."""
        for left in [*self.path.glob(".*"), *self.path.glob("chain-*/.*")]:
            if left.name.endswith(TEMPORARY):
                left.unlink(missing_ok=True)

    def _refuse_strangers(self) -> None:
        """Never write where something else is."""
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise CheckpointError(
                f"checkpoint={str(self.path)!r} must name a folder, and there is a "
                "file. Choose another name."
            )
        names = {one.name for one in self.path.iterdir()}
        ours = {n for n in names if n == _LOCK or n.endswith(TEMPORARY)}
        if _RUN not in names and names - ours:
            raise CheckpointError(
                f"checkpoint={str(self.path)!r} is a folder that holds no run of ocbnn "
                f"but other things ({sorted(names - ours)[0]!r}), so nothing is "
                "written there. Name a new or an empty folder."
            )

    def _take(self) -> None:
        """Lock the folder for as long as this process lives."""
        try:
            import fcntl  # noqa: PLC0415
        except ImportError:  # on Windows
            return
        if self._lock is not None:
            return
        number = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.read(number, 20).decode("ascii", "replace").strip() or "another"
            os.close(number)
            raise CheckpointError(
                f"the run in {self.path} is being continued by process {who} right "
                "now. Wait for it, or name another folder."
            ) from None
        self._lock = number
        os.ftruncate(number, 0)
        os.write(number, str(os.getpid()).encode())

    def _described(self) -> bytes:
        whole = {
            "format": FORMAT,
            "version": VERSION,
            "made_with": self._surroundings,
            "run": self._identity,
        }
        return json.dumps(whole, indent=1).encode()

    def _read(self) -> dict[str, Any]:
        place = self.path / _RUN
        try:
            found = json.loads(read_file(place, _MOST_BYTES))
            if found["format"] != FORMAT or not isinstance(found["version"], int):
                raise ValueError(f'"format" must be "{FORMAT}"')
            run, made_with = dict(found["run"]), dict(found["made_with"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CheckpointError(
                f"{place} does not describe a run of ocbnn ({error}). Name another "
                "folder, or remove this one."
            ) from error
        if found["version"] > VERSION:
            raise CheckpointError(
                f"{place} was written by a newer ocbnn (format {found['version']}). "
                "Update ocbnn, or name another folder."
            )
        return {"run": run, "made_with": made_with}

    def _compare(self, there: dict[str, Any]) -> None:
        found = differences(self._identity, there["run"])
        if found:
            more = len(found) - _MOST_SAID
            also = f"; and {more} more" if more > 0 else ""
            raise CheckpointError(
                f"{self.path} holds another run: {'; '.join(found[:_MOST_SAID])}"
                f"{also}. Name another folder, or remove this one if you no longer "
                "want what it holds."
            )
        changed = differences(self._surroundings, there["made_with"])
        if changed:
            warn(
                f"the run in {self.path} was begun elsewhere: {'; '.join(changed)}. It "
                "goes on, but may not end with the very same digits.",
                CheckpointWarning,
            )
