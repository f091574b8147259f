"""Ctrl-C that is neither lost nor raised where no code expects it.

Python raises KeyboardInterrupt wherever the main thread happens to be. In a callback of
the garbage collector, a weak reference or `__del__` no exception can be raised: Python
prints it and continues, and so does the run that the user wanted to stop. JAX has
such a callback. Where an exception can be raised, it may separate two lines that
belong together. So code that checks for stop requests gets a flag, as `asyncio.run`
gives to its tasks; for all other code, a lost interrupt is raised again.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Soon, but after the callback that swallowed it.
_SOON = 0.05


@contextmanager
def kept_interrupts() -> Iterator[None]:
    """Raise an interrupt again that a callback swallowed.

    Only the main thread is interrupted, so this does nothing in other threads.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous_hook = sys.unraisablehook

    def hook(lost: "sys.UnraisableHookArgs") -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            previous_hook(lost)
            return
        timer = threading.Timer(_SOON, os.kill, (os.getpid(), signal.SIGINT))
        timer.daemon = True
        timer.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = previous_hook


class StopRequest:
    """Whether the user asked to stop: a flag for code that checks between two steps.

    It has no lock, unlike `threading.Event`, so that a signal may set it at any moment.
    """

    def __init__(self) -> None:
        self._is_set = self._is_heard = False

    def set(self) -> None:
        """Ask to stop."""
        self._is_set = True

    def is_set(self) -> bool:
        """Whether to stop; the caller is then responsible for stopping."""
        self._is_heard = self._is_heard or self._is_set
        return self._is_set

    def press(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: the first asks to stop, the next is raised as usual."""
        if self._is_set:
            signal.default_int_handler(number, frame)
        self._is_set = True

    def raise_unheard(self) -> None:
        """Raise an interrupt that arrived after the last check."""
        if self._is_set and not self._is_heard:
            raise KeyboardInterrupt


@contextmanager
def interrupts_ask(stop: StopRequest) -> Iterator[None]:
    """Turn the first Ctrl-C into a stop request; the second is raised as usual.

    Only where Python's own handler would have raised it: in other threads, and under
    the caller's own signal handler, nothing changes.
    """
    is_main = threading.current_thread() is threading.main_thread()
    previous_handler = signal.getsignal(signal.SIGINT)
    if not is_main or previous_handler is not signal.default_int_handler:
        with kept_interrupts():
            yield
        return
    signal.signal(signal.SIGINT, stop.press)
    try:
        with kept_interrupts():
            yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    stop.raise_unheard()
