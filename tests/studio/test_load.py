"""Fifty people at once, for a minute."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.studio.conftest import running

PEOPLE, SECONDS = 50, 60
EXAMPLES = ("fig1-left", "fig1-right", "fig2-left", "fig2-right", "fig4-right")


def memory(process):
    """MiB that a process holds."""
    status = Path(f"/proc/{process}/status").read_text()
    line = next(one for one in status.splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def listen(studio, session, heard, ending):
    """What a page hears of, until the end."""
    with studio.listen(f"{session}/events") as stream:
        for line in stream:
            heard.append(line)
            if ending.is_set():
                return


def person(studio, number, until):
    """Look, write, draw and wonder; every answer's status and time."""
    rng = random.Random(number)
    session = studio.example(EXAMPLES[number % len(EXAMPLES)])
    received, ending = [], threading.Event()
    page = threading.Thread(
        target=listen, args=(studio, session, received, ending), daemon=True
    )
    page.start()
    result, changes = [], 0
    while time.monotonic() < until:
        state = studio.json(session)
        document = {**state["document"], "title": f"{number}, {rng.random()}"}
        body = {"revision": state["revision"], "document": document}
        asked = rng.choice(["state", "save", "layers", "rows", "prior", "drawn"])
        view = document["view"]
        drawing = {"kind": "band", "view": view, "x": [0, 1], "y": [0, 1]}
        if len(view["along"]) > 1:
            drawing = {**drawing, "kind": "class", "classes": ["red"]}
        requests = {
            "state": (session, None, None),
            "save": (session, body, "PUT"),
            "layers": (f"{session}/layers", {}, None),
            "rows": (f"{session}/rows", None, None),
            "prior": (f"{session}/prior", {}, None),
            "drawn": (f"{session}/drawn", drawing, None),
        }
        started = time.monotonic()
        status, _, content = studio.ask(*requests[asked])
        result.append((asked, status, time.monotonic() - started, content[:200]))
        changes += asked == "save"
        time.sleep(rng.uniform(0.0, 0.5))
    ending.set()
    if changes:
        title = studio.json(session)["document"]["title"]
        assert title.startswith(f"{number}, ")
        assert any(b"changed" in line for line in received)
    return result


def test_a_few_people_at_once_are_all_answered(studio):
    until = time.monotonic() + 3
    with ThreadPoolExecutor(3) as pool:
        people = [pool.submit(person, studio, number, until) for number in range(3)]
        answers = [one.result() for one in people]
    assert all(answers)
    assert [one for each in answers for one in each if one[1] != 200] == []


@pytest.mark.slow
def test_fifty_people_disturb_neither_the_server_nor_each_other(tmp_path):
    with running(tmp_path / "studio") as studio:
        pid = studio.process.pid
        studio.json(f"{studio.example('fig1-left')}/prior", {})
        before = memory(pid)
        until = time.monotonic() + SECONDS
        with ThreadPoolExecutor(PEOPLE) as pool:
            people = [
                pool.submit(person, studio, number, until) for number in range(PEOPLE)
            ]
            middle = None
            while middle is None or time.monotonic() < until:
                time.sleep(SECONDS / 2)
                middle = middle or memory(pid)
            answers = [one for each in people for one in each.result()]
        after = memory(pid)
    wrong = [one for one in answers if one[1] != 200]
    assert wrong == []
    quick = sorted(seconds for asked, _, seconds, _ in answers if asked != "prior")
    slow = sorted(seconds for asked, _, seconds, _ in answers if asked == "prior")
    print(
        f"{len(answers)} answers; median {quick[len(quick) // 2]:.3f} s, 99 % within "
        f"{quick[int(0.99 * len(quick))]:.2f} s; functions: median "
        f"{slow[len(slow) // 2]:.1f} s of {len(slow)}; memory {before:.0f}, "
        f"{middle:.0f}, {after:.0f} MiB"
    )
    assert quick[int(0.99 * len(quick))] < 5.0
    assert after < before + 200
    assert after < middle + 60
