"""Random small networks as draws, and their values in double precision."""

import itertools

import numpy as np

from ocbnn.networks import MLP
from ocbnn.networks.mlp import Layer
from tests.reference import mlp


def random_draws(rng, widths, count, scale=1.0):
    """Weights of `count` networks, with a leading axis of draws."""
    return tuple(
        Layer(
            (scale * rng.standard_normal((count, into, out))).astype(np.float32),
            (scale * rng.standard_normal((count, out))).astype(np.float32),
        )
        for into, out in itertools.pairwise(widths)
    )


def network(widths, activation):
    return MLP(widths[0], widths[1:-1], widths[-1], activation)


def values(draws, number, X, activation):
    """One draw's outputs at the rows of X."""
    layers = [(layer.weight[number], layer.bias[number]) for layer in draws]
    return mlp(layers, X, activation)
