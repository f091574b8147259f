"""A chain on disk: its state and its samples.

A chain appends its new samples as a numbered block and then replaces its
`state.ocbnn`, which says how many blocks belong to it. Each file is written atomically,
and the state comes last, so a process may be killed at any moment and the chain can
continue from what is on disk. The cost of a save does not grow with the run.

Each chain is saved in its own thread, between two chunks. There its state does not
change, no data are passed between threads, and no chain waits for another.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ocbnn.errors import CheckpointError, StorageError
from ocbnn.inference.chain_samples import ChainSamples, join, length
from ocbnn.inference.checkpoint import Checkpoint
from ocbnn.inference.packing import pack, unpack
from ocbnn.storage import Bundle, read_bundle, write_bundle

_STATE = "state.ocbnn"


class ChainProgress(NamedTuple):
    """How many moves and draws of a chain are done."""

    warmed: int = 0  # moves of the warm-up that are done
    is_warm: bool = False
    drawn: int = 0


class Shapes(NamedTuple):
    """The structure of a chain's state, and of one row of its samples."""

    state: Any
    positions: Any
    stats: Any
    warmup: Any


class Saved(NamedTuple):
    """What a chain continues from."""

    state: Any
    progress: ChainProgress
    samples: ChainSamples


class ChainRecord:
    """One chain's folder."""

    def __init__(self, checkpoint: Checkpoint, number: int) -> None:
        self._checkpoint = checkpoint
        self._folder = checkpoint.folder.path / f"chain-{number}"
        self._blocks = 0  # blocks that the state on disk refers to
        self._draws = self._moves = 0  # how many samples are in them
        self._tried = time.monotonic()

    def is_due(self) -> bool:
        """Whether the last attempt was long enough ago."""
        return time.monotonic() - self._tried >= self._checkpoint.every

    def save(self, state: Any, progress: ChainProgress, samples: ChainSamples) -> None:
        """Save; on failure, record the error and keep everything in memory."""
        if not self._checkpoint.is_writer:
            return
        try:
            self._checkpoint.prepare(self._folder)
            self._write(state, progress, samples)
            self._checkpoint.mark_saved(self._folder)
        except (CheckpointError, StorageError) as error:
            self._checkpoint.mark_failed(self._folder, error)
        self._tried = time.monotonic()

    def load(self, shapes: Callable[[], Shapes]) -> Saved | None:
        """Load what was saved; None if nothing was.

        Raises
        ------
        CheckpointError
            When a file is missing, damaged or of another run.
        """
        if not (self._folder / _STATE).exists():
            return None
        try:
            return self._read(shapes())
        except StorageError as error:
            raise CheckpointError(
                f"the run in {self._checkpoint.folder.path} cannot go on: {error} "
                "Remove the folder to start again, or take it from a backup."
            ) from error

    def _write(
        self, state: Any, progress: ChainProgress, samples: ChainSamples
    ) -> None:
        blocks = self._blocks
        draws = samples.positions[self._draws :], samples.stats[self._draws :]
        moves = samples.warmup[self._moves :]
        if draws[0] or moves:
            write_bundle(self._block(blocks), *_packed_block(*draws, moves))
            blocks += 1
        document = {
            **progress._asdict(),
            "blocks": blocks,
            "seconds": self._checkpoint.seconds,
        }
        write_bundle(self._folder / _STATE, document, pack("state", state))
        self._blocks = blocks
        self._draws, self._moves = len(samples.positions), len(samples.warmup)

    def _read(self, shapes: Shapes) -> Saved:
        bundle = read_bundle(self._folder / _STATE)
        progress, blocks, seconds = _read_progress(bundle)
        samples = ChainSamples()
        for number in range(blocks):
            _unpack_block(read_bundle(self._block(number)), shapes, samples)
        moves = sum(map(length, samples.warmup))
        if (samples.draws, moves) != (progress.drawn, progress.warmed):
            raise StorageError(
                f"{self._folder} holds {samples.draws} draws and {moves} moves of the "
                f"warm-up, but its state says {progress.drawn} and {progress.warmed}."
            )
        state = unpack("state", shapes.state, bundle.arrays)
        self._blocks = blocks
        self._draws, self._moves = len(samples.positions), len(samples.warmup)
        self._checkpoint.add_seconds(seconds)
        return Saved(jax.tree.map(jnp.asarray, state), progress, samples)

    def _block(self, number: int) -> Path:
        return self._folder / f"block-{number:06d}.ocbnn"


def _packed_block(positions: list, stats: list, warmup: list) -> tuple[dict, dict]:
    document, arrays = {}, {}
    if positions:
        document["draws"] = sum(map(length, positions))
        arrays |= pack("positions", join(positions)) | pack("stats", join(stats))
    if warmup:
        document["moves"] = sum(map(length, warmup))
        arrays |= pack("warmup", join(warmup))
    return document, arrays


def _unpack_block(block: Bundle, shapes: Shapes, samples: ChainSamples) -> None:
    if "draws" in block.document:
        rows = _count(block, "draws")
        samples.add_draws(
            unpack("positions", shapes.positions, block.arrays, rows),
            unpack("stats", shapes.stats, block.arrays, rows),
        )
    if "moves" in block.document:
        rows = _count(block, "moves")
        samples.warmup.append(unpack("warmup", shapes.warmup, block.arrays, rows))


def _read_progress(bundle: Bundle) -> tuple[ChainProgress, int, float]:
    warmed, drawn, blocks = (_count(bundle, n) for n in ("warmed", "drawn", "blocks"))
    seconds = bundle.document.get("seconds")
    if not isinstance(seconds, (int, float)):
        raise StorageError(f'"seconds" must be a number, got {seconds!r}.')
    is_warm = bundle.document.get("is_warm") is True
    return ChainProgress(warmed, is_warm, drawn), blocks, float(seconds)


def _count(bundle: Bundle, name: str) -> int:
    value = bundle.document.get(name)
    if type(value) is not int or value < 0:
        raise StorageError(
            f'"{name}" must be a whole number that is not negative, got {value!r}.'
        )
    return value
