"""Fits that are stopped at random moments while the machine is busy.

As a program, `python -m tests.studio.stopping 200` tries so many and says how long each
took to end, and how.
"""

import contextlib
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import NamedTuple

from tests.studio.conftest import LONG, running

# None of them ends by itself.
PLANS = {
    "draws": LONG,
    "warm-up": {**LONG, "warmup": 1_000_000},
    "population": {"algorithm": "smc", "polish": 1_000_000},
    "particles": {"algorithm": "svgd", "iterations": 1_000_000_000},
    "refined": {**LONG, "refine": True},
}
# Ends with its parent, whatever becomes of that.
_BUSY = (
    "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(10**5))"
)


class Stopped(NamedTuple):
    """A fit that was stopped."""

    plan: str
    after: float
    stage: str
    note: str
    state: str
    message: str
    seconds: float
    shown: str  # the verdict, if there is one in the end
    gone: float  # seconds until its process was over

    def __str__(self):
        when = f"{self.plan}, stopped after {self.after:.1f} s ({self.stage}"
        how = f"{self.note}): {self.state} in {self.seconds:.2f} s"
        shown = self.shown and f" Shown: {self.shown} ({self.gone:.1f} s)."
        return f"{when}; {how}. {self.message}{shown}"


@contextlib.contextmanager
def busy(count):
    """So many processes that take all they can get, for as long as this lasts."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            one = subprocess.Popen([sys.executable, "-c", _BUSY])
            stack.callback(one.wait, 30)
            stack.callback(one.kill)
        yield


def stop_one(studio, plan, after):
    """Fit, wait, stop; how and how soon it ended."""
    session = studio.example("fig1-left")
    studio.save(session, lambda d: d.update(inference=PLANS[plan]))
    studio.json(f"{session}/fit", {"quick": False})
    time.sleep(after)
    before = studio.json(session)["fit"]
    asked = time.monotonic()
    studio.json(f"{session}/cancel", {})
    _, state = studio.heard(session, seconds=60, is_settled=False)
    seconds = time.monotonic() - asked
    fit = state["fit"]
    while "summed up" in state["fit"]["message"]:
        time.sleep(0.1)
        state = studio.json(session)
    gone = time.monotonic() - asked
    shown = ((state["result"] or {}).get("with") or {}).get("verdict", {})
    return Stopped(
        *(plan, after, before["stage"], before["note"]),
        *(fit["state"], fit["message"], seconds, shown.get("status", ""), gone),
    )


def stop_often(count, studios, seconds, seed=0):
    """So many stops at random moments, by several studios at once."""
    rng = random.Random(seed)
    names = list(PLANS)
    expected = [(rng.choice(names), rng.uniform(0.0, seconds)) for _ in range(count)]

    def some(number):
        with tempfile.TemporaryDirectory() as folder, running(folder) as studio:
            for plan, after in expected[number::studios]:
                yield stop_one(studio, plan, after)

    with ThreadPoolExecutor(studios) as pool:
        for each in pool.map(lambda number: list(some(number)), range(studios)):
            yield from each


def main(count, studios=2, seconds=10):
    with busy(4):
        stops = list(stop_often(count, studios, float(seconds)))
    for one in sorted(stops, key=lambda one: one.seconds):
        print(one)
    times = [one.seconds for one in stops]
    print(f"{len(stops)} stops: {dict(Counter(one.state for one in stops))}")
    print(f"seconds: median {median(times):.2f}, most {max(times):.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
