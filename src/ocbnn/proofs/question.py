"""A question about draws of a network, as numbers for compiled code."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.units import Units
from ocbnn.networks import MLP
from ocbnn.networks.mlp import Layer
from ocbnn.proofs.bounds import Functionals
from ocbnn.proofs.shapes import Shape
from ocbnn.proofs.statement import Table


class QuestionArrays(NamedTuple):
    """Everything of a question that is a number, in double precision."""

    weights: tuple[Layer, ...]  # with a leading axis of draws
    functionals: Functionals
    x_mean: Float[Array, " inputs"]
    x_rest: Float[Array, " inputs"]
    x_scale: Float[Array, " inputs"]
    y_scale: Float[Array, " outputs"]


def question_arrays(
    network: MLP, weights: Any, units: Units | None, table: Table
) -> QuestionArrays:
    """Draws of a network, and what is asked about their outputs."""
    known = units or Units.plain(network.inputs, network.outputs)
    double = lambda a: jnp.asarray(a, jnp.float64)
    return QuestionArrays(
        jax.tree.map(double, weights),
        table.standard(known),
        *map(double, (known.x_mean, known.x_rest, known.x_scale, known.y_scale)),
    )


def standard(asked: QuestionArrays, x: Array) -> Array:
    """An input in the network's own units."""
    return ((x - asked.x_mean) - asked.x_rest) / asked.x_scale


def forward(weights: tuple[Layer, ...], shape: Shape, x: Array) -> Array:
    """One draw's outputs at one input, both in the network's own units."""
    *inner, last = weights
    for layer in inner:
        x = shape.function(x @ layer.weight + layer.bias)
    return x @ last.weight + last.bias
