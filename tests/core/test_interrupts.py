"""Ctrl-C: a flag where code looks for it, and never lost in a callback."""

import os
import signal
import sys
import threading
import time

import pytest

from ocbnn.core.interrupts import StopRequest, interrupts_ask, kept_interrupts


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
    messages = []
    monkeypatch.setattr(sys, "unraisablehook", messages.append)
    with kept_interrupts():
        Callback(ValueError())
    assert [one.exc_type for one in messages] == [ValueError]
    assert sys.unraisablehook == messages.append


def test_other_threads_leave_the_hook_alone():
    before, calls = sys.unraisablehook, []

    def look():
        with kept_interrupts():
            calls.append(sys.unraisablehook)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(timeout=10)
    assert calls == [before]


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_ctrl_c_asks_to_stop_and_raises_nothing():
    stop = StopRequest()
    with interrupts_ask(stop):
        assert not stop.is_set()
        press()
        assert stop.is_set()


def test_a_second_ctrl_c_is_raised_at_once():
    stop = StopRequest()
    with interrupts_ask(stop):
        press()
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            press()


def test_a_ctrl_c_that_nobody_looked_for_is_raised_at_the_end():
    with pytest.raises(KeyboardInterrupt), interrupts_ask(StopRequest()):
        press()


def test_pythons_own_handler_is_back_afterwards():
    with interrupts_ask(StopRequest()):
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_callers_own_is_left_alone():
    received, stop = [], StopRequest()
    signal.signal(signal.SIGINT, lambda *_: received.append("mine"))
    with interrupts_ask(stop):
        press()
        assert not stop.is_set()
    assert received == ["mine"]
