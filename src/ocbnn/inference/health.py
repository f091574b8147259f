"""Stopping a run whose density is NaN, and naming the faulty part."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.core.types import Position, RandomKey
from ocbnn.errors import InferenceError
from ocbnn.inference.base import LogDensity
from ocbnn.inference.mcmc import Phase
from ocbnn.inference.parts import parts_without_number

# Consecutive moves that must all have diverged before the density is checked.
_MANY = 20


def _are_numbers(
    target: LogDensity, state: Any, positions: Position, key: RandomKey | None
) -> tuple[bool, bool]:
    """Whether all values are numbers, and all slopes."""
    is_phase = lambda part: isinstance(part, Phase)
    phases = [p for p in jax.tree.leaves(state, is_leaf=is_phase) if is_phase(p)]
    if phases:  # The state contains them, so nothing needs to be compiled.
        values = all(not np.isnan(phase.logdensity).any() for phase in phases)
        slopes = all(np.isfinite(phase.gradient).all() for phase in phases)
        return values, slopes
    values, slopes = _evaluated(target, positions, key)
    return bool(values), bool(slopes)


@eqx.filter_jit
def _evaluated(
    target: LogDensity, positions: Position, key: RandomKey | None
) -> tuple[Any, Any]:
    density = target.logdensity
    if key is not None:
        density = lambda position: target.stochastic_logdensity(position, key)
    values, grads = jax.vmap(jax.value_and_grad(density))(positions)
    finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(grads)]
    return ~jnp.any(jnp.isnan(values)), jnp.all(jnp.stack(finite))


def check_start(
    target: LogDensity,
    state: Any,
    positions: Position,
    algorithm: str,
    key: RandomKey | None = None,
) -> None:
    """Raise an error if the density or its slope is not a number at the start.

    With a key, an estimate is checked instead, for algorithms that use batches: all
    rows at all positions may not fit into memory.
    """
    # Finding the faulty part needs another compilation, so only if there is one.
    values_are, slopes_are = _are_numbers(target, state, positions, key)
    if not values_are:
        bad = parts_without_number(target, positions)
        raise InferenceError(
            f"{algorithm} cannot start: {_named(bad) or 'the sum of the parts'} of the "
            "log density is not a number at the starting position. Look there for a "
            "logarithm or a root of a negative number, a division by zero, or an "
            "overflow."
        )
    if not slopes_are:
        name = _faulty_slope(target, positions)
        raise InferenceError(
            f"{algorithm} cannot start: the slope of {name} of the log density is not "
            "a number at the starting position, though the density itself is. Look "
            "there for an absolute value, a root or a power at zero."
        )


def check_numbers(
    target: LogDensity,
    positions: Position,
    numbers: dict[str, np.ndarray],
    key: RandomKey,
    algorithm: str,
) -> None:
    """Raise an error when positions are NaN, or when a part around them is.

    `numbers` have an axis of chains and one of moves.

    A chain that rejects every move may just have too large a step size, which the
    verdict reports; it is stopped only if the density is at fault.
    """
    lost = any(not np.isfinite(leaf).all() for leaf in jax.tree.leaves(positions))
    lost |= bool(np.isnan(numbers.get("logdensity", np.zeros((1, 1)))[:, -1:]).any())
    divergent = numbers.get("divergent", np.zeros((1, 0)))
    stuck = divergent.shape[1] >= _MANY and bool((divergent > 0).all(axis=1).any())
    if not (lost or stuck):
        return
    part = _faulty_nearby(target, positions, key)
    if stuck and not (lost or part):
        return
    blame = (
        f"Near the last position, {part} of the log density is not a number"
        if part
        else "No single part of the density is at fault: its values grew too large"
    )
    advice = (
        "Look there for a logarithm or a root of a negative number or a division by "
        "zero."
        if part
        else "Take smaller steps or a smaller learning rate."
    )
    event = (
        "reached a position where the density is not a number"
        if lost
        else "accepted none of its last moves"
    )
    raise InferenceError(f"{algorithm} {event}. {blame}. {advice}")


def _named(names: list[str]) -> str:
    return " and ".join(f"the part «{name}»" for name in names)


def _faulty_slope(target: LogDensity, positions: Position) -> str:
    position = jax.tree.map(lambda a: a[0], positions)
    for name in target.parts(position):
        grads = jax.grad(lambda p, name=name: target.parts(p)[name])(position)
        if not all(bool(jnp.isfinite(g).all()) for g in jax.tree.leaves(grads)):
            return _named([name])
    return "some part"


def _faulty_nearby(target: LogDensity, positions: Position, key: RandomKey) -> str:
    """The parts that are not a number near the given positions; empty if none is."""
    for scale in (0.0, 0.01, 0.1, 1.0):
        noise = jax.tree.map(
            lambda a, s=scale: (
                jnp.nan_to_num(a) + s * jax.random.normal(key, a.shape, a.dtype)
            ),
            positions,
        )
        bad = parts_without_number(target, noise)
        if bad:
            return _named(bad)
    return ""
