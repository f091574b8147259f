"""Ctrl-C that is not lost when it falls into a callback.

Python raises KeyboardInterrupt wherever the main thread happens to be. In a callback of
the garbage collector, a weak reference or `__del__` no exception can be raised: Python
prints it and goes on, and the run that a person wanted to stop goes on as well. JAX has
such a callback.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
