"""Matrix products of the same shapes alone, as an upper limit of speed.

They run in one compiled loop, as the library's do. Each depends on the one before, so
the compiler can neither skip one nor hoist it out of the loop.
"""

import itertools
from typing import Any

import jax
import jax.numpy as jnp

from ocbnn.bench.timing import Run

# Too small to change a number, which the compiler does not know.
_TRACE = 1e-6


def gradient_products(
    widths: tuple[int, ...], particles: int, rows: int, times: int
) -> tuple[Run, float]:
    """The products in gradients of many networks, and their number of operations.

    Each layer has one product forwards and two backwards; the first layer has one less.
    A run returns the last inputs and every layer's last gradient, of half the sum of
    squares of a network without activations.
    """
    values, layers = _numbers(widths, particles, rows)

    def gradients(
        _: Any, state: tuple[jax.Array, list[jax.Array]]
    ) -> tuple[jax.Array, list[jax.Array]]:
        activations = [state[0]]
        for weights in layers:
            activations.append(activations[-1] @ weights)
        cotangent, layer_gradients = activations[-1], []
        for depth in reversed(range(len(layers))):
            layer_gradients.insert(0, activations[depth].mT @ cotangent)
            cotangent = cotangent @ layers[depth].mT if depth else cotangent
        return _next(state[0], activations[-1]), layer_gradients

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
    """The products in forward passes of many networks, and their number of operations.

    A run returns the last inputs and the last outputs.
    """
    values, layers = _numbers(widths, draws, rows)

    def one_pass(
        _: Any, state: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        activations = state[0]
        for weights in layers:
            activations = activations @ weights
        return _next(state[0], activations), activations

    run = jax.jit(lambda start: jax.lax.fori_loop(0, times, one_pass, start))
    start = (values, jnp.zeros((draws, rows, widths[-1])))
    flops = 2.0 * sum(a * b for a, b in itertools.pairwise(widths))
    return lambda: run(start), flops * times * draws * rows


def _numbers(
    widths: tuple[int, ...], networks: int, rows: int
) -> tuple[jax.Array, list[jax.Array]]:
    """Random inputs, and layers that keep the scale of what passes through them."""
    key_values, *keys = jax.random.split(jax.random.key(0), len(widths))
    values = jax.random.normal(key_values, (networks, rows, widths[0]))
    layers = [
        jax.random.normal(key, (networks, a, b)) / jnp.sqrt(a)
        for key, (a, b) in zip(keys, itertools.pairwise(widths), strict=True)
    ]
    return values, layers


def _next(values: jax.Array, outputs: jax.Array) -> jax.Array:
    # Every product depends on the inputs, which are the smallest arrays.
    return values + _TRACE * outputs[..., :1]
