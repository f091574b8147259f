"""Hearing that a fit is to stop, at any moment of its process's life.

The server says so on the standard input, where it stays until it is read. An interrupt
would get lost while libraries are loaded, some of which catch whatever is raised. A
thread listens from the first moment on. As long as nothing is worth waiting for, it
ends the process by itself, whatever the main thread is doing; later the run is asked to
stop, and what was drawn is written first.
"""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable

# For what was drawn to be saved, when nobody is left who would end this process.
_ORPHAN_SECONDS = 5.0


class StopSignal:
    """Whether a person wants the fit to stop.

    Attributes
    ----------
    farewell
        Called before the process ends by itself.
    promise
        Called when it has something to write first.
    """

    def __init__(
        self, farewell: Callable[[], None], promise: Callable[[], None]
    ) -> None:
        self.farewell, self.promise = farewell, promise
        self._asked = threading.Event()
        self._turn = threading.Lock()
        self._is_worth_waiting = False

    def listen(self) -> None:
        """Begin to listen; an interrupt from elsewhere means the same."""
        begin = lambda what: threading.Thread(target=what, daemon=True).start()
        signal.signal(signal.SIGINT, lambda *_: begin(self.ask))
        begin(self._listen)

    @property
    def is_asked(self) -> bool:
        """Whether to stop."""
        return self._asked.is_set()

    def ask(self) -> None:
        """Stop: at once, or once what there is has been written."""
        with self._turn:
            if not self._is_worth_waiting:
                self.farewell()
                os._exit(0)
            self.promise()  # Before the run hears of it, which may end it at once.
            self._asked.set()

    def hold(self) -> None:
        """Say that there is something to keep from now on, which takes a moment."""
        with self._turn:
            self._is_worth_waiting = True

    def let_go(self) -> bool:
        """Say that it is written; whether to stop now."""
        with self._turn:
            self._is_worth_waiting = False
            return self.is_asked

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 64):
                self.ask()
        # The server is gone.
        self.ask()
        time.sleep(_ORPHAN_SECONDS)
        os._exit(1)
