"""The few types that every room shares."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from jaxtyping import Array, Float, Int, Key

# The type of an argument, for editors and type checkers only: the function refuses
# other values itself, with a sentence that a check of types in tests would forestall.
_T = TypeVar("_T")
if TYPE_CHECKING:
    Unchecked: TypeAlias = Annotated[_T, "refused by the function itself"]
else:

    class Unchecked:
        """Any object at all."""

        def __class_getitem__(cls, _kind: object) -> type:
            return object


Whole: TypeAlias = int | np.integer
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
# The names of a table's rows.
RowNames: TypeAlias = Sequence[Any] | np.ndarray


# The inputs along which a function is differentiated, by position: `(2,)` is a slope,
# `(2, 2)` a curvature.
Along: TypeAlias = tuple[int, ...]
# Derivatives of all outputs, each laid out like the outputs themselves.
Slopes: TypeAlias = Mapping[Along, Any]
NO_SLOPES: Slopes = {}


class Site(NamedTuple):
    """One input, with the function's value and the slopes that a claim uses.

    The value is included because data and points share one forward pass.
    """

    x: Input
    y: Output
    slopes: Slopes
