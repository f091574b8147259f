"""A reporter that tells the server of a run, and hears when it is to stop."""

import threading
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ocbnn.core.sentences import spelled
from ocbnn.inference.progress import ProgressEstimate, ProgressReporter
from ocbnn.posterior import Model, Target
from ocbnn.predictive import Predictive
from ocbnn.studio.page_advice import on_page
from ocbnn.studio.stop_signal import StopSignal
from ocbnn.studio.worker_messages import send_event

_PROGRESS_SECONDS, _LOOK_SECONDS = 0.2, 1.0
_MOST_DRAWS = 400

Look = Callable[[Predictive], dict[str, Any]]


class WorkerReporter:
    """Reports a run's progress, and shows its draws as they come.

    Attributes
    ----------
    stage
        What is being done, in words.
    look
        Makes a picture of draws; None to show nothing.
    stop
        Whether a person wants it to stop.
    """

    def __init__(
        self, stage: str, which: str, look: Look | None, stop: StopSignal
    ) -> None:
        self.stage, self._which, self._look = stage, which, look
        self._stop = stop
        self._lock = threading.Lock()
        self._kept: list[Any] = []
        self._estimate = ProgressEstimate()
        self._reported = self._looked = time.monotonic()

    def __enter__(self) -> ProgressReporter:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def begin(self, label: str, total: int | None) -> None:
        """A run starts."""
        self._estimate = ProgressEstimate(total)
        self._say(f"{label}: compiling")

    def resume(self, count: int, note: str) -> None:
        """Some of it was done before."""
        self._estimate.resume(count)
        self._say(note)

    def advance(self, count: int, note: str) -> None:
        """Some more moves are done, and are worth saving."""
        self._stop.hold()
        with self._lock:
            self._estimate.advance(count)
            now = time.monotonic()
            if now - self._reported >= _PROGRESS_SECONDS:
                self._reported = now
                self._say(note)

    def finish(self, note: str) -> None:
        """The run is over, and what it found can be written."""
        self._stop.hold()
        self._say(note)

    def is_stopping(self) -> bool:
        """Whether the run is to end with what it has."""
        return self._stop.is_asked

    def see(self, target: Any, positions: Any) -> None:
        """Draws have come."""
        if self._look is None or not isinstance(target, Target):
            return
        flat = jax.tree.map(lambda a: np.reshape(a, (-1, *a.shape[3:])), positions)
        is_population = jax.tree.leaves(positions)[0].shape[2] > 1
        with self._lock:
            self._kept = [flat] if is_population else [*self._kept[-200:], flat]
            now = time.monotonic()
            if now - self._looked < _LOOK_SECONDS:
                return
            self._looked = now
            kept = list(self._kept)
        joined = jax.tree.map(lambda *a: np.concatenate(a)[-_MOST_DRAWS:], *kept)
        predictive = Predictive.of(target, Model(*joined))
        send_event("bands", which=self._which, **self._look(predictive))

    def _say(self, note: str) -> None:
        estimate = self._estimate
        far = {"share": estimate.share, "rate": estimate.rate, "left": estimate.left}
        send_event("progress", stage=self.stage, note=spelled(note, on_page), **far)
