"""Ctrl-C that is neither lost nor raised where nobody expects it.

Python raises KeyboardInterrupt wherever the main thread happens to be. In a callback of
the garbage collector, a weak reference or `__del__` no exception can be raised: Python
prints it and continues, and so does the run that a person wanted to stop. JAX has
such a callback. Where an exception can be raised, it may fall between two lines that
belong together. So code that looks for requests to stop gets a flag, as `asyncio.run`
gives to its tasks; all other code gets a lost interrupt again.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Soon, but after the callback that it fell into.
_SOON = 0.05


@contextmanager
def kept_interrupts() -> Iterator[None]:
    """Give an interrupt again that fell into a callback.

    Only the main thread is interrupted, so that in others nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = sys.unraisablehook

    def hook(lost: "sys.UnraisableHookArgs") -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            usual(lost)
            return
        again = threading.Timer(_SOON, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = usual


class StopRequest:
    """Whether someone asked to stop: a flag for code that looks between two steps.

    It has no lock, unlike `threading.Event`, so that a signal may set it at any moment.
    """

    def __init__(self) -> None:
        self._is_set = self._is_heard = False

    def set(self) -> None:
        """Ask to stop."""
        self._is_set = True

    def is_set(self) -> bool:
        """Whether to stop; whoever asks takes care of it."""
        self._is_heard = self._is_heard or self._is_set
        return self._is_set

    def press(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: the first asks to stop, the next is raised as usual."""
        if self._is_set:
            signal.default_int_handler(number, frame)
        self._is_set = True

    def raise_unheard(self) -> None:
        """Raise an interrupt that nobody looked for any more."""
        if self._is_set and not self._is_heard:
            raise KeyboardInterrupt


@contextmanager
def interrupts_ask(stop: StopRequest) -> Iterator[None]:
    """Let the first Ctrl-C ask to stop; the second is raised as usual.

    Only where Python's own handler would have raised it: in other threads, or under a
    handler of the caller's own, interrupts stay as they are.
    """
    is_main = threading.current_thread() is threading.main_thread()
    usual = signal.getsignal(signal.SIGINT)
    if not is_main or usual is not signal.default_int_handler:
        with kept_interrupts():
            yield
        return
    signal.signal(signal.SIGINT, stop.press)
    try:
        with kept_interrupts():
            yield
    finally:
        signal.signal(signal.SIGINT, usual)
    stop.raise_unheard()
