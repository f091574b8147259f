"""Stop is heard at any moment of a fit, and a fit that does not hear it is ended."""

import asyncio
import contextlib
import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from starlette.requests import Request

from ocbnn.errors import OcbnnError
from ocbnn.studio import controller, jobs
from ocbnn.studio.examples import EXAMPLES
from ocbnn.studio.server import Studio
from ocbnn.studio.sessions import Store
from tests.limits import within
from tests.studio.stopping import PLANS, busy, stop_often, stop_one

# A process that hears a stop although its main thread hears nothing, as while it loads
# libraries that catch whatever is raised.
DEAF = """
import os, sys, time
from ocbnn.studio.stop_signal import StopSignal

say = lambda word: os.write(1, f"{word}\\n".encode())  # One write: two threads speak.
stop = StopSignal(on_exit=lambda: say("farewell"), on_saving=lambda: say("promise"))
stop.listen()
if "hold" in sys.argv:
    stop.hold()
say("listening")
while not ("hold" in sys.argv and stop.is_requested):
    try:
        time.sleep(0.01)
    except BaseException:
        pass
say("written")
assert stop.release()
"""


@contextlib.contextmanager
def deaf(*words):
    with subprocess.Popen(
        [sys.executable, "-c", DEAF, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert within(60, process.stdout.readline) == "listening\n"
            yield process
        finally:
            process.kill()


def test_a_process_whose_main_thread_hears_nothing_ends_at_once():
    with deaf() as process:
        assert process.communicate("stop\n", timeout=10) == ("farewell\n", None)
        assert process.returncode == 0


def test_a_process_that_has_something_to_keep_writes_it_first():
    with deaf("hold") as process:
        process.stdin.write("stop\n")
        process.stdin.flush()
        assert within(10, process.stdout.readline) == "promise\n"
        assert within(10, process.stdout.readline) == "written\n"
        assert process.wait(10) == 0


def test_a_process_whose_server_is_gone_ends():
    with deaf() as process:
        process.stdin.close()
        assert process.wait(10) == 0


# What a fit may do in the place of stopping.
IGNORES = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('{"event": "progress", "stage": "deaf"}', flush=True)
print('{"event": "bands", "cut": ', end="", flush=True)
time.sleep(600)
"""
KEEPS = """
import sys, time
print('{"event": "progress", "stage": "drawing"}', flush=True)
sys.stdin.readline()
print('{"event": "keeping"}', flush=True)
time.sleep(float(sys.argv[1]))
print('{"event": "end", "state": "stopped", "message": "written"}', flush=True)
"""


PRINTS = """
import sys
print("WARNING: no accelerator")
print("[1, 2]", 5, "5", sep="\\n")
print("\\udcff".encode(errors="surrogateescape"), "[" * 100_000)
print("x" * 300_000, flush=True)
print("y" * 300_000, file=sys.stderr, flush=True)
print('{"event": "progress", "stage": "drawing"}', flush=True)
sys.stdin.readline()
print('{"event": "end", "state": "done", "message": ""}', flush=True)
"""


@pytest.fixture
def session(tmp_path):
    return Store(tmp_path / "studio").from_document(*EXAMPLES["fig1-left"].make())


@pytest.fixture
def fits(monkeypatch):
    """Makes fits whose processes run a program of the test."""

    def make(program, *words):
        async def started(*_):
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", program, *words),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=2**16,
            )

        monkeypatch.setattr(jobs, "start_process", started)
        return jobs.Fits(jobs.Listeners(), 1)

    return make


async def until(is_so, seconds=30):
    """Seconds until something is so."""
    started = time.monotonic()
    while not is_so():
        assert time.monotonic() - started < seconds
        await asyncio.sleep(0.01)
    return time.monotonic() - started


def test_a_fit_that_does_not_hear_is_ended_and_told_as_stopped(fits, session):
    async def run():
        some = fits(IGNORES)
        some.start(session, "", quick=False)
        await until(lambda: some.state(session)["stage"] == "deaf")
        some.stop(session)
        took = await until(lambda: not some.is_busy(session))
        await some.close()
        return took, some.state(session)

    took, message = asyncio.run(run())
    assert took < 5
    assert message["state"] == "stopped"
    assert message["message"] == "Stopped before anything was drawn."
    assert session.fit_state() == message


def test_what_libraries_print_ends_no_fit(fits, session):
    async def run():
        some = fits(PRINTS)
        some.start(session, "", quick=False)
        await until(lambda: some.state(session)["stage"] == "drawing")
        some.stop(session)
        await until(lambda: not some.is_busy(session))
        return some.state(session)["state"]

    assert asyncio.run(run()) == "done"


def test_a_fit_that_is_not_followed_is_ended_and_told_as_failed(
    fits, session, monkeypatch
):
    followed = []

    async def lost(_, job, process):
        followed.append(process)
        raise LookupError

    monkeypatch.setattr(jobs.Fits, "_follow", lost)

    async def run():
        some = fits("import time; time.sleep(600)")
        some.start(session, "", quick=False)
        await until(lambda: not some.is_busy(session))
        return some.state(session)

    message = asyncio.run(run())
    assert followed[0].returncode == -signal.SIGTERM
    assert message["state"] == "failed"
    assert "lost track of this fit" in message["message"]


def test_a_folder_that_cannot_be_used_is_told(fits, session, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(type(session), "mend", full)

    async def run():
        some = fits("")
        some.start(session, "", quick=False)
        await until(lambda: not some.is_busy(session))
        return some.state(session)

    message = asyncio.run(run())
    assert message["state"] == "failed"
    assert "No space left" in message["message"]


SPEAKS = """
import os
from ocbnn.studio.worker_messages import reserve_stdout, send_event

reserve_stdout()
print("from Python", flush=True)
os.write(1, b"from elsewhere")
send_event("bands", cut=[1.0, float("nan")], inner={"high": (float("inf"), "x")})
"""


def test_a_process_speaks_alone_and_numbers_that_are_none_are_null():
    completed = subprocess.run(
        [sys.executable, "-c", SPEAKS], capture_output=True, check=True, timeout=60
    )
    said = {"event": "bands", "cut": [1.0, None], "inner": {"high": [None, "x"]}}
    assert json.loads(completed.stdout) == said
    assert completed.stderr.split(b"\n") == [b"from Python", b"from elsewhere"]


@pytest.mark.parametrize("again", [False, True])
def test_who_waits_for_a_summary_is_told_and_may_fit_again(fits, session, again):
    async def run():
        some = fits(KEEPS, "600" if again else "5")
        some.start(session, "", quick=False)
        await until(lambda: some.state(session)["stage"] == "drawing")
        some.stop(session)
        took = await until(lambda: some.state(session)["state"] == "stopped")
        assert "being summed up" in some.state(session)["message"]
        if again:
            await some.settle(session)
            assert not some.is_busy(session)
        await until(lambda: not some.is_busy(session))
        return took, some.state(session)

    took, message = asyncio.run(run())
    assert took < 5
    assert message["state"] == "stopped"
    expected = "Stopped before there was anything to show." if again else "written"
    assert message["message"] == expected


def test_a_server_that_is_closed_begins_nothing_and_leaves_nothing(fits, tmp_path):
    store = Store(tmp_path / "studio")
    one, two = (store.from_document(*EXAMPLES["fig1-left"].make()) for _ in "ab")

    async def run():
        some = fits(IGNORES)
        for session in (one, two):
            some.start(session, "", quick=False)
        await until(lambda: some.state(one)["stage"] == "deaf")
        assert some.state(two)["state"] == "waiting"
        await some.close()
        return some.is_busy(one) or some.is_busy(two)

    started = time.monotonic()
    assert not asyncio.run(run())
    assert time.monotonic() - started < 10
    assert [each.fit_state()["state"] for each in (one, two)] == ["stopped"] * 2


@pytest.mark.parametrize("how", ["stop", "delete", "fit"])
def test_a_fit_is_there_while_it_is_looked_at_before_it_starts(
    fits, tmp_path, monkeypatch, how
):
    studio = Studio(tmp_path / "studio")
    session = studio.store.from_document(*EXAMPLES["fig1-left"].make())
    looking, go_on = threading.Event(), threading.Event()

    def checked(*_):
        looking.set()
        assert go_on.wait(10)
        return SimpleNamespace(problem="")

    monkeypatch.setattr(controller, "checked", checked)

    async def run():
        some = studio._fits = studio._controller._fits = fits(IGNORES)
        coming = asyncio.create_task(studio._controller.fit(session, quick=False))
        await asyncio.to_thread(looking.wait, 60)
        asked = Request({"type": "http", "path_params": {"id": session.id}})
        match how:
            case "stop":
                some.stop(session)
            case "delete":
                with pytest.raises(OcbnnError, match="Stop it first"):
                    await studio._delete(asked)
            case "fit":
                with pytest.raises(OcbnnError, match="running already"):
                    await studio._controller.fit(session, quick=False)
        go_on.set()
        await coming
        state = some.state(session)["state"]
        await some.close()
        return state

    assert (asyncio.run(run()) == "stopped") == (how == "stop")
    assert session.fit_state()["state"] == "stopped"


def test_a_fit_that_is_refused_keeps_no_place(fits, tmp_path):
    studio = Studio(tmp_path / "studio")
    session = studio.store.from_document(*EXAMPLES["fig1-left"].make())
    revision, document = session.read()
    data = document.data.model_copy(update={"inputs": ["nowhere"]})
    session.write(document.model_copy(update={"data": data}), revision)

    async def run():
        some = studio._controller._fits = fits(IGNORES)
        with pytest.raises(OcbnnError, match="nowhere"):
            await studio._controller.fit(session, quick=False)
        return some.is_busy(session)

    assert not asyncio.run(run())


def test_the_last_fit_is_put_back_when_its_successor_came_halfway(session):
    session.run("with").mkdir()
    (session.run("with") / "model").write_text("last")
    session.coming("with").parent.mkdir(exist_ok=True)
    session.run("with").rename(session.folder / "coming" / "old-with")
    session.mend()
    assert (session.run("with") / "model").read_text() == "last"


# While the process is being made, while it starts, while it loads, while it compiles.
@pytest.mark.parametrize("after", [0.0, 0.05, 0.4, 1.5, 5.0])
def test_a_fit_is_stopped_soon_on_a_busy_machine(studio, after):
    with busy(4):
        stops = stop_one(studio, "warm-up", after)
    assert stops.state == "stopped", stops
    assert stops.seconds < 5, stops


@pytest.mark.slow
def test_many_fits_are_stopped_soon_on_a_busy_machine():
    with busy(4):
        stops = list(stop_often(40, studios=2, seconds=10.0))
    assert [one for one in stops if one.state != "stopped"] == []
    assert [str(one) for one in stops if one.seconds >= 5] == []


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS)
def test_what_was_drawn_is_shown_however_busy_the_machine_is(studio, plan):
    with busy(4):
        stops = stop_one(studio, plan, after=30.0)
    assert stops.state == "stopped", stops
    assert stops.seconds < 5, stops
    assert stops.shown or plan == "warm-up" or "goes on from there" in stops.message


def until_stage(studio, session, stage):
    """Fit, and stop when it comes to a stage; the state then."""
    studio.json(f"{session}/fit", {"quick": False})
    assert any(f'"stage": "{stage}' in text for text in studio.events(session))
    asked = time.monotonic()
    studio.json(f"{session}/cancel", {})
    _, state = studio.heard(session, is_settled=False)
    assert time.monotonic() - asked < 5
    assert state["fit"]["state"] == "stopped"
    return studio.heard(session)[1]


def test_what_comes_after_the_fit_is_stopped_as_well_and_gone_on_with(studio):
    session = studio.example("fig1-left")
    small = {"algorithm": "nuts", "chains": 2, "warmup": 300, "draws": 100}
    studio.save(session, lambda d: d.update(inference=small))
    state = until_stage(studio, session, "fitting without")
    assert state["result"]["with"]["scores"]
    state = until_stage(studio, session, "proving")
    assert state["result"]["without"]["rules"]
    assert state["result"]["conflicts"]
    assert state["result"]["certificates"] == []


def test_a_population_that_is_stopped_is_shown_and_said_to_be_on_its_way(studio):
    session = studio.example("fig1-left")
    slow = {"algorithm": "smc", "particles": 60, "moves": 1, "steps": 5}
    slow |= {"keep": 0.9999}
    studio.save(session, lambda d: d.update(inference=slow))
    studio.json(f"{session}/fit", {"quick": False})
    studio.until_bands(session)
    studio.json(f"{session}/cancel", {})
    _, state = studio.heard(session)
    assert state["fit"]["state"] == "stopped"
    verdict = state["result"]["with"]["verdict"]
    assert verdict["status"] == "poor"
    (said,) = verdict["sentences"]
    assert re.match(r"SMC was stopped at temperature \d[\d.e-]*, on its way", said)
    assert "not draws from the posterior" in said
    assert said.endswith("Fit continues from there.")
    assert studio.json(f"{session}/posterior", {})["with"]["mean"]
