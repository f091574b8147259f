"""Exact slopes of a function at a point, one input column at a time."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ocbnn.core.types import Along, Function, Input, Output


def slopes_at(
    function: Function, x: Input, alongs: Sequence[Along]
) -> dict[Along, Output]:
    """Derivatives of every output along some inputs, at one point.

    One forward-mode pass for each, however many inputs the function has.

    >>> slopes = slopes_at(lambda x: x**3, jnp.array([2.0]), [(0,), (0, 0)])
    >>> {along: float(value[0]) for along, value in slopes.items()}
    {(0,): 12.0, (0, 0): 12.0}
    """
    return {
        along: functools.reduce(_differentiated, along, function)(x) for along in alongs
    }


def slope_scale(along: Along, output_scale: Any, input_scale: Any) -> Any:
    """The natural size of derivatives, from those of the outputs and the inputs.

    Both in NumPy or both in JAX.
    """
    for column in along:
        output_scale = output_scale / input_scale[column]
    return output_scale


def _differentiated(function: Function, column: int) -> Function:
    def slope(x: Input) -> Output:
        unit = jnp.zeros_like(x).at[column].set(1.0)
        return jax.jvp(function, (x,), (unit,))[1]

    return slope
