"""The few types that every room shares."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from jaxtyping import Array, Float, Int, Key

# All weights as a pytree of arrays. Nothing outside a network may assume its structure.
Position: TypeAlias = Any
RandomKey: TypeAlias = Key[Array, ""]
Scalar: TypeAlias = Float[Array, ""]
Input: TypeAlias = Float[Array, " inputs"]
Inputs: TypeAlias = Float[Array, "rows inputs"]
Output: TypeAlias = Float[Array, " outputs"]
Outputs: TypeAlias = Float[Array, "rows outputs"]
# Regression targets, or class numbers.
Targets: TypeAlias = Float[Array, "rows outputs"] | Int[Array, " rows"]
Function: TypeAlias = Callable[[Input], Output]


class Site(NamedTuple):
    """One input, the function, and its value there.

    The value is carried along because data and points share one forward pass; the
    function is there for claims that look around the point (slopes, curvature).
    """

    x: Input
    y: Output
    function: Function
