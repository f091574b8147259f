"""Probes note the lines that coverage.py's tracer sees, and more processes."""

import os
import signal
import subprocess
import sys

import pytest
from coverage import Coverage, CoverageData

from tests.lines import coverage

SAMPLE = '''"""A module with a statement of every shape."""

import enum
from dataclasses import dataclass


class Kind(enum.Enum):
    """Of two things."""

    ONE = 1
    TWO = 2


@dataclass(
    frozen=True,
)
class Pair:
    """Two things."""

    first: int
    second: int = 2

    @property
    @(lambda function: function)
    def total(self) -> int:
        """Their sum."""
        return (
            self.first
            + self.second
        )

    def unused(self):
        return "never"


def branches(number):
    """Some of which are taken."""
    if number == 1:
        answer = "one"
    elif number == 2:
        answer = "two"
    else:
        answer = "many"
    try:
        1 / (number - 1)
    except ZeroDivisionError:
        answer += "!"
    else:
        answer += "?"
    finally:
        answer += "."
    match number:
        case 1:
            return answer
    while number > 2:
        number -= 1
        if number == 3:
            break
    for _ in range(number):
        continue
    with open(__file__) as file:
        return file.name


def steps():
    global counted
    counted = yield 1
    raise RuntimeError("never")


assert [branches(1), branches(5)][0] == "one!."
assert Pair(1).total == 3
assert next(steps()) == 1
'''


@pytest.fixture
def package(tmp_path):
    made = tmp_path / "sample"
    (made / "room").mkdir(parents=True)
    (made / "__init__.py").write_text("")
    (made / "room" / "__init__.py").write_text("")
    (made / "room" / "shapes.py").write_text(SAMPLE)
    coverage.start(tmp_path / "lines", made)
    return made


def run(package, *arguments, probes=True):
    """A new process, with probes or without: its exit code."""
    places = [str(package.parent / "lines")] * probes + [str(package.parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=package.parent,
        check=False,
        timeout=120,
    ).returncode


def seen(package, name):
    return coverage.lines_seen(package.parent / "lines")[str(package / name)]


def test_probes_miss_the_lines_that_a_tracer_misses(package, tmp_path):
    path = str(package / "room" / "shapes.py")
    file = f"--data-file={tmp_path / 'traced'}"
    traced = ["-m", "coverage", "run", file, "-m", "sample.room.shapes"]
    assert run(package, *traced, probes=False) == 0
    assert run(package, "-m", "sample.room.shapes") == 0
    probed = CoverageData(str(tmp_path / "probed"))
    probed.add_lines({path: seen(package, "room/shapes.py")})
    probed.write()
    missing = []
    for name in ("traced", "probed"):
        measured = Coverage(data_file=str(tmp_path / name), config_file=False)
        measured.load()
        missing.append(measured.analysis2(path)[3])
    assert missing[0] == missing[1]
    words = [SAMPLE.splitlines()[line - 1].strip() for line in missing[0]]
    never, taken = 'raise RuntimeError("never")', 'answer = "two"'
    assert words == ['return "never"', taken, never]


def test_the_second_process_counts_what_the_first_one_compiled(package):
    assert run(package, "-m", "sample.room.shapes") == 0
    first = seen(package, "room/shapes.py")
    (package.parent / "lines" / "hits").write_bytes(
        bytes((package.parent / "lines" / "hits").stat().st_size)
    )
    assert run(package, "-m", "sample.room.shapes") == 0
    assert seen(package, "room/shapes.py") == first


def test_modules_with_shape_checks_are_counted(package):
    hook = "import jaxtyping; jaxtyping.install_import_hook('sample', None); "
    assert run(package, "-m", "sample.room.shapes") == 0
    plain = seen(package, "room/shapes.py")
    coverage.start(package.parent / "lines", package)
    assert run(package, "-c", f"{hook}import sample.room.shapes") == 0
    assert seen(package, "room/shapes.py") == plain


def test_a_process_that_is_killed_has_counted(package):
    (package / "victim.py").write_text(
        "import os\nimport signal\n\nos.kill(os.getpid(), signal.SIGKILL)\nprint()\n"
    )
    coverage.start(package.parent / "lines", package)
    assert run(package, "-m", "sample.victim") == -signal.SIGKILL
    assert seen(package, "victim.py") == [1, 2, 4]


def test_the_map_says_how_much_of_every_room_is_covered(package, capsys):
    (package / "closet").mkdir()
    (package / "closet" / "__init__.py").write_text("empty = True\nlocked = True\n")
    coverage.start(package.parent / "lines", package)
    assert run(package, "-m", "sample.room.shapes") == 0
    assert not coverage.report(package.parent / "lines", package)
    text = capsys.readouterr().out
    assert "closet              2       2     0.0%" in text
    assert "and 95% are asked for" in text
    assert run(package, "-c", "import sample.closet") == 0
    coverage.report(package.parent / "lines", package)
    assert "closet              2       0   100.0%" in capsys.readouterr().out
