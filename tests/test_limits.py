"""Tests that would hang or leave processes behind are ended, and told of."""

import ast
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


def test_an_older_process_that_loses_its_parent_was_not_left_by_this_test(impatient):
    program = (
        "import sys; from subprocess import DEVNULL, Popen; "
        f"print(Popen({SLEEPER!r}, stdout=DEVNULL).pid, flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as parent:
        grandchild = int(limits.within(60, parent.stdout.readline))
        before = limits.descendants()
        parent.communicate(timeout=60)
    try:
        assert grandchild in limits.children()
        limits.fail_for(before)
    finally:
        limits.end(grandchild)
        os.waitpid(grandchild, 0)


def test_processes_that_end_by_themselves_are_waited_for():
    before = limits.children()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.3)"]):
        assert limits.new(before)
        limits.fail_for(before)
        assert not limits.new(before)


WITH_TIMEOUT = {"run", "check_call", "check_output", "communicate", "urlopen"}
WITH_TIMEOUT |= {"create_connection"}
STREAMS = {"stdout", "stderr"}


def waits_for_ever(tree):
    """Lines on which a program may wait for someone who never comes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and getattr(node.iter, "attr", "") in STREAMS:
            yield node.lineno
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        whose = ast.unparse(node.func.value)
        name, given = node.func.attr, {one.arg for one in node.keywords}
        is_ours = name != "run" or whose == "subprocess"
        if name in WITH_TIMEOUT and is_ours and not given & {"timeout", None}:
            yield node.lineno
        if name in ("read", "readline") and whose.rpartition(".")[2] in STREAMS:
            yield node.lineno
        if name == "wait" and not node.args and not given and "process" in whose:
            yield node.lineno


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("subprocess.run(a)", 1),
        ("subprocess.run(a, timeout=3)", 0),
        ("model.run(a)", 0),
        ("process.communicate('stop')", 1),
        ("for line in process.stdout: pass", 1),
        ("process.stdout.readline()", 1),
        ("within(3, process.stdout.readline)", 0),
        ("process.wait()", 1),
        ("process.wait(3)", 0),
        ("urllib.request.urlopen(a)", 1),
    ],
)
def test_what_waits_for_ever_is_seen(text, count):
    assert len(list(waits_for_ever(ast.parse(text)))) == count


def test_everything_that_tests_wait_for_has_a_time_limit():
    root = Path(__file__).parents[1]
    files = [*root.glob("tests/**/*.py"), *root.glob("docs/*.py")]
    assert len(files) > 100
    found = [
        f"{path.relative_to(root)}:{line}"
        for path in files
        for line in waits_for_ever(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


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
    completed = run_tests(tmp_path, text, "--timeout=1")
    assert "1 failed, 1 passed" in completed.stdout
    assert "Timeout (>1.0s)" in completed.stdout


def test_a_test_that_leaves_a_process_is_told_and_the_process_is_ended(tmp_path):
    text = (
        "import subprocess, sys, tests.limits\n"
        "tests.limits._GRACE_SECONDS = 0.1\n"
        f"def test_a(): test_a.left = subprocess.Popen({SLEEPER!r})\n"
        "def test_b(): assert test_a.left.wait(10) == -9\n"
    )
    completed = run_tests(tmp_path, text)
    assert "2 passed, 1 error" in completed.stdout
    assert "processes were left behind" in completed.stdout
