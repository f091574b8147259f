"""Tests that would hang or leave processes behind are ended, and told of."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import limits

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="needs Linux"
)
SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(limits, "_GRACE_SECONDS", 0.2)


def test_a_process_that_is_left_behind_is_ended_and_named(impatient):
    before = limits.children()
    with subprocess.Popen(SLEEPER) as process:
        with pytest.raises(pytest.fail.Exception, match=rf"{process.pid}: .*sleep"):
            limits.fail_for(before)
        assert process.wait(10) == -9


def test_an_orphan_is_found_as_well(impatient):
    before = limits.children()
    program = (
        "from subprocess import DEVNULL, Popen; "
        f"print(Popen({SLEEPER!r}, stdout=DEVNULL, start_new_session=True).pid)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, check=True, timeout=60
    )
    orphan = int(ended.stdout)
    with pytest.raises(pytest.fail.Exception, match=f"{orphan}: "):
        limits.fail_for(before)
    deadline = time.monotonic() + 10
    while orphan in limits.children() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert orphan not in limits.children()
    os.waitpid(orphan, 0)


def test_processes_that_end_by_themselves_are_waited_for():
    before = limits.children()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.3)"]):
        assert limits.new(before)
        limits.fail_for(before)
        assert not limits.new(before)


def run_tests(folder, text, *options):
    """A test run of its own, with the limits of this one."""
    (folder / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "tests.limits"]
    command += ["--rootdir", folder, "-p", "no:cacheprovider", *options, folder]
    return subprocess.run(
        command,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_test_that_hangs_is_ended_and_the_others_are_run(tmp_path):
    text = "import time\ndef test_a(): time.sleep(60)\ndef test_b(): pass\n"
    done = run_tests(tmp_path, text, "--timeout=1")
    assert "1 failed, 1 passed" in done.stdout
    assert "Timeout (>1.0s)" in done.stdout


def test_a_test_that_leaves_a_process_is_told_and_the_process_is_ended(tmp_path):
    text = (
        "import subprocess, sys, tests.limits\n"
        "tests.limits._GRACE_SECONDS = 0.1\n"
        f"def test_a(): test_a.left = subprocess.Popen({SLEEPER!r})\n"
        "def test_b(): assert test_a.left.wait(10) == -9\n"
    )
    done = run_tests(tmp_path, text)
    assert "2 passed, 1 error" in done.stdout
    assert "processes were left behind" in done.stdout
