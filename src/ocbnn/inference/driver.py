"""The one driver: chains over cores, progress, checkpoints, and a safe Ctrl-C.

Chains are independent. On a processor they run in threads, one per core: compiled code
releases Python's global lock, so two chains on two cores take no longer than one. On an
accelerator or on several devices they are vectorised (`inference.layout`).
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

import jax
import jax.numpy as jnp

from ocbnn.core.advice import Advice, Kind
from ocbnn.core.cores import cores, single_threaded_blas
from ocbnn.core.interrupts import StopRequest, interrupts_ask
from ocbnn.core.processes import (
    is_first,
    lost_process_error,
    process_count,
    require_same,
)
from ocbnn.core.sentences import Sentence
from ocbnn.core.types import Position, RandomKey
from ocbnn.core.warn import warn
from ocbnn.errors import CheckpointWarning, SettingError
from ocbnn.inference.base import Algorithm, LogDensity, Plan, StartedAlgorithm
from ocbnn.inference.chain import Chain
from ocbnn.inference.chain_samples import rectangle
from ocbnn.inference.checkpoint import Checkpoint, open_checkpoint
from ocbnn.inference.draws import Draws
from ocbnn.inference.identity import identify
from ocbnn.inference.lane import Lane, Shared, lanes_of, shapes
from ocbnn.inference.layout import lay_out
from ocbnn.inference.progress import (
    ProgressReporter,
    is_stopping,
    make_reporter,
    resume,
)
from ocbnn.inference.record import ChainRecord


def sample(
    plan: Plan,
    target: LogDensity,
    key: RandomKey,
    *,
    progress: object = False,
    label: str | None = None,
    threads: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 30.0,
    devices: object = None,
    starts: Position | None = None,
) -> Draws:
    """Run a plan on a log density.

    Parameters
    ----------
    plan
        The algorithm's settings and how long to run it.
    target
        The log density.
    key
        The random key, which determines all random numbers of the run.
    progress
        True, False, "auto" or a reporter.
    label
        The name of the run in progress reports.
    threads
        How many chains run at the same time; by default, one per core.
    checkpoint
        A folder to save the run in. If it holds the same run,
        unfinished, the run continues from there and ends with the same draws; if
        that run is finished, its draws are read.
    every
        Seconds between one save of a chain and the next.
    devices
        How many of JAX's devices to use, or which ones: a number, "all",
        "cpu", "gpu", or a list of them. The draws are the same within rounding.
    starts
        A position for each chain, stacked, instead of the algorithm's
        own; only for algorithms that accept a start (`can_start`).

    Returns
    -------
    Draws
        The draws. After Ctrl-C, or if a reporter asks to stop, those drawn so far.

    Raises
    ------
    InferenceError
        When the density is NaN; the message names the faulty part.
    CheckpointError
        When the folder holds another run or something else, or is in
        use, or is damaged.
    KeyboardInterrupt
        When stopped before anything was drawn.
    """
    started = time.monotonic()
    stopping = StopRequest()
    with (
        interrupts_ask(stopping),
        single_threaded_blas(),
        make_reporter(progress if is_first() else False) as reporter,
        open_checkpoint(checkpoint, every, plan, target, key, starts) as saving,
    ):
        moves = plan.chains * (plan.warmup + plan.draws)
        total = moves if plan.is_counted else None
        shared = _share(plan, target, reporter, devices, stopping)
        where = f", {shared.layout.reason}" if shared.layout.reason else ""
        reporter.begin(f"{label or plan.label}{where}", total)
        _check_starts(plan, shared.algorithm, starts)
        chains = [
            Chain(
                plan,
                chain_key,
                None if saving is None else ChainRecord(saving, number),
                jax.tree.map(lambda a, n=number: jnp.asarray(a[n]), starts),
            )
            for number, chain_key in enumerate(jax.random.split(key, plan.chains))
        ]
        _resume(chains, shared, total)
        require_same(_identity_of_run(plan, target, key, chains), "runs")
        lanes = lanes_of(shared, chains)
        was_finished = not lanes
        if lanes:
            # On a mesh, programs that communicate must run in one order everywhere.
            at_once = 1 if shared.layout.mesh else threads or cores()
            _run_all(lanes, shared, at_once, saving)
        stopped = shared.stopping.is_set()
        note = ""
        if saving is not None and not was_finished:
            note = saving.closing_note(stopped)
        reporter.finish(_ending(stopped, was_finished, note))
    arrays = rectangle([chain.samples for chain in chains])
    if arrays is None:
        raise KeyboardInterrupt(_joined("stopped before anything was drawn", note))
    if stopped and note:
        warn(f"stopped early; {note}.", CheckpointWarning)
    seconds = time.monotonic() - started
    if saving is not None:
        seconds = saving.before if was_finished else saving.before + seconds
    return Draws(*arrays, plan, seconds, stopped)


def can_start(plan: Plan, target: LogDensity) -> bool:
    """Whether the chains of a plan can be told where to start."""
    return isinstance(plan.bind(target), StartedAlgorithm)


def _check_starts(plan: Plan, algorithm: Algorithm, starts: Position | None) -> None:
    if starts is None:
        return
    if not isinstance(algorithm, StartedAlgorithm):
        raise SettingError(
            f"{plan.label} cannot be told where to start. Leave starts out, or use "
            "NUTS, HMC, MCLMC or AdjustedMCLMC."
        )
    lengths = {leaf.shape[0] for leaf in jax.tree.leaves(starts)}
    if lengths != {plan.chains}:
        raise SettingError(
            f"starts needs one position for each of {plan.chains} chains, stacked "
            f"along a first axis, got {sorted(lengths)} of them."
        )


def _share(
    plan: Plan,
    target: LogDensity,
    reporter: ProgressReporter,
    devices: object,
    stopping: StopRequest,
) -> Shared:
    double = bool(jax.config.read("jax_enable_x64"))
    layout = lay_out(plan, target, devices)
    target = layout.place(target)
    algorithm = layout.copy(plan.bind(target))
    return Shared(plan, algorithm, target, layout, reporter, stopping, double)


def _resume(chains: list[Chain], shared: Shared, total: int | None) -> None:
    """Restore every chain from its record, if it has one."""
    for chain in chains:
        chain.resume(lambda key=chain.key: shapes(shared, key))
    done = sum(chain.moves for chain in chains)
    if done:
        share = f"{100 * done // total} %" if total else f"move {done}"
        resume(shared.reporter, done, f"resumed at {share}")


def _identity_of_run(
    plan: Plan, target: LogDensity, key: RandomKey, chains: list[Chain]
) -> dict[str, str]:
    """Settings and progress that all processes of a run must share."""
    if process_count() == 1:
        return {}
    positions = [str(tuple(chain.progress)) for chain in chains]
    identity = identify(plan, target, key, probe=False)
    return identity | {"what the checkpoint holds": " ".join(positions)}


def _saved_where(saving: Checkpoint | None) -> str:
    if saving is None:
        return ""
    return (
        f"What was saved is in {saving.folder.path}: run the same again, with as many "
        "processes or devices as you like. "
    )


def _run_all(
    lanes: list[Lane],
    shared: Shared,
    threads: int,
    saving: Checkpoint | None,
) -> None:
    """Run every lane to its end, or until someone stops it."""
    is_announced = False

    def poll() -> None:
        nonlocal is_announced
        if saving is not None:
            saving.warn_once()
        if is_stopping(shared.reporter):
            shared.stopping.set()
        if shared.stopping.is_set() and not is_announced:
            is_announced = True
            shared.reporter.advance(0, "stopping")

    poll()
    if not shared.stopping.is_set():
        lanes[0].compile()
    futures: list[Future[None]] = []
    with ThreadPoolExecutor(min(threads, len(lanes))) as pool:
        try:
            futures += [pool.submit(lane.run) for lane in lanes]
            _wait(futures, poll)
        except KeyboardInterrupt:  # the second one, or from the caller's own handler
            shared.stopping.set()
            _wait(futures, poll)
        except BaseException as error:
            shared.stopping.set()
            lost = isinstance(error, Exception) and lost_process_error(
                error, _saved_where(saving)
            )
            raise lost or error from None


def _wait(futures: list[Future[None]], poll: Callable[[], None]) -> None:
    # Short waits, because on some systems a blocked main thread receives no Ctrl-C.
    pending = set(futures)
    while pending:
        finished, pending = wait(pending, timeout=0.1)
        for future in finished:
            future.result()
        poll()


def _ending(stopped: bool, was_finished: bool, note: str) -> str:
    if was_finished:
        return "was finished before; its draws are read"
    if stopped:
        saved = _joined("", note)
        return Sentence(Advice(Kind.STOPPED_EARLY, values={"saved": saved}))
    return _joined("done", note)


def _joined(first: str, second: str) -> str:
    return f"{first}; {second}" if second else first
