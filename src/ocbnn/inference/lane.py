"""Chains that run together: one on a core, or many vectorised on one or more devices.

A lane starts, warms up and draws in chunks of a fraction of a second. Chunks are long
enough to hide the cost of leaving compiled code, and short enough to report, to save
and to stop. Every move's random key follows from its chain's key and its number, so the
result depends neither on the boundaries of chunks nor on which chains run together.
"""

import dataclasses
import time
from collections.abc import Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ocbnn.core.interrupts import StopRequest
from ocbnn.core.processes import gathered
from ocbnn.core.types import RandomKey
from ocbnn.inference import loop
from ocbnn.inference.base import Algorithm, LogDensity, Plan, StartedAlgorithm
from ocbnn.inference.chain import Chain
from ocbnn.inference.chain_samples import ChainSamples, split_by_chain
from ocbnn.inference.draws import Trace
from ocbnn.inference.health import check_numbers, check_start
from ocbnn.inference.layout import Layout
from ocbnn.inference.progress import ProgressReporter, show
from ocbnn.inference.record import ChainProgress, Shapes
from ocbnn.inference.trees import stacked

_CHUNK_SECONDS = 0.2
_WARMUP_ROOM = 1024
_DRAW_ROOM = 128


@dataclasses.dataclass(frozen=True)
class Shared:
    """What the lanes of one run share."""

    plan: Plan
    algorithm: Algorithm
    target: LogDensity
    layout: Layout
    reporter: ProgressReporter
    stopping: StopRequest
    # JAX has one precision per thread; workers must use the main thread's.
    double: bool


def lanes_of(shared: Shared, chains: Sequence[Chain]) -> list["Lane"]:
    """Unfinished chains in lanes: together if vectorised and equally far."""
    waiting = [chain for chain in chains if not chain.is_finished]
    if not shared.layout.is_vectorised:
        return [Lane(shared, [chain]) for chain in waiting]
    by_progress: dict[ChainProgress, list[Chain]] = {}
    for chain in waiting:
        by_progress.setdefault(chain.progress, []).append(chain)
    return [Lane(shared, members) for members in by_progress.values()]


