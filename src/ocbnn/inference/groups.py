"""Vectorising a function over positions, in groups that fit a processor's cache."""

from collections.abc import Callable
from typing import Any

import jax

from ocbnn.core.accelerated import is_accelerated
from ocbnn.core.operations import largest_array

# The limit on the numbers in a group's largest array. For a network with 200 units and
# 4096 rows, all 50 particles at once took 1.4 times as long as one by one; with 512
# rows, ten at a time were fastest (docs/performance.md).
_ROOM = 1_200_000


def in_groups(function: Callable[..., Any], *stacked: Any) -> Any:
    """`jax.vmap(function)(*stacked)`, in equal groups where all would be too many.

    On an accelerator or several devices, all positions are computed at once. So are
    functions that call Python to read rows of a file, so that they read only once.
    """
    count = jax.tree.leaves(stacked)[0].shape[0]
    if is_accelerated() or jax.device_count() > 1:
        return jax.vmap(function)(*stacked)
    shapes = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[1:], a.dtype), stacked)
    largest = largest_array(function, *shapes)
    if largest is None or largest * count <= _ROOM:
        return jax.vmap(function)(*stacked)
    fitting = max(1, _ROOM // largest)
    group = max(n for n in range(1, fitting + 1) if count % n == 0)
    return jax.lax.map(
        lambda group_of_positions: function(*group_of_positions),
        stacked,
        batch_size=group,
    )
