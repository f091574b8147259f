"""The compiled loop: many moves in one call, whatever the algorithm.

The number of moves is an argument, not a shape, so that chunks of any length share one
compiled function. Positions and numbers are written into buffers with `room` to spare.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ocbnn.core.types import Position, RandomKey
from ocbnn.inference.base import Algorithm, StartedAlgorithm

Numbers = dict[str, Float[Array, "..."]]
Keys = Key[Array, " chains"]


@eqx.filter_jit
def init(algorithm: Algorithm, key: RandomKey) -> Any:
    """The first state of a chain."""
    return algorithm.init(key)


@eqx.filter_jit
def init_at(algorithm: StartedAlgorithm, key: RandomKey, position: Position) -> Any:
    """The first state of a chain with a given start."""
    return algorithm.init_at(key, position)


@eqx.filter_jit
def emit(algorithm: Algorithm, key: RandomKey, state: Any) -> Position:
    """The positions of a state."""
    return algorithm.emit(key, state)


@eqx.filter_jit
def init_many(algorithm: Algorithm, keys: Keys) -> Any:
    """The first states of vectorised chains, stacked along a first axis."""
    return jax.vmap(algorithm.init)(keys)


@eqx.filter_jit
def init_at_many(algorithm: StartedAlgorithm, keys: Keys, positions: Position) -> Any:
    """`init_at` for vectorised chains."""
    return jax.vmap(algorithm.init_at)(keys, positions)


@eqx.filter_jit
def emit_many(algorithm: Algorithm, keys: Keys, states: Any) -> Position:
    """The positions of vectorised chains, along one axis."""
    positions = jax.vmap(algorithm.emit)(keys, states)
    return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), positions)


@eqx.filter_jit
def warm_up_many(
    algorithm: Algorithm, keys: Keys, states: Any, *size: Any
) -> tuple[Any, Int[Array, " chains"], Numbers]:
    """`warm_up` for vectorised chains."""
    warm_up_one = lambda key, state: _warm_up(algorithm, key, state, *size)
    return jax.vmap(warm_up_one)(keys, states)


@eqx.filter_jit
def draw_many(
    algorithm: Algorithm, keys: Keys, states: Any, *size: Any
) -> tuple[Any, Position, Numbers]:
    """`draw` for vectorised chains."""
    draw_one = lambda key, state: _draw(algorithm, key, state, *size)
    return jax.vmap(draw_one)(keys, states)


def _warm_up(
    algorithm: Algorithm,
    key: RandomKey,
    state: Any,
    start: Int[Array, ""],
    count: Int[Array, ""],
    room: int,
) -> tuple[Any, Int[Array, ""], Numbers]:
    """Up to `count` moves of the warm-up, from number `start`; fewer if it is done."""

    def move(state: Any, index: Int[Array, ""]) -> tuple[Any, Numbers]:
        state, info = algorithm.warmup(jax.random.fold_in(key, index), state, index)
        return state, _numbers(info)

    def continues(carry: tuple) -> Array:
        state, done, _ = carry
        return (done < count) & ~algorithm.is_done(state)

    def body(carry: tuple) -> tuple:
        state, done, buffers = carry
        state, numbers = move(state, start + done)
        return state, done + 1, _write(buffers, numbers, done)

    buffers = _buffers(jax.eval_shape(move, state, start)[1], room)
    carry = (state, jnp.zeros_like(count), buffers)
    state, done, buffers = jax.lax.while_loop(continues, body, carry)
    return _strongly_typed(state), done, buffers


def _draw(
    algorithm: Algorithm,
    key: RandomKey,
    state: Any,
    start: Int[Array, ""],
    count: Int[Array, ""],
    room: int,
    thin: int,
) -> tuple[Any, Position, Numbers]:
    """`count` draws with `thin` moves before each."""

    def next_draw(state: Any, index: Int[Array, ""]) -> tuple[Any, Position, Numbers]:
        key_moves, key_emit = jax.random.split(jax.random.fold_in(key, index))

        def move(state: Any, key: RandomKey) -> tuple[Any, Numbers]:
            state, info = algorithm.step(key, state)
            return state, _numbers(info)

        numbers: Numbers = {}
        if thin:
            state, by_move = jax.lax.scan(
                move, state, jax.random.split(key_moves, thin)
            )
            numbers = jax.tree.map(lambda a: jnp.mean(a, axis=0), by_move)
            # A mean over thinned moves would not be the density of the kept draw.
            if "logdensity" in by_move:
                numbers["logdensity"] = by_move["logdensity"][-1]
        return state, algorithm.emit(key_emit, state), numbers

    def body(done: Int[Array, ""], carry: tuple) -> tuple:
        state, positions, buffers = carry
        state, emitted, numbers = next_draw(state, start + done)
        return state, _write(positions, emitted, done), _write(buffers, numbers, done)

    _, positions, numbers = jax.eval_shape(next_draw, state, start)
    carry = (state, _buffers(positions, room), _buffers(numbers, room))
    state, positions, buffers = jax.lax.fori_loop(0, count, body, carry)
    return _strongly_typed(state), positions, buffers


warm_up = eqx.filter_jit(_warm_up)
draw = eqx.filter_jit(_draw)


def _strongly_typed(state: Any) -> Any:
    """The state without weak types, so that a state read from disk has equal types."""
    return jax.tree.map(lambda a: jax.lax.convert_element_type(a, a.dtype), state)


def _numbers(info: Any) -> Numbers:
    kind = jnp.zeros(()).dtype
    return {name: value.astype(kind) for name, value in info._asdict().items()}


def _buffers(shapes: Any, room: int) -> Any:
    return jax.tree.map(lambda a: jnp.zeros((room, *a.shape), a.dtype), shapes)


def _write(buffers: Any, values: Any, index: Int[Array, ""]) -> Any:
    return jax.tree.map(lambda b, v: b.at[index].set(v), buffers, values)