class Lane:
    """Chains with equal progress that run together."""

    def __init__(self, shared: Shared, chains: list[Chain]) -> None:
        self._shared, self._chains = shared, chains
        self._progress = chains[0].progress
        # Since chains were last updated, with an axis of chains first.
        self._new = ChainSamples()
        self._is_vectorised = shared.layout.is_vectorised
        self._stops = self._saves = False  # as agreed on by all processes
        self._keys: Any = chains[0].key
        self._state: Any = chains[0].state
        if self._is_vectorised:
            self._keys = stacked(*(chain.key for chain in chains))
        if self._is_vectorised and self._state is not None:
            states = [chain.state for chain in chains]
            self._state = jax.tree.map(stacked, *states)
        self._keys, self._state = shared.layout.spread((self._keys, self._state))

    def compile(self) -> None:
        """Compile by running zero moves, so that threads find the code ready."""
        with self._shared.layout.precision(self._shared.plan):
            if self._state is None:
                self._start()
            if self._shared.plan.warmup:
                self._warm_up(0, 0)
            self._draw(0, 0)

    def run(self) -> None:
        """Warm up, then draw."""
        precision = self._shared.layout.precision(self._shared.plan)
        with jax.enable_x64(self._shared.double), precision:
            self._agree()
            if self._stops:
                return
            if self._state is None:
                self._start()
            if not self._progress.is_warm:
                self._run_warmup()
            self._agree()
            if self._stops and self._shared.plan.is_anytime and self._progress.warmed:
                # A complete run would give other draws, so these are not saved.
                self._save(at_once=True)
                self._new.add_draws(*self._draw(0, 1))
                self._update_chains()
                return
            if self._progress.is_warm:
                self._run_draws()
            self._save(at_once=True)

    def _run_warmup(self) -> None:
        plan = self._shared.plan
        for start, count in self._chunks(
            self._progress.warmed, plan.warmup, _WARMUP_ROOM
        ):
            done, numbers = self._warm_up(start, count)
            self._new.warmup.append(numbers)
            self._check(numbers)
            if plan.is_anytime:
                self._show(self._positions(), draws=False)
            ended = done < count
            self._progress = ChainProgress(warmed=start + done, is_warm=ended)
            self._advance(done, _note(numbers))
            if ended:
                self._advance(plan.warmup - start - done, "warm-up is done")
                return
        if self._progress.warmed >= plan.warmup:
            self._progress = self._progress._replace(is_warm=True)

    def _run_draws(self) -> None:
        plan = self._shared.plan
        for start, count in self._chunks(self._progress.drawn, plan.draws, _DRAW_ROOM):
            positions, numbers = self._draw(start, count)
            self._new.add_draws(positions, numbers)
            self._check(numbers)
            self._show(positions)
            self._progress = self._progress._replace(drawn=start + count)
            self._advance(count, _note(numbers))

    def _advance(self, count: int, note: str) -> None:
        self._shared.reporter.advance(count * len(self._chains), note)

    def _show(self, positions: Any, draws: bool = True) -> None:
        """Show positions to the reporter; a state's positions are one draw."""
        with_chains = (lambda a: a) if self._is_vectorised else (lambda a: a[None])
        if not draws:
            positions = jax.tree.map(lambda a: with_chains(a)[:, None], positions)
        show(self._shared.reporter, self._shared.target, positions)

    def _chunks(self, done: int, total: int, room: int) -> Iterator[tuple[int, int]]:
        """Starts and lengths of chunks, aiming at a steady fraction of a second."""
        count = 1
        while done < total:
            count = self._agree(min(count, total - done, room))
            if self._stops:
                return
            started = time.monotonic()
            yield done, count
            done += count
            pace = _CHUNK_SECONDS / max(time.monotonic() - started, 1e-6)
            count = max(1, int(count * min(pace, 8.0)))
            self._save()

    def _agree(self, count: int = 1) -> int:
        """Stop if any process was asked to; the first decides on chunks and saves."""
        stopping, wants = self._shared.stopping, self._chains[0].wants_saving
        answers = gathered(count, int(stopping.is_set()), int(wants))
        if answers[:, 1].any():
            stopping.set()
        self._stops, self._saves = bool(answers[:, 1].any()), bool(answers[0, 2])
        return int(answers[0, 0])

    def _save(self, at_once: bool = False) -> None:
        if at_once or self._saves:
            self._update_chains()
            for chain in self._chains:
                chain.save()

    def _update_chains(self) -> None:
        """Give every chain its new samples, progress and state."""
        for chain, samples in zip(
            self._chains, split_by_chain(self._new, len(self._chains)), strict=True
        ):
            chain.samples.extend(samples)
            chain.progress = self._progress
        self._new = ChainSamples()
        if not self._chains[0].is_recorded:
            return
        state = self._shared.layout.on_host(self._state)
        for number, chain in enumerate(self._chains):
            if self._is_vectorised:
                chain.state = jax.tree.map(lambda a, n=number: a[n], state)
            else:
                chain.state = state

    def _start(self) -> None:
        self._state = self._first_state()
        self._state = self._shared.layout.spread(self._state)
        plan, positions = self._shared.plan, self._positions()
        state = self._shared.layout.on_host(self._state)
        key = self._chains[0].key if plan.is_batched else None
        check_start(self._shared.target, state, positions, plan.label, key)

    def _first_state(self) -> Any:
        algorithm, starts = self._shared.algorithm, [c.start for c in self._chains]
        if starts[0] is None or not isinstance(algorithm, StartedAlgorithm):
            begin = loop.init_many if self._is_vectorised else loop.init
            return begin(algorithm, self._keys)
        if not self._is_vectorised:
            return loop.init_at(algorithm, self._keys, starts[0])
        positions = self._shared.layout.spread(jax.tree.map(stacked, *starts))
        return loop.init_at_many(algorithm, self._keys, positions)

    def _positions(self) -> Any:
        emit = loop.emit_many if self._is_vectorised else loop.emit
        positions = emit(self._shared.algorithm, self._keys, self._state)
        return self._shared.layout.on_host(positions)

    def _check(self, numbers: Trace) -> None:
        target, label = self._shared.target, self._shared.plan.label
        key = self._chains[0].key
        check_numbers(target, self._positions(), numbers, key, label)

    def _warm_up(self, start: int, count: int) -> tuple[int, Trace]:
        move = loop.warm_up_many if self._is_vectorised else loop.warm_up
        size = _warmup_size(self._shared.plan, start, count)
        self._state, done, numbers = move(
            self._shared.algorithm, self._keys, self._state, *size
        )
        # Vectorised chains have warm-ups of equal length.
        done, numbers = self._shared.layout.on_host((done, numbers))
        return int(np.min(done)), self._cut(numbers, int(np.min(done)))

    def _draw(self, start: int, count: int) -> tuple[Any, Trace]:
        move = loop.draw_many if self._is_vectorised else loop.draw
        size = _draw_size(self._shared.plan, start, count)
        self._state, positions, numbers = move(
            self._shared.algorithm, self._keys, self._state, *size
        )
        positions, numbers = self._shared.layout.on_host((positions, numbers))
        return self._cut(positions, count), self._cut(numbers, count)

    def _cut(self, tree: Any, count: int) -> Any:
        """The first `count` rows, with an axis of chains first."""
        with_chains = (lambda a: a) if self._is_vectorised else (lambda a: a[None])
        return jax.tree.map(lambda a: with_chains(a)[:, :count], tree)


