"""Data that come with the library; every file is checked before it is read."""

import sys
from functools import cache
from pathlib import Path

from ocbnn.core.digest import file_digest
from ocbnn.errors import DataError

_SUMS = "SHA256SUMS"


def shipped(name: str) -> Path:
    """The path of a shipped file or folder, such as `mimic3_demo`.

    Raises
    ------
    DataError
        When it is missing, or differs from what was shipped.
    """
    root = _root()
    sums = _sums(root)
    inside = [file for file in sums if file == name or file.startswith(f"{name}/")]
    if not inside:
        raise DataError(f"ocbnn has no data named {name!r}: see {root}.")
    for file in inside:
        path = root / file
        if not path.is_file():
            raise DataError(f"{path}: this file of the shipped data is missing.")
        if file_digest(path) != sums[file]:
            raise DataError(
                f"{path}: not the file that was shipped (its SHA-256 differs from the "
                f"one in {_SUMS}). Restore it, or name a folder of your own."
            )
    return root / name


def _root() -> Path:
    # Next to the sources in a checkout; under the environment's prefix once installed.
    for folder in (
        Path(__file__).parents[3] / "data",
        Path(sys.prefix) / "share" / "ocbnn",
    ):
        if (folder / _SUMS).is_file():
            return folder
    raise DataError(
        "the data that ship with ocbnn are not installed here. Install it from its "
        "repository, or name a folder of your own."
    )


@cache
def _sums(root: Path) -> dict[str, str]:
    lines = (root / _SUMS).read_text().splitlines()
    return {name: digest for digest, name in (line.split(maxsplit=1) for line in lines)}
