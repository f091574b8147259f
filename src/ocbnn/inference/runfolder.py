"""The folder of a run: it belongs to one run, and one process at a time writes it."""

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
# Inside of a run's folder, another run may be saved: the one that it starts from.
START_FOLDER = "start"
_MOST_BYTES = 16 * 2**20
_MOST_SHOWN = 3


class RunFolder:
    """A folder that holds one run, or will hold one."""

    def __init__(
        self, path: Path, identity: dict[str, str], surroundings: dict[str, str]
    ) -> None:
        self.path = path
        self._identity, self._surroundings = identity, surroundings
        self._lock: int | None = None
        self.is_ready = False

    def open(self) -> None:
        """Lock the folder, creating it if necessary.

        Raises
        ------
        CheckpointError
            When it holds something else, or is in use.
        StorageError
            When it cannot be written to. It can still be read.
        """
        with explained(self.path, "read"):
            self._refuse_other_files()
        try:
            self.prepare()
        except StorageError:
            if (self.path / _RUN).exists():
                self._compare(self._read())
            raise

    def prepare(self) -> None:
        """Create and lock the folder, if that is not done yet."""
        if self.is_ready:
            return
        with explained(self.path, "written to"):
            self.path.mkdir(parents=True, exist_ok=True)
            self._acquire_lock()
            # Checked again under the lock: another process may have used the folder.
            self._refuse_other_files()
            if (self.path / _RUN).exists():
                self._compare(self._read())
            else:
                replace_file(self.path / _RUN, self._described())
            self._sweep()
        self.is_ready = True

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _sweep(self) -> None:
        """Remove temporary files of a killed process."""
        for path in [*self.path.glob(".*"), *self.path.glob("chain-*/.*")]:
            if path.name.endswith(TEMPORARY):
                path.unlink(missing_ok=True)

    def _refuse_other_files(self) -> None:
        """Raise an error if the folder contains other files."""
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise CheckpointError(
                f"checkpoint={str(self.path)!r} must name a folder, but is a file. "
                "Choose another name."
            )
        names = {path.name for path in self.path.iterdir()}
        known = (_LOCK, START_FOLDER)
        ours = {name for name in names if name in known or name.endswith(TEMPORARY)}
        if _RUN not in names and names - ours:
            raise CheckpointError(
                f"checkpoint={str(self.path)!r} is a folder with other files "
                f"({sorted(names - ours)[0]!r}) and no run of ocbnn, so nothing is "
                "written there. Name a new or an empty folder."
            )

    def _acquire_lock(self) -> None:
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
            holder = os.read(number, 20).decode("ascii", "replace").strip() or "another"
            os.close(number)
            raise CheckpointError(
                f"the run in {self.path} is being continued by process {holder} right "
                "now. Wait for it, or name another folder."
            ) from None
        self._lock = number
        os.ftruncate(number, 0)
        os.write(number, str(os.getpid()).encode())

    def _described(self) -> bytes:
        document = {
            "format": FORMAT,
            "version": VERSION,
            "made_with": self._surroundings,
            "run": self._identity,
        }
        return json.dumps(document, indent=1).encode()

    def _read(self) -> dict[str, Any]:
        path = self.path / _RUN
        try:
            document = json.loads(read_file(path, _MOST_BYTES))
            if document["format"] != FORMAT or not isinstance(document["version"], int):
                raise ValueError(f'"format" must be "{FORMAT}"')
            run, made_with = dict(document["run"]), dict(document["made_with"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CheckpointError(
                f"{path} does not describe a run of ocbnn ({error}). Name another "
                "folder, or remove this one."
            ) from error
        if document["version"] > VERSION:
            raise CheckpointError(
                f"{path} was written by a newer ocbnn (format {document['version']}). "
                "Update ocbnn, or name another folder."
            )
        return {"run": run, "made_with": made_with}

    def _compare(self, saved: dict[str, Any]) -> None:
        differing = differences(self._identity, saved["run"])
        if differing:
            omitted = len(differing) - _MOST_SHOWN
            also = f"; and {omitted} more" if omitted > 0 else ""
            raise CheckpointError(
                f"{self.path} holds another run: {'; '.join(differing[:_MOST_SHOWN])}"
                f"{also}. Name another folder, or remove this one if you no longer "
                "want what it holds."
            )
        changed = differences(self._surroundings, saved["made_with"])
        if changed:
            warn(
                f"the run in {self.path} was begun elsewhere: {'; '.join(changed)}. It "
                "goes on, but may not end with the very same digits.",
                CheckpointWarning,
            )
