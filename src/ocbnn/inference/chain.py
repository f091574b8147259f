"""One chain: its state, its progress, its samples, and how they are saved."""

from collections.abc import Callable
from typing import Any

from ocbnn.core.types import Position, RandomKey
from ocbnn.inference.base import Plan
from ocbnn.inference.chain_samples import ChainSamples
from ocbnn.inference.record import ChainProgress, ChainRecord, Shapes


class Chain:
    """A chain's state, progress and samples."""

    def __init__(
        self,
        plan: Plan,
        key: RandomKey,
        record: ChainRecord | None = None,
        start: Position | None = None,
    ) -> None:
        self._plan, self.key, self._record = plan, key, record
        self.start = start  # None: the algorithm chooses
        self.state: Any = None
        self.progress = ChainProgress()
        self.samples = ChainSamples()

    def resume(self, shapes: Callable[[], Shapes]) -> None:
        """Restore what was saved, if anything was."""
        if self._record is None:
            return
        saved = self._record.load(shapes)
        if saved is not None:
            self.state, self.progress, self.samples = saved

    @property
    def is_finished(self) -> bool:
        """Whether all draws are done."""
        return self.progress.drawn >= self._plan.draws

    @property
    def moves(self) -> int:
        """Moves and draws done, as progress reports count them."""
        warmup = self._plan.warmup
        return (
            warmup if self.progress.is_warm else self.progress.warmed
        ) + self.progress.drawn

    @property
    def wants_saving(self) -> bool:
        """Whether it is time to save again."""
        return self._record is not None and self._record.is_due()

    @property
    def is_recorded(self) -> bool:
        """Whether it is saved to disk."""
        return self._record is not None

    def save(self) -> None:
        """Save the chain to disk."""
        if self._record is not None:
            self._record.save(self.state, self.progress, self.samples)
