"""The one driver: chains over cores, warm-up, thinning, progress, and a safe Ctrl-C.

Chains are independent and run in threads, one per core: compiled code leaves Python's
lock alone, so two chains on two cores take no longer than one. Each thread advances its
chain by chunks that take a fraction of a second, long enough to hide the cost of
leaving compiled code and short enough to report and to stop.
"""

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.core.types import RandomKey
from ocbnn.inference import loop
from ocbnn.inference.base import Algorithm, LogDensity, Plan
from ocbnn.inference.draws import Draws, Trace
from ocbnn.inference.health import check_numbers, check_start
from ocbnn.inference.progress import Reporter, make_reporter

_CHUNK_SECONDS = 0.2
_WARMUP_ROOM = 1024
_DRAW_ROOM = 128


def sample(
    plan: Plan,
    target: LogDensity,
    key: RandomKey,
    *,
    progress: object = False,
    label: str | None = None,
    threads: int | None = None,
) -> Draws:
    """Run a plan on a log density.

    Args:
        plan: The algorithm's settings and how long to run it.
        target: The log density.
        key: Decides every random number of the run.
        progress: True, False, "auto" or a reporter.
        label: What to call the run in progress reports.
        threads: How many chains run at the same time; one per core when left out.

    Returns:
        The draws. After Ctrl-C, those drawn until then.

    Raises:
        InferenceError: When the density is not a number, naming the part at fault.
        KeyboardInterrupt: When stopped before anything was drawn.
    """
    started = time.monotonic()
    with make_reporter(progress) as reporter:
        moves = plan.chains * (plan.warmup + plan.draws)
        reporter.begin(label or plan.label, moves if plan.is_counted else None)
        run = _Run(plan, plan.bind(target), target, reporter)
        chains = [_Chain(run, one) for one in jax.random.split(key, plan.chains)]
        run.all(chains, threads or _cores())
        stopped = run.stopping.is_set()
        reporter.finish("stopped by Ctrl-C" if stopped else "done")
    positions, stats, warmup = _rectangle(chains)
    seconds = time.monotonic() - started
    return Draws(positions, stats, warmup, plan, seconds, stopped)


class _Run:
    """What the chains of one run share."""

    def __init__(
        self, plan: Plan, algorithm: Algorithm, target: LogDensity, reporter: Reporter
    ) -> None:
        self.plan, self.algorithm, self.target = plan, algorithm, target
        self.reporter = reporter
        self.stopping = threading.Event()
        # JAX keeps its precision per thread; workers must share this thread's.
        self.double = bool(jax.config.read("jax_enable_x64"))

    def all(self, chains: list["_Chain"], threads: int) -> None:
        """Run every chain to its end, or to Ctrl-C."""
        chains[0].compile()
        with ThreadPoolExecutor(min(threads, len(chains))) as pool:
            futures = [pool.submit(chain.run) for chain in chains]
            try:
                _wait(futures)
            except KeyboardInterrupt:
                self.stopping.set()
                self.reporter.advance(0, "stopping")
                _wait(futures)
            except BaseException:
                self.stopping.set()
                raise


