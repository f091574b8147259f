"""The ceiling: matrix products of the same shapes, and nothing else."""

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def gradient_products(
    widths: tuple[int, ...], particles: int, rows: int
) -> tuple[Callable[[], Any], float]:
    """Products of a gradient of many networks, and how many operations they are.

    For each layer one product forwards and two backwards; the first layer has no slope
    to hand down.
    """
    pairs = list(itertools.pairwise(widths))
    keys = iter(jax.random.split(jax.random.key(0), 3 * len(pairs)))
    normal = lambda *shape: jax.random.normal(next(keys), (particles, *shape))
    layers = [(normal(rows, a), normal(a, b), normal(rows, b)) for a, b in pairs]

    @jax.jit
    def products(layers: list[tuple[jax.Array, ...]]) -> list[jax.Array]:
        made = []
        for depth, (values, weights, slopes) in enumerate(layers):
            made += [values @ weights, values.mT @ slopes]
            made += [slopes @ weights.mT] if depth else []
        return made

    counts = [(3 if depth else 2) * a * b for depth, (a, b) in enumerate(pairs)]
    return lambda: products(layers), 2.0 * particles * rows * sum(counts)


def forward_products(
    widths: tuple[int, ...], draws: int, rows: int
) -> tuple[Callable[[], Any], float]:
    """Products of one pass through many networks, and how many operations they are."""
    pairs = list(itertools.pairwise(widths))
    keys = iter(jax.random.split(jax.random.key(0), 2 * len(pairs)))
    normal = lambda *shape: jax.random.normal(next(keys), (draws, *shape))
    layers = [(normal(rows, a), normal(a, b)) for a, b in pairs]

    @jax.jit
    def products(layers: list[tuple[jax.Array, ...]]) -> list[jax.Array]:
        return [jnp.matmul(values, weights) for values, weights in layers]

    flops = 2.0 * draws * rows * sum(a * b for a, b in pairs)
    return lambda: products(layers), flops
