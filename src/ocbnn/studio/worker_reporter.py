"""A reporter that sends a run's progress to the server, and knows when to stop."""

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
    """Reports a run's progress, and sends summaries of its draws as they arrive.

    Attributes
    ----------
    stage
        The current stage, in words.
    look
        Summarizes draws for the plot; None to show nothing.
    stop
        Whether the run has been asked to stop.
    """

    def __init__(
        self, stage: str, which: str, look: Look | None, stop: StopSignal
    ) -> None:
        self.stage, self._which, self._look = stage, which, look
        self._stop = stop
        self._lock = threading.Lock()
        self._kept: list[Any] = []
        self._estimate = ProgressEstimate()
        self._reported = self._summarized = time.monotonic()

    def __enter__(self) -> ProgressReporter:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def begin(self, label: str, total: int | None) -> None:
        """Report the start of a run."""
        self._estimate = ProgressEstimate(total)
        self._send_progress(f"{label}: compiling")

    def resume(self, count: int, note: str) -> None:
        """Report what an earlier run has done."""
        self._estimate.resume(count)
        self._send_progress(note)

    def advance(self, count: int, note: str) -> None:
        """Report further moves, which are worth saving from now on."""
        self._stop.hold()
        with self._lock:
            self._estimate.advance(count)
            now = time.monotonic()
            if now - self._reported >= _PROGRESS_SECONDS:
                self._reported = now
                self._send_progress(note)

    def finish(self, note: str) -> None:
        """Report the end of a run, whose result can be written."""
        self._stop.hold()
        self._send_progress(note)

    def is_stopping(self) -> bool:
        """Whether the run should end with the draws it has."""
        return self._stop.is_requested

    def see(self, target: Any, positions: Any) -> None:
        """Send a summary of the latest draws."""
        if self._look is None or not isinstance(target, Target):
            return
        flat = jax.tree.map(lambda a: np.reshape(a, (-1, *a.shape[3:])), positions)
        is_population = jax.tree.leaves(positions)[0].shape[2] > 1
        with self._lock:
            self._kept = [flat] if is_population else [*self._kept[-200:], flat]
            now = time.monotonic()
            if now - self._summarized < _LOOK_SECONDS:
                return
            self._summarized = now
            kept = list(self._kept)
        joined = jax.tree.map(lambda *a: np.concatenate(a)[-_MOST_DRAWS:], *kept)
        predictive = Predictive.of(target, Model(*joined))
        send_event("bands", which=self._which, **self._look(predictive))

    def _send_progress(self, note: str) -> None:
        estimate = self._estimate
        progress = {
            "share": estimate.share,
            "rate": estimate.rate,
            "left": estimate.left,
        }
        send_event(
            "progress", stage=self.stage, note=spelled(note, on_page), **progress
        )
