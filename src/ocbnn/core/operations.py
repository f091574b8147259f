"""Counting what a function computes, without running or compiling it."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np


def count_operations(function: Callable[..., Any], *args: Any) -> float:
    """Arithmetic operations; a matrix product counts two per multiply-add.

    A loop counts as one iteration, and a conditional as all of its branches.

    >>> x = jax.ShapeDtypeStruct((3, 4), "float32")
    >>> count_operations(lambda x: x @ x.T + 1.0, x)
    81.0
    """
    return _operations(jax.make_jaxpr(function)(*args).jaxpr)


def largest_array(function: Callable[..., Any], *args: Any) -> int | None:
    """The size of the largest intermediate array; None if there is a Python callback.

    >>> x = jax.ShapeDtypeStruct((3, 4), "float32")
    >>> largest_array(lambda x: (x.T @ x).sum(), x)
    16
    """
    steps = list(_steps(jax.make_jaxpr(function)(*args).jaxpr))
    if any(step.primitive.name.endswith("callback") for step in steps):
        return None
    return max((out.aval.size for step in steps for out in step.outvars), default=0)


def _steps(jaxpr: Any) -> Iterator[Any]:
    for step in jaxpr.eqns:
        yield step
        for part in _inner(step):
            yield from _steps(part)


def _operations(jaxpr: Any) -> float:
    total = 0.0
    for step in jaxpr.eqns:
        inner = _inner(step)
        if inner:
            total += sum(map(_operations, inner))
        elif step.primitive.name == "dot_general":
            (contracted, _), _ = step.params["dimension_numbers"]
            shape = step.invars[0].aval.shape
            depth = np.prod([shape[axis] for axis in contracted])
            total += 2.0 * float(depth) * step.outvars[0].aval.size
        elif step.primitive.name not in _MOVES:
            total += float(max(out.aval.size for out in step.outvars))
    return total


def _inner(step: Any) -> list[Any]:
    return [part for value in step.params.values() for part in _jaxprs(value)]


def _jaxprs(value: Any) -> list[Any]:
    if hasattr(value, "eqns"):
        return [value]
    if hasattr(value, "jaxpr"):
        return [value.jaxpr]
    if isinstance(value, (tuple, list)):
        return [part for item in value for part in _jaxprs(item)]
    return []


# Primitives that only move data.
_MOVES = frozenset(
    [
        "broadcast_in_dim",
        "concatenate",
        "convert_element_type",
        "copy",
        "iota",
        "pad",
        "reshape",
        "slice",
        "squeeze",
        "transpose",
    ]
)
