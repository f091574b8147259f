"""One function at many positions, as many at a time as a processor's cache holds."""

from collections.abc import Callable
from typing import Any

import jax

from ocbnn.core.accelerated import is_accelerated
from ocbnn.core.operations import largest_array

# Numbers of the largest array that a group of positions makes. All 50 particles of a
# network with 200 units and 4096 rows at once took 1.4 times as long as one by one; ten
# at a time were the best of those with 512 rows (docs/performance.md).
_ROOM = 1_200_000


def in_groups(function: Callable[..., Any], *stacked: Any) -> Any:
    """`jax.vmap(function)(*stacked)`, in equal groups where all would be too many.

    An accelerator, and several devices that share the positions, have all at once. So
    has a function that asks Python for rows in a file: it asks once.
    """
    count = jax.tree.leaves(stacked)[0].shape[0]
    if is_accelerated() or jax.device_count() > 1:
        return jax.vmap(function)(*stacked)
    one = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[1:], a.dtype), stacked)
    largest = largest_array(function, *one)
    if largest is None or largest * count <= _ROOM:
        return jax.vmap(function)(*stacked)
    fitting = max(1, _ROOM // largest)
    group = max(n for n in range(1, fitting + 1) if count % n == 0)
    return jax.lax.map(lambda some: function(*some), stacked, batch_size=group)
