"""Reporting how a run is going: a live bar, plain lines, or nothing."""

import sys
import threading
import time
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from ocbnn.errors import SettingError

_PLAIN_SECONDS = 10.0
# Shorter times give no reliable rate.
_GLANCE = 1e-3
# Shorter durations are not reported.
_MOMENT = 0.05


@runtime_checkable
class ProgressReporter(Protocol):
    """Receives every chunk of moves, from several threads."""

    def __enter__(self) -> "ProgressReporter": ...

    def __exit__(self, *_: object) -> None: ...

    def begin(self, label: str, total: int | None) -> None:
        """A run starts, of `total` moves if that is known."""

    def advance(self, count: int, note: str) -> None:
        """`count` more moves are done; `note` says how they went."""

    def finish(self, note: str) -> None:
        """The run is over."""


# What the user can pass as `progress`.
Progress: TypeAlias = bool | Literal["auto"] | ProgressReporter | None


def resume(reporter: ProgressReporter, count: int, note: str) -> None:
    """Report that `count` moves were done before, in another process.

    A reporter may have a `resume(count, note)`, so that these moves do not count for
    its rate; for others it is an advance.
    """
    getattr(reporter, "resume", reporter.advance)(count, note)


def show(reporter: ProgressReporter, target: Any, positions: Any) -> None:
    """Show draws to a reporter as they come, if it has a `see(target, positions)`.

    Positions are stacked along three axes: chains, draws, and positions of one draw. It
    is called between chunks of moves, in the thread that runs them.
    """
    see = getattr(reporter, "see", None)
    if see is not None:
        see(target, positions)


def is_stopping(reporter: ProgressReporter) -> bool:
    """Whether a run should end and keep its draws, as after Ctrl-C.

    A reporter may have an `is_stopping()`. It is called several times a second, in the
    calling thread; unlike an interrupt, its answer cannot get lost in a library.
    """
    callback = getattr(reporter, "is_stopping", None)
    return callback is not None and bool(callback())


class _SilentReporter:
    def __enter__(self) -> "ProgressReporter":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def begin(self, label: str, total: int | None) -> None:
        """Say nothing."""

    def advance(self, count: int, note: str) -> None:
        """Say nothing."""

    def finish(self, note: str) -> None:
        """Say nothing."""


class ProgressEstimate:
    """A run's progress, its rate, and the estimated time left."""

    def __init__(self, total: int | None = None) -> None:
        self._total, self._done, self._before = total, 0, 0
        self._started = time.monotonic()

    def resume(self, count: int) -> None:
        """Add moves that were done before, in another process."""
        self._before = count

    def advance(self, count: int) -> None:
        """Add moves."""
        if not self._done:
            # The time until now was compilation, and says nothing about the rate.
            self._started = time.monotonic()
        self._done += count

    @property
    def seconds(self) -> float:
        """Seconds since the first report, or since the start."""
        return time.monotonic() - self._started

    @property
    def share(self) -> float | None:
        """The share of all moves that are done, if their number is known."""
        if self._total is None:
            return None
        return min(1.0, (self._before + self._done) / max(self._total, 1))

    @property
    def rate(self) -> float | None:
        """Moves per second; None after only one report."""
        elapsed = self.seconds
        return self._done / elapsed if self._done and elapsed > _GLANCE else None

    @property
    def left(self) -> float | None:
        """Seconds left, if they can be estimated."""
        rate = self.rate
        if self._total is None or rate is None:
            return None
        return max(self._total - self._before - self._done, 0) / rate


class _LineReporter(_SilentReporter):
    """A line now and then, for logs and pipes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._label, self._estimate = "", ProgressEstimate()
        self._last_printed = time.monotonic()

    def begin(self, label: str, total: int | None) -> None:
        self._label, self._estimate = label, ProgressEstimate(total)
        self._last_printed = time.monotonic()

    def resume(self, count: int, note: str) -> None:
        self._estimate.resume(count)
        self._print(note)

    def advance(self, count: int, note: str) -> None:
        with self._lock:
            self._estimate.advance(count)
            now = time.monotonic()
            if now - self._last_printed < _PLAIN_SECONDS:
                return
            self._last_printed = now
            share, left = self._estimate.share, self._estimate.left
            if share is None:
                self._print(f"{note}, {self._estimate.seconds:.0f} s so far")
                return
            time_left = "" if left is None else f", about {left:.0f} s left"
            self._print(f"{100 * share:.0f} %, {note}{time_left}")

    def finish(self, note: str) -> None:
        elapsed = self._estimate.seconds
        self._print(f"{note} ({elapsed:.1f} s)" if elapsed >= _MOMENT else note)

    def _print(self, text: str) -> None:
        print(f"{self._label}: {text}", file=sys.stderr, flush=True)


class SubtaskReporter(_SilentReporter):
    """One of several runs that share a bar."""

    def __init__(self, bar: ProgressReporter, label: str) -> None:
        self._bar, self._label = bar, label

    def begin(self, label: str, total: int | None) -> None:
        """Report which run begins."""
        self._bar.advance(0, f"{self._label}: compiling")

    def advance(self, count: int, note: str) -> None:
        """Pass the moves on."""
        self._bar.advance(count, self._label)


def make_reporter(progress: object) -> ProgressReporter:
    """A reporter from what the user passed: True, False, "auto" or their own.

    "auto" draws a bar on a terminal and is silent elsewhere; True writes plain lines
    where there is no terminal.
    """
    if progress is False or progress is None:
        return _SilentReporter()
    if progress is True or progress == "auto":
        from ocbnn.inference.progress_bar import bar_on_terminal  # noqa: PLC0415 (needs rich)

        fallback = _LineReporter() if progress is True else _SilentReporter()
        return bar_on_terminal() or fallback
    if isinstance(progress, ProgressReporter):
        return progress
    raise SettingError(
        f'progress must be True, False, "auto" or a ProgressReporter, got {progress!r}.'
    )
