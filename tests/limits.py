"""No test hangs, and no process outlives its test.

Every test has so many seconds (`timeout` in `pyproject.toml`), slow ones more. That
limit is a signal, which Python does not hear while it waits in compiled code; a test
that is stuck there is ended with its process a little later.

Processes that a test starts must be gone when it ends. Those that fixtures of a file or
of the whole run have started may stay until the last test is over. A process whose
parent has died becomes a child of this one, so that nothing gets lost.
"""

import ctypes
import faulthandler
import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

SLOW_SECONDS = 3000
# After the limit, for a test that did not hear of it.
_MORE_SECONDS = 300
# For processes that are on their way out.
_GRACE_SECONDS = 10.0
_TASKS = Path("/proc/self/task")
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def pytest_configure(config):
    """Become the parent of processes whose own has died."""
    if _TASKS.is_dir():
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def pytest_collection_modifyitems(items):
    """More time for slow tests, unless they say how much they need."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """The last resort, which needs nobody to hear it."""
    marker, asked = item.get_closest_marker("timeout"), item.config.getoption("timeout")
    said = marker.args[0] if marker else asked or item.config.getini("timeout")
    limit = float(said or SLOW_SECONDS) + _MORE_SECONDS
    stderr = sys.__stderr__.fileno()
    faulthandler.dump_traceback_later(limit, exit=True, file=stderr)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def no_process_is_left():
    """Fails a test that leaves processes behind, and ends them."""
    before = descendants()
    yield
    fail_for(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """After the last test, when all fixtures are gone, nothing may be left at all."""
    found = yield
    if nextitem is None:
        fail_for({})
    return found


def within(seconds, call, *args):
    """What a call gives that waits for someone; an error if it takes longer."""
    found = queue.SimpleQueue()

    def answer():
        try:
            found.put((call(*args), None))
        except Exception as error:
            found.put((None, error))

    threading.Thread(target=answer, daemon=True).start()
    try:
        result, error = found.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"{call} gave nothing in {seconds} seconds") from None
    if error is not None:
        raise error
    return result


def fail_for(before):
    """End the processes that were not there before, and fail if there are any."""
    deadline = time.monotonic() + _GRACE_SECONDS
    while (left := new(before)) and time.monotonic() < deadline:
        time.sleep(0.02)
    if left:
        for pid in left:
            end(pid)
        text = "; ".join(f"{pid}: {words}" for pid, words in left.items())
        pytest.fail(f"processes were left behind, and are killed now: {text}")


def new(before):
    """Living children that were not there, with their command lines."""
    return {
        pid: _command(pid)
        for pid, started in children().items()
        if before.get(pid) != started
    }


def children(parent="self"):
    """Numbers of a process's living children, and when they were started."""
    numbers = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            numbers += map(int, task.read_text().split())
        except OSError:  # the thread has just ended
            continue
    found = {}
    for pid in numbers:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":  # ended, and not asked about yet
            found[pid] = fields[19]
    return found


def descendants(parent="self"):
    """Children, and theirs: one whose parent ends later was not left by a test."""
    found = children(parent)
    for pid in list(found):
        found |= descendants(pid)
    return found


def end(pid):
    """Kill a process and all that it has started."""
    for child in children(pid):
        end(child)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[:200].strip()
    except OSError:
        return "ended just now"
