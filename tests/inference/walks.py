"""A cheap algorithm whose state holds one of every kind of leaf, and what tests it."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.inference import Algorithm, Plan


class Walker(NamedTuple):
    position: Any
    key: Any  # typed
    raw: Any  # the same as bare numbers
    moved: Any  # bool
    moves: Any  # starts as a Python number, which is weakly typed
    half: Any  # a kind of number that files do not know
    nothing: Any = None


class WalkInfo(NamedTuple):
    logdensity: Any
    acceptance: Any


class RandomWalk(Algorithm):
    target: eqx.Module
    scale: float = 1.0

    def init(self, key):
        return Walker(
            {"here": self.target.initial(key)},
            key,
            jax.random.key_data(key),
            jnp.zeros((), bool),
            0,
            jnp.ones((3,), jnp.bfloat16),
        )

    def step(self, key, state):
        own, key_move, key_accept = jax.random.split(state.key, 3)
        here = state.position["here"]
        there = here + self.scale * jax.random.normal(key_move, here.shape)
        gain = self.target.logdensity(there) - self.target.logdensity(here)
        accept = jnp.log(jax.random.uniform(key_accept)) < gain
        here = jnp.where(accept, there, here)
        state = Walker(
            {"here": here},
            jax.random.fold_in(own, jax.random.bits(key)),
            state.raw + jax.random.key_data(key),
            ~state.moved,
            state.moves + 1,
            -state.half,
        )
        return state, WalkInfo(self.target.logdensity(here), accept)

    def emit(self, key, state):
        return state.position["here"][None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Walk(Plan):
    chains: int = 2
    warmup: int = 5
    draws: int = 6
    scale: float = 1.0

    def bind(self, target):
        return RandomWalk(target, self.scale)


class Quiet:
    """A reporter that hears everything and says nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def begin(self, label, total):
        pass

    def advance(self, count, note):
        pass

    def finish(self, note):
        pass


class CrashError(Exception):
    pass


class CrashAfter(Quiet):
    """One chain dies in the middle, with nothing saved but what was saved before."""

    def __init__(self, moves):
        self.left = moves

    def advance(self, count, note):
        before, self.left = self.left, self.left - count
        if self.left < 0 <= before:
            raise CrashError


def bits(draws):
    """Everything a run gives, as bytes."""
    tree = (draws.positions, draws.stats, draws.warmup)
    leaves, structure = jax.tree.flatten(tree)
    arrays = [(a.dtype.name, a.shape, np.asarray(a).tobytes()) for a in leaves]
    return str(structure), arrays
