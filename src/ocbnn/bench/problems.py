"""Targets of given sizes with random data, as speed does not depend on values."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.networks import MLP
from ocbnn.posterior import Categorical, GaussianNoise, Target
from ocbnn.priors import WeightPrior, make_term
from ocbnn.rules import Schema, bind, parse_rule

POINTS = 50


def weights_in(widths: tuple[int, ...]) -> int:
    """The number of weights without biases: those that take part in products.

    >>> weights_in((9, 200, 200, 2))
    42200
    """
    return sum(a * b for a, b in itertools.pairwise(widths))


def step_flops(widths: tuple[int, ...], particles: int, rows: int) -> float:
    """Useful operations of one gradient of many networks: six per weight and row."""
    return 6.0 * weights_in(widths) * particles * rows


def target(
    widths: tuple[int, ...],
    rows: int,
    *,
    activation: str,
    batch_size: int | None = None,
    is_classification: bool = False,
    rules: int = 1,
    points: int = POINTS,
) -> Target:
    """A target with random inputs and outputs, and rules about its first output."""
    rng = np.random.default_rng(0)
    inputs, *hidden, outputs = widths
    names = tuple(f"x{i}" for i in range(inputs))
    X = jnp.asarray(rng.standard_normal((rows, inputs)), float)
    if is_classification:
        schema = Schema(names, ("y",), tuple(f"c{i}" for i in range(outputs)))
        claims = ["y in {c0}"] * rules
        Y = jnp.asarray(rng.integers(0, outputs, rows), jnp.int32)
        likelihood = Categorical()
    else:
        schema = Schema(names, tuple(f"y{i}" for i in range(outputs)))
        claims = _mixed(rules)
        Y = jnp.asarray(rng.standard_normal((rows, outputs)), float)
        likelihood = GaussianNoise.fixed(0.1, outputs)
    box = " and ".join(f"-1 <= {name} <= 1" for name in names)
    texts = [f"if {box} then {claim} [points={points}]" for claim in claims]
    keys = jax.random.split(jax.random.key(0), max(1, rules))
    terms = tuple(
        make_term(bind(parse_rule(text), schema), key)
        for text, key in zip(texts, keys, strict=False)
    )
    network = MLP(inputs, tuple(hidden), outputs, activation)
    prior = WeightPrior("fan-in")
    return Target(network, prior, likelihood, terms, X, Y, None, batch_size)


def _mixed(count: int) -> list[str]:
    """Claims of several kinds, no two alike."""
    kinds = ("y0 >= {}", "not ({} <= y0 <= 5)", "y0 ~ Normal({}, 1)")
    return [kinds[i % len(kinds)].format(-1 - i / 10) for i in range(count)]
