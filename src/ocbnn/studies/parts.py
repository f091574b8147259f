"""Finished parts of a long study, on disk until the whole study is done.

A study of hours that is stopped, or whose machine fails, loses only the part that it
was at: the same command continues with the rest. Parts are read back from JSON even
if they were computed a moment ago, so that a continued run gives the same result.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ocbnn.core.plain import plain
from ocbnn.storage.files import replace_file

FOLDER = "unfinished"


class Parts:
    """The finished parts of one study, for one set of options.

    Parameters
    ----------
    folder
        Where parts are kept; None keeps none.
    settings
        Options and versions of the run. Parts of other settings do not count.
    """

    def __init__(
        self, folder: Path | None = None, settings: dict[str, Any] | None = None
    ) -> None:
        self._folder, self._settings = folder, plain(settings)

    def get(self, name: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """A part's result: kept from an earlier run, or computed and kept."""
        if self._folder is None:
            return json.loads(json.dumps(plain(compute())))
        path = self._folder / f"{re.sub(r'[^0-9A-Za-z]+', '-', name)}.json"
        kept = self._read(path)
        if kept is None or kept["part"] != name:
            kept = {"settings": self._settings, "part": name, "result": compute()}
            self._folder.mkdir(parents=True, exist_ok=True)
            replace_file(path, json.dumps(plain(kept), indent=1).encode())
        return json.loads(json.dumps(plain(kept["result"])))

    def count(self) -> int:
        """How many parts an earlier run with these settings has finished."""
        return sum(self._read(path) is not None for path in self._files())

    def clear(self) -> None:
        """Remove all parts, because the study is done."""
        for path in self._files():
            path.unlink(missing_ok=True)
        if self._folder is not None and self._folder.is_dir():
            self._folder.rmdir()

    def _files(self) -> list[Path]:
        return [] if self._folder is None else sorted(self._folder.glob("*.json"))

    def _read(self, path: Path) -> dict[str, Any] | None:
        """A part in a file; None unless it is whole and of these settings."""
        try:
            kept = json.loads(path.read_text())
        except (OSError, ValueError):
            return None
        is_part = isinstance(kept, dict) and {"part", "result"} <= kept.keys()
        return kept if is_part and kept.get("settings") == self._settings else None
