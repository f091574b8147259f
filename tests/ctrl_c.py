"""Ctrl-C as on a terminal, pressed by a test.

Python handles a signal in the main thread, when that next has a turn. A chain in
another thread goes on until then, for as long as the machine is busy. So whoever
presses waits until the run has noticed.
"""

import os
import signal
import threading
from contextlib import contextmanager

from ocbnn.core.interrupts import StopRequest
from tests.inference.walks import Quiet


@contextmanager
def keyboard():
    """Yield what presses Ctrl-C; test runners and background shells switch it off."""
    noticed, press = threading.Event(), StopRequest.press

    def noticing(self, number, frame):
        noticed.set()
        press(self, number, frame)

    def pressed():
        os.kill(os.getpid(), signal.SIGINT)
        assert noticed.wait(timeout=60), "nobody noticed Ctrl-C"

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    StopRequest.press = noticing
    try:
        yield pressed
    finally:
        StopRequest.press = press
        signal.signal(signal.SIGINT, before)


class PressAfter(Quiet):
    """Presses once some moves are done, and keeps what the run says at its end."""

    def __init__(self, press, moves):
        self.press, self.after, self.done, self.said = press, moves, 0, ""

    def advance(self, count, note):
        before, self.done = self.done, self.done + count
        if before < self.after <= self.done:
            self.press()

    def finish(self, note):
        self.said = note
