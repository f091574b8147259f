"""The samples of each chain, and their join to one table of all chains."""

import dataclasses
from typing import Any

import jax
import numpy as np

from ocbnn.inference.draws import Trace


@dataclasses.dataclass(frozen=True)
class ChainSamples:
    """The samples of one chain so far, in blocks."""

    positions: list[Any] = dataclasses.field(default_factory=list)
    stats: list[Trace] = dataclasses.field(default_factory=list)
    warmup: list[Trace] = dataclasses.field(default_factory=list)

    @property
    def draws(self) -> int:
        """The number of draws."""
        return sum(length(block) for block in self.positions)

    def add_draws(self, positions: Any, numbers: Trace) -> None:
        """Append draws, and the numbers about the moves that led to them."""
        self.positions.append(positions)
        self.stats.append(numbers)

    def extend(self, other: "ChainSamples") -> None:
        """Append the samples of another chain."""
        self.positions.extend(other.positions)
        self.stats.extend(other.stats)
        self.warmup.extend(other.warmup)


def split_by_chain(combined: ChainSamples, count: int) -> list[ChainSamples]:
    """Split blocks whose first axis is that of chains into one sample per chain."""
    join_draws = lambda *a: np.concatenate(a, axis=1)
    joined = [
        [jax.tree.map(join_draws, *blocks)] if blocks else []
        for blocks in (combined.positions, combined.stats, combined.warmup)
    ]
    of = lambda blocks, n: [jax.tree.map(lambda a: a[n], block) for block in blocks]
    return [ChainSamples(*(of(blocks, n) for blocks in joined)) for n in range(count)]


def rectangle(chains: list[ChainSamples]) -> tuple[Any, Trace, Trace] | None:
    """Positions, stats and warm-up of all chains; None if there is no draw.

    After an interruption, chains differ in length. Short chains are dropped and long
    ones cut so that as many draws as possible are kept.
    """
    lengths = [chain.draws for chain in chains]
    draws = max(set(lengths), key=lambda n: n * sum(length >= n for length in lengths))
    if draws == 0:
        return None
    complete = [c for c, length in zip(chains, lengths, strict=True) if length >= draws]
    positions = _stack([_take(c.positions, draws) for c in complete])
    # A state may emit several positions; each is a draw.
    positions = jax.tree.map(
        lambda a: a.reshape(a.shape[0], a.shape[1] * a.shape[2], *a.shape[3:]),
        positions,
    )
    stats = _stack([_take(c.stats, draws) for c in complete])
    return positions, stats, _stack_ragged([c.warmup for c in complete])


def length(block: Any) -> int:
    """The number of draws or moves in a block."""
    return jax.tree.leaves(block)[0].shape[0]


def join(blocks: list[Any]) -> Any:
    """Concatenate blocks."""
    return jax.tree.map(lambda *a: np.concatenate(a), *blocks)


def _take(blocks: list[Any], count: int) -> Any:
    return jax.tree.map(lambda a: a[:count], join(blocks))


def _stack(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *a: np.stack(a), *trees)


def _stack_ragged(warmups: list[list[Trace]]) -> Trace:
    """Warm-ups may end at different moves; the shorter repeat their last number."""
    if not all(warmups):
        return {}
    joined = [join(blocks) for blocks in warmups]
    longest = max(length(trace) for trace in joined)
    pad = lambda a: np.concatenate([a, np.repeat(a[-1:], longest - len(a))])
    return {k: np.stack([pad(trace[k]) for trace in joined]) for k in joined[0]}
