"""One chain: it starts, warms up and draws, by chunks of a fraction of a second.

Chunks are long enough to hide the cost of leaving compiled code, and short enough to
report, to save and to stop. Every move's random key follows from its number, so the
result does not depend on where chunks begin and end.
"""

import dataclasses
import threading
import time
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.core.types import RandomKey
from ocbnn.inference import loop
from ocbnn.inference.base import Algorithm, LogDensity, Plan
from ocbnn.inference.draws import Trace
from ocbnn.inference.gathering import Kept
from ocbnn.inference.health import check_numbers, check_start
from ocbnn.inference.progress import Reporter
from ocbnn.inference.record import ChainRecord, Place, Shapes

_CHUNK_SECONDS = 0.2
_WARMUP_ROOM = 1024
_DRAW_ROOM = 128


@dataclasses.dataclass(frozen=True)
class Shared:
    """What the chains of one run share."""

    plan: Plan
    algorithm: Algorithm
    target: LogDensity
    reporter: Reporter
    stopping: threading.Event
    # JAX keeps its precision per thread; workers must share the main thread's.
    double: bool


class Chain:
    """A chain's state, how far it has come, and what it has kept."""

    def __init__(
        self, shared: Shared, key: RandomKey, record: ChainRecord | None = None
    ) -> None:
        self._shared, self._key, self._record = shared, key, record
        self._state: Any = None
        self.place = Place()
        self.kept = Kept()

    def resume(self) -> None:
        """Go back to what was saved, if anything was."""
        if self._record is None:
            return
        found = self._record.load(lambda: _shapes(self._shared, self._key))
        if found is not None:
            self._state, self.place, self.kept = found

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to draw."""
        return self.place.drawn >= self._shared.plan.draws

    @property
    def moves(self) -> int:
        """Moves and draws done, as progress counts them."""
        warmup = self._shared.plan.warmup
        return (warmup if self.place.is_warm else self.place.warmed) + self.place.drawn

    def compile(self) -> None:
        """Compile by taking no step, so that threads find the code ready."""
        if self._state is None:
            self._start()
        if self._shared.plan.warmup:
            self._warm_up(0, 0)
        self._draw(0, 0)

    def run(self) -> None:
        """Warm up, then draw."""
        stopping = self._shared.stopping
        with jax.enable_x64(self._shared.double):
            if stopping.is_set() or self.is_finished:
                return
            if self._state is None:
                self._start()
            if not self.place.is_warm:
                self._run_warmup()
            if stopping.is_set() and self._shared.plan.is_anytime:
                # Not the draw that the whole run would give, so it is never saved.
                self._save(at_once=True)
                self.kept.add_draws(*self._draw(0, 1))
                return
            if self.place.is_warm:
                self._run_draws()
            self._save(at_once=True)

    def _run_warmup(self) -> None:
        plan, reporter = self._shared.plan, self._shared.reporter
        for start, count in self._chunks(self.place.warmed, plan.warmup, _WARMUP_ROOM):
            done, numbers = self._warm_up(start, count)
            self.kept.warmup.append(numbers)
            self._check(numbers)
            ended = done < count
            self.place = Place(warmed=start + done, is_warm=ended)
            reporter.advance(done, _note(numbers))
            if ended:
                reporter.advance(plan.warmup - start - done, "warm-up is done")
                return
        if self.place.warmed >= plan.warmup:
            self.place = self.place._replace(is_warm=True)

    def _run_draws(self) -> None:
        plan, reporter = self._shared.plan, self._shared.reporter
        for start, count in self._chunks(self.place.drawn, plan.draws, _DRAW_ROOM):
            positions, numbers = self._draw(start, count)
            self.kept.add_draws(positions, numbers)
            self._check(numbers)
            self.place = self.place._replace(drawn=start + count)
            reporter.advance(count, _note(numbers))

    def _save(self, at_once: bool = False) -> None:
        if self._record is not None and (at_once or self._record.is_due()):
            self._record.save(self._state, self.place, self.kept)

    def _start(self) -> None:
        self._state = loop.init(self._shared.algorithm, self._key)
        check_start(
            self._shared.target,
            self._state,
            self._positions(),
            self._shared.plan.label,
        )

    def _positions(self) -> Any:
        return loop.emit(self._shared.algorithm, self._key, self._state)

    def _check(self, numbers: Trace) -> None:
        target, label = self._shared.target, self._shared.plan.label
        check_numbers(target, self._positions(), numbers, self._key, label)

    def _chunks(self, done: int, total: int, room: int) -> Iterator[tuple[int, int]]:
        """Starts and lengths of chunks, aiming at a steady fraction of a second."""
        count = 1
        while done < total and not self._shared.stopping.is_set():
            count = min(count, total - done, room)
            started = time.monotonic()
            yield done, count
            done += count
            pace = _CHUNK_SECONDS / max(time.monotonic() - started, 1e-6)
            count = max(1, int(count * min(pace, 8.0)))
            self._save()

    def _warm_up(self, start: int, count: int) -> tuple[int, Trace]:
        size = _warmup_size(self._shared.plan, start, count)
        self._state, done, numbers = loop.warm_up(
            self._shared.algorithm, self._key, self._state, *size
        )
        return int(done), _cut(numbers, int(done))

    def _draw(self, start: int, count: int) -> tuple[Any, Trace]:
        size = _draw_size(self._shared.plan, start, count)
        self._state, positions, numbers = loop.draw(
            self._shared.algorithm, self._key, self._state, *size
        )
        return _cut(positions, count), _cut(numbers, count)


def _warmup_size(plan: Plan, start: int, count: int) -> tuple[Any, Any, int]:
    room = min(_WARMUP_ROOM, plan.warmup)
    return jnp.asarray(start, jnp.int32), jnp.asarray(count, jnp.int32), room


def _draw_size(plan: Plan, start: int, count: int) -> tuple[Any, Any, int, int]:
    room = min(_DRAW_ROOM, plan.draws)
    first = jnp.asarray(plan.warmup + start, jnp.int32)
    return first, jnp.asarray(count, jnp.int32), room, plan.thin


def _shapes(shared: Shared, key: RandomKey) -> Shapes:
    """The structure of a chain's state and of what it keeps, without running it."""
    plan, algorithm, shape_of = shared.plan, shared.algorithm, eqx.filter_eval_shape
    state, warmup = shape_of(loop.init, algorithm, key), {}
    if plan.warmup:
        size = _warmup_size(plan, 0, 0)
        state, _, warmup = shape_of(loop.warm_up, algorithm, key, state, *size)
    size = _draw_size(plan, 0, 0)
    state, *drawn = shape_of(loop.draw, algorithm, key, state, *size)
    one = lambda a: jax.ShapeDtypeStruct(a.shape[1:], a.dtype)
    return Shapes(state, *jax.tree.map(one, (*drawn, warmup)))


def _cut(tree: Any, count: int) -> Any:
    return jax.tree.map(lambda a: np.asarray(a)[:count], tree)


def _note(numbers: Trace) -> str:
    parts = []
    if numbers.get("temperature", np.zeros(0)).size:
        parts.append(f"temperature {numbers['temperature'][-1]:.3g}")
    accepted = numbers.get("acceptance", np.zeros(0))
    if np.isfinite(accepted).any():
        parts.append(f"accepts {np.nanmean(accepted):.0%}")
    if numbers.get("divergent", np.zeros(0)).sum() > 0:
        parts.append(f"{int(numbers['divergent'].sum())} diverged")
    if not parts and numbers.get("logdensity", np.zeros(0)).size:
        parts.append(f"log density {numbers['logdensity'][-1]:.5g}")
    return ", ".join(parts)