def _warmup_size(plan: Plan, start: int, count: int) -> tuple[Any, Any, int]:
    room = min(_WARMUP_ROOM, plan.warmup)
    return np.asarray(start, np.int32), np.asarray(count, np.int32), room


def _draw_size(plan: Plan, start: int, count: int) -> tuple[Any, Any, int, int]:
    room = min(_DRAW_ROOM, plan.draws)
    index = np.asarray(plan.warmup + start, np.int32)
    return index, np.asarray(count, np.int32), room, plan.thin


def shapes(shared: Shared, key: RandomKey) -> Shapes:
    """The structure of a chain's state and samples, without running it."""
    plan, algorithm, shape_of = shared.plan, shared.algorithm, eqx.filter_eval_shape
    state, warmup = shape_of(loop.init, algorithm, key), {}
    if plan.warmup:
        size = _warmup_size(plan, 0, 0)
        state, _, warmup = shape_of(loop.warm_up, algorithm, key, state, *size)
    size = _draw_size(plan, 0, 0)
    state, *draws = shape_of(loop.draw, algorithm, key, state, *size)
    row = lambda a: jax.ShapeDtypeStruct(a.shape[1:], a.dtype)
    return Shapes(state, *jax.tree.map(row, (*draws, warmup)))


def _note(numbers: Trace) -> str:
    parts = []
    if numbers.get("temperature", np.zeros(0)).size:
        parts.append(f"temperature {numbers['temperature'].flat[-1]:.3g}")
    accepted = numbers.get("acceptance", np.zeros(0))
    if np.isfinite(accepted).any():
        parts.append(f"accepts {np.nanmean(accepted):.0%}")
    if numbers.get("divergent", np.zeros(0)).sum() > 0:
        parts.append(f"{int(numbers['divergent'].sum())} diverged")
    if not parts and numbers.get("logdensity", np.zeros(0)).size:
        parts.append(f"log density {numbers['logdensity'].flat[-1]:.5g}")
    return ", ".join(parts)
