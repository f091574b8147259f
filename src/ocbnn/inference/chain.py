"""One chain: where it is, what it has kept, and what of that is on disk."""

from collections.abc import Callable
from typing import Any

from ocbnn.core.types import Position, RandomKey
from ocbnn.inference.base import Plan
from ocbnn.inference.chain_samples import ChainSamples
from ocbnn.inference.record import ChainRecord, Place, Shapes


class Chain:
    """A chain's state, how far it has come, and what it has kept."""

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
        self.place = Place()
        self.kept = ChainSamples()

    def resume(self, shapes: Callable[[], Shapes]) -> None:
        """Go back to what was saved, if anything was."""
        if self._record is None:
            return
        found = self._record.load(shapes)
        if found is not None:
            self.state, self.place, self.kept = found

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to draw."""
        return self.place.drawn >= self._plan.draws

    @property
    def moves(self) -> int:
        """Moves and draws done, as progress counts them."""
        warmup = self._plan.warmup
        return (warmup if self.place.is_warm else self.place.warmed) + self.place.drawn

    @property
    def wants_saving(self) -> bool:
        """Whether it was saved long enough ago."""
        return self._record is not None and self._record.is_due()

    @property
    def is_recorded(self) -> bool:
        """Whether it is saved at all."""
        return self._record is not None

    def save(self) -> None:
        """Write down where the chain is."""
        if self._record is not None:
            self._record.save(self.state, self.place, self.kept)