class _Chain:
    """One chain: its state, and what it has kept so far."""

    def __init__(self, run: _Run, key: RandomKey) -> None:
        self._run, self._key = run, key
        self._state: Any = None
        self.positions: list[Any] = []
        self.stats: list[Trace] = []
        self.warmup: list[Trace] = []

    def compile(self) -> None:
        """Compile by taking no step, so that threads find the code ready."""
        self._start()
        if self._run.plan.warmup:
            self._warm_up(0, 0)
        self._draw(0, 0)

    def run(self) -> None:
        """Warm up, then draw."""
        plan, reporter = self._run.plan, self._run.reporter
        with jax.enable_x64(self._run.double):
            if self._run.stopping.is_set():
                return
            if self._state is None:
                self._start()
            for start, count in self._chunks(plan.warmup, _WARMUP_ROOM):
                done, numbers = self._warm_up(start, count)
                self.warmup.append(numbers)
                self._check(numbers)
                reporter.advance(done, _note(numbers))
                if done < count:
                    reporter.advance(plan.warmup - start - done, "warm-up is done")
                    break
            if self._run.stopping.is_set() and plan.is_anytime:
                positions, numbers = self._draw(0, 1)
                self.positions.append(positions)
                self.stats.append(numbers)
                return
            for start, count in self._chunks(plan.draws, _DRAW_ROOM):
                positions, numbers = self._draw(start, count)
                self.positions.append(positions)
                self.stats.append(numbers)
                self._check(numbers)
                reporter.advance(count, _note(numbers))

    def _start(self) -> None:
        self._state = loop.init(self._run.algorithm, self._key)
        check_start(self._run.target, self._positions(), self._run.plan.label)

    def _positions(self) -> Any:
        return loop.emit(self._run.algorithm, self._key, self._state)

    def _check(self, numbers: Trace) -> None:
        label = self._run.plan.label
        check_numbers(self._run.target, self._positions(), numbers, self._key, label)

    def _chunks(self, total: int, room: int) -> Iterator[tuple[int, int]]:
        """Starts and lengths of chunks, aiming at a steady fraction of a second."""
        done, count = 0, 1
        while done < total and not self._run.stopping.is_set():
            count = min(count, total - done, room)
            started = time.monotonic()
            yield done, count
            done += count
            pace = _CHUNK_SECONDS / max(time.monotonic() - started, 1e-6)
            count = max(1, int(count * min(pace, 8.0)))

    def _warm_up(self, start: int, count: int) -> tuple[int, Trace]:
        room = min(_WARMUP_ROOM, self._run.plan.warmup)
        self._state, done, numbers = loop.warm_up(
            self._run.algorithm,
            self._key,
            self._state,
            jnp.asarray(start, jnp.int32),
            jnp.asarray(count, jnp.int32),
            room,
        )
        return int(done), _cut(numbers, int(done))

    def _draw(self, start: int, count: int) -> tuple[Any, Trace]:
        plan = self._run.plan
        self._state, positions, numbers = loop.draw(
            self._run.algorithm,
            self._key,
            self._state,
            jnp.asarray(plan.warmup + start, jnp.int32),
            jnp.asarray(count, jnp.int32),
            min(_DRAW_ROOM, plan.draws),
            plan.thin,
        )
        return _cut(positions, count), _cut(numbers, count)


def _cut(tree: Any, count: int) -> Any:
    return jax.tree.map(lambda a: np.asarray(a)[:count], tree)


def _wait(futures: list[Future[None]]) -> None:
    # Short waits, because a blocked main thread does not hear Ctrl-C everywhere.
    pending = set(futures)
    while pending:
        finished, pending = wait(pending, timeout=0.1)
        for future in finished:
            future.result()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _note(numbers: Trace) -> str:
    parts = []
    if numbers.get("temperature", np.zeros(0)).size:
        parts.append(f"temperature {numbers['temperature'][-1]:.3g}")
    if numbers.get("acceptance", np.zeros(0)).size:
        parts.append(f"accepts {np.nanmean(numbers['acceptance']):.0%}")
    if numbers.get("divergent", np.zeros(0)).sum() > 0:
        parts.append(f"{int(numbers['divergent'].sum())} diverged")
    if not parts and numbers.get("logdensity", np.zeros(0)).size:
        parts.append(f"log density {numbers['logdensity'][-1]:.5g}")
    return ", ".join(parts)


def _rectangle(chains: list[_Chain]) -> tuple[Any, Trace, Trace]:
    """Chains as one array, keeping as many draws as a rectangle can hold."""
    lengths = [sum(_length(block) for block in chain.positions) for chain in chains]
    draws = max(set(lengths), key=lambda n: n * sum(length >= n for length in lengths))
    if draws == 0:
        raise KeyboardInterrupt("stopped before anything was drawn")
    whole = [c for c, length in zip(chains, lengths, strict=True) if length >= draws]
    positions = _stack([_join(c.positions, draws) for c in whole])
    # Emissions of several positions each are draws like any other.
    positions = jax.tree.map(
        lambda a: a.reshape(a.shape[0], a.shape[1] * a.shape[2], *a.shape[3:]),
        positions,
    )
    stats = _stack([_join(c.stats, draws) for c in whole])
    return positions, stats, _stack_ragged([c.warmup for c in whole])


def _length(block: Any) -> int:
    return jax.tree.leaves(block)[0].shape[0]


def _join(blocks: list[Any], count: int) -> Any:
    return jax.tree.map(lambda *a: np.concatenate(a)[:count], *blocks)


def _stack(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *a: np.stack(a), *trees)


def _stack_ragged(warmups: list[list[Trace]]) -> Trace:
    """Warm-ups may end at different moves; the shorter repeat their last number."""
    if not all(warmups):
        return {}
    joined = [{k: np.concatenate([b[k] for b in w]) for k in w[0]} for w in warmups]
    longest = max(len(next(iter(one.values()))) for one in joined)
    pad = lambda a: np.concatenate([a, np.repeat(a[-1:], longest - len(a))])
    return {k: np.stack([pad(one[k]) for one in joined]) for k in joined[0]}
