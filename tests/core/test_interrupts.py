"""Ctrl-C that falls into a callback, where Python ignores exceptions."""

import signal
import sys
import threading
import time

import pytest

from ocbnn.core.interrupts import kept_interrupts


class Callback:
    """What Ctrl-C falls into."""

    def __init__(self, error):
        self.error = error

    def __del__(self):
        raise self.error


@pytest.fixture(autouse=True)
def listening():
    # A background shell switches Ctrl-C off for all it starts; switch it on again.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def falls_and_goes_on():
    Callback(KeyboardInterrupt())
    for _ in range(100):
        time.sleep(0.1)


def test_an_interrupt_that_fell_into_a_callback_is_given_again():
    with pytest.raises(KeyboardInterrupt), kept_interrupts():
        falls_and_goes_on()


def test_other_errors_are_told_as_before(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    with kept_interrupts():
        Callback(ValueError())
    assert [one.exc_type for one in told] == [ValueError]
    assert sys.unraisablehook == told.append


def test_other_threads_leave_the_hook_alone():
    before, seen = sys.unraisablehook, []

    def look():
        with kept_interrupts():
            seen.append(sys.unraisablehook)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(timeout=10)
    assert seen == [before]
