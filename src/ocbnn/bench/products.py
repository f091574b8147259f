"""The ceiling: matrix products of the same shapes, and nothing else.

They run in one compiled loop, as the library's do, and hand their results on, so that
a compiler can neither leave one out nor compute it once for all.
"""

import itertools
from typing import Any

import jax
import jax.numpy as jnp

from ocbnn.bench.timing import Run

# Too little to change a number, and a compiler does not know.
_TRACE = 1e-6


def gradient_products(
    widths: tuple[int, ...], particles: int, rows: int, times: int
) -> tuple[Run, float]:
    """Products of gradients of many networks, and how many operations they are.

    For each layer one product forwards and two backwards; the first layer has no slope
    to hand down. A run gives the last inputs and the last gradient of every layer: of
    half the sum of squares of a network without activations.
    """
    values, layers = _numbers(widths, particles, rows)

    def gradients(
        _: Any, state: tuple[jax.Array, list[jax.Array]]
    ) -> tuple[jax.Array, list[jax.Array]]:
        passed = [state[0]]
        for weights in layers:
            passed.append(passed[-1] @ weights)
        slope, found = passed[-1], []
        for depth in reversed(range(len(layers))):
            found.insert(0, passed[depth].mT @ slope)
            slope = slope @ layers[depth].mT if depth else slope
        return _next(state[0], passed[-1]), found

    run = jax.jit(lambda start: jax.lax.fori_loop(0, times, gradients, start))
    counts = [
        (3 if depth else 2) * a * b
        for depth, (a, b) in enumerate(itertools.pairwise(widths))
    ]
    start = (values, [jnp.zeros_like(weights) for weights in layers])
    return lambda: run(start), 2.0 * times * particles * rows * sum(counts)


def forward_products(
    widths: tuple[int, ...], draws: int, rows: int, times: int
) -> tuple[Run, float]:
    """Products of passes through many networks, and how many operations they are.

    A run gives the last inputs and what became of them.
    """
    values, layers = _numbers(widths, draws, rows)

    def one_pass(
        _: Any, state: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        passed = state[0]
        for weights in layers:
            passed = passed @ weights
        return _next(state[0], passed), passed

    run = jax.jit(lambda start: jax.lax.fori_loop(0, times, one_pass, start))
    start = (values, jnp.zeros((draws, rows, widths[-1])))
    flops = 2.0 * sum(a * b for a, b in itertools.pairwise(widths))
    return lambda: run(start), flops * times * draws * rows


def _numbers(
    widths: tuple[int, ...], networks: int, rows: int
) -> tuple[jax.Array, list[jax.Array]]:
    """Inputs, and layers that neither raise nor lower what passes through them."""
    key_values, *keys = jax.random.split(jax.random.key(0), len(widths))
    values = jax.random.normal(key_values, (networks, rows, widths[0]))
    layers = [
        jax.random.normal(key, (networks, a, b)) / jnp.sqrt(a)
        for key, (a, b) in zip(keys, itertools.pairwise(widths), strict=True)
    ]
    return values, layers


def _next(values: jax.Array, outputs: jax.Array) -> jax.Array:
    # The inputs are the smallest numbers that all products depend on.
    return values + _TRACE * outputs[..., :1]
