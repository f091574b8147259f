"""Print how much of the package a test run has run, room by room.

`make test` calls `start` before the run, which it starts with `build/lines` on Python's
path, and `report` after it.
"""

import marshal
import os
import shutil
import sys
from collections import defaultdict
from pathlib import Path

from coverage import Coverage, CoverageData

from tests.lines import probes

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "lines"
PACKAGE = ROOT / "src" / "ocbnn"


def start(folder=FOLDER, package=PACKAGE):
    """Forget the last run, and give every module its bytes among the hits."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    starts, size = {}, 0
    for path in sorted(package.rglob("*.py")):
        starts[str(path)] = size
        size += len(path.read_bytes().splitlines()) + 1
    (folder / probes.STARTS).write_bytes(marshal.dumps(starts))
    (folder / probes.HITS).write_bytes(bytes(size))
    shutil.copy(probes.__file__, folder / "sitecustomize.py")


def lines_seen(folder=FOLDER):
    """The lines of every module that have run, by its path."""
    starts = marshal.loads((folder / probes.STARTS).read_bytes())
    hits = (folder / probes.HITS).read_bytes()
    ends = [*list(starts.values())[1:], len(hits)]
    return {
        path: [line for line in range(end - start) if hits[start + line]]
        for (path, start), end in zip(starts.items(), ends, strict=True)
    }


def report(folder=FOLDER, package=PACKAGE):
    """Print the map, and write the lines that nothing runs as pages.

    Whether it is as much as `pyproject.toml` asks for.
    """
    seen = lines_seen(folder)
    data = CoverageData(str(folder / "coverage"))
    data.erase()
    data.add_lines(seen)
    data.write()
    settings = str(ROOT / "pyproject.toml")
    measured = Coverage(data_file=data.data_filename(), config_file=settings)
    measured.load()
    rooms, everything = defaultdict(lambda: [0, 0]), [0, 0]
    for path in seen:
        _, statements, _, missing, _ = measured.analysis2(path)
        room = Path(path).relative_to(package).parts[0].removesuffix(".py")
        for counts in (rooms[room], everything):
            counts[0] += len(statements)
            counts[1] += len(missing)
    print(f"\n{'room':14}{'lines':>7}{'missed':>8}{'covered':>9}")
    for name, (lines, missed) in [*rooms.items(), ("all", everything)]:
        print(f"{name:14}{lines:7}{missed:8}{_share(lines, missed):8.1f}%")
    pages = folder / "html"
    measured.html_report(directory=str(pages))
    print(f"The lines that nothing runs: {os.path.relpath(pages)}/index.html")
    least = measured.get_option("report:fail_under")
    covered = _share(*everything)
    if covered < least:
        print(f"{covered:.1f}% of the lines are covered, and {least:g}% are asked for.")
    return covered >= least


def _share(lines, missed):
    return 100 * (1 - missed / lines) if lines else 100.0


if __name__ == "__main__":
    if sys.argv[1:] == ["start"]:
        start()
    else:
        sys.exit(not report())
