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
    """All numbers of a question, in double precision."""

    weights: tuple[Layer, ...]  # with a leading axis of draws
    functionals: Functionals
    x_mean: Float[Array, " inputs"]
    x_rest: Float[Array, " inputs"]
    x_scale: Float[Array, " inputs"]
    y_scale: Float[Array, " outputs"]


def question_arrays(
    network: MLP, weights: Any, units: Units | None, table: Table
) -> QuestionArrays:
    """Draws of a network, and the functionals of their outputs to bound."""
    own_units = units or Units.plain(network.inputs, network.outputs)
    double = lambda a: jnp.asarray(a, jnp.float64)
    return QuestionArrays(
        jax.tree.map(double, weights),
        table.standard(own_units),
        *map(
            double,
            (own_units.x_mean, own_units.x_rest, own_units.x_scale, own_units.y_scale),
        ),
    )


def standard(arrays: QuestionArrays, x: Array) -> Array:
    """An input in the network's own units."""
    return ((x - arrays.x_mean) - arrays.x_rest) / arrays.x_scale


def forward(weights: tuple[Layer, ...], shape: Shape, x: Array) -> Array:
    """One draw's outputs at one input, both in the network's own units."""
    *inner, last = weights
    for layer in inner:
        x = shape.function(x @ layer.weight + layer.bias)
    return x @ last.weight + last.bias
