"""Requests to stop a fit, which can arrive at any time in its process's life.

The server writes the request to standard input, where it waits until it is read. An
interrupt could get lost while libraries are imported, since some catch every exception.
A thread listens from the start. While there is nothing to save, it ends the process
itself, whatever the main thread is doing; later the run is asked to stop and saves its
draws first.
"""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable

# Time to save draws when the server is gone and nobody else would end the process.
_ORPHAN_SECONDS = 5.0


class StopSignal:
    """Whether the fit has been asked to stop.

    Attributes
    ----------
    on_exit
        Called before the process ends itself.
    on_saving
        Called when there are draws to save first.
    """

    def __init__(
        self, on_exit: Callable[[], None], on_saving: Callable[[], None]
    ) -> None:
        self.on_exit, self.on_saving = on_exit, on_saving
        self._requested = threading.Event()
        self._lock = threading.Lock()
        self._has_unsaved = False

    def listen(self) -> None:
        """Start to listen; SIGINT has the same effect."""
        start = lambda target: threading.Thread(target=target, daemon=True).start()
        signal.signal(signal.SIGINT, lambda *_: start(self.request))
        start(self._listen)

    @property
    def is_requested(self) -> bool:
        """Whether to stop."""
        return self._requested.is_set()

    def request(self) -> None:
        """Stop at once, or as soon as the draws are saved."""
        with self._lock:
            if not self._has_unsaved:
                self.on_exit()
                os._exit(0)
            # First, because the run may end as soon as it sees the request.
            self.on_saving()
            self._requested.set()

    def hold(self) -> None:
        """From now on there is something to save, which takes a moment."""
        with self._lock:
            self._has_unsaved = True

    def release(self) -> bool:
        """Everything is saved; whether to stop now."""
        with self._lock:
            self._has_unsaved = False
            return self.is_requested

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 64):
                self.request()
        # The server is gone.
        self.request()
        time.sleep(_ORPHAN_SECONDS)
        os._exit(1)
