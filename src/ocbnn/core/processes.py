"""Several processes that compute one thing together, on JAX's distributed runtime.

Each runs the same program on the same data, and owns some of the devices. No process
alone can read arrays that are spread over all devices. Decisions that depend on one
process (how long a chunk took, whether someone pressed Ctrl-C) must be agreed on, or
the processes would wait for each other for ever.
"""

import functools
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding
from jaxtyping import Int

from ocbnn.errors import LostProcessError, SettingError

T = TypeVar("T")
# Words in the errors that JAX and its backends raise when a process is gone.
_LOSS = re.compile(
    "gloo|nccl|coordination|connection (reset|closed|refused)|socket closed|"
    "unavailable|deadline_exceeded|preempted|heartbeat",
    re.IGNORECASE,
)


def process_count() -> int:
    """How many there are; usually one."""
    return jax.process_count()


def is_first() -> bool:
    """Whether this is the process that writes files and messages for all."""
    return jax.process_index() == 0


def gathered(*numbers: int) -> Int[np.ndarray, "processes numbers"]:
    """Every process's numbers, gathered on all processes."""
    local = np.array(numbers, np.int64)
    if process_count() == 1:
        return local[None]
    from jax.experimental import multihost_utils  # noqa: PLC0415 (seldom needed)

    # As halves, because JAX truncates integers to 32 bits by default.
    halves = np.stack([local >> 31, local & 0x7FFFFFFF]).astype(np.int32)
    try:
        all_halves = multihost_utils.process_allgather(halves)
    except Exception as error:
        raise lost_process_error(error) or error from None
    high, low = np.moveaxis(np.asarray(all_halves), 1, 0)
    return (high.astype(np.int64) << 31) | low


def wait_for_all() -> None:
    """A barrier: return when every process has reached it."""
    gathered(0)


def require_same(values: dict[str, str], role: str) -> None:
    """Raise an error if processes were given different settings or data.

    Parameters
    ----------
    values
        Digests or texts, by name.
    role
        What they describe, for the message.

    Raises
    ------
    SettingError
        Naming what differs.
    """
    if process_count() == 1:
        return
    names = sorted(values)
    # A summary first: a name that only some processes have would block the others.
    summaries = gathered(_number(json.dumps(values, sort_keys=True)), len(names))
    if (summaries == summaries[0]).all():
        return
    if (summaries[:, 1] == summaries[0, 1]).all():
        digests = gathered(*(_number(f"{name}: {values[name]}") for name in names))
        names = [
            n for n, column in zip(names, digests.T, strict=True) if np.ptp(column)
        ]
    raise SettingError(
        f"the {process_count()} processes were given different {role}: "
        f"{', '.join(names)}. Start all of them with the same command, files and "
        "versions."
    )


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])


def put(array: Any, sharding: Sharding | Any) -> jax.Array:
    """Lay out an array that every process has on devices of all of them."""
    is_spread = isinstance(sharding, Sharding) and not sharding.is_fully_addressable
    is_local = not isinstance(array, jax.Array) or array.is_fully_addressable
    if not (is_spread and is_local):
        return jax.device_put(array, sharding)
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        bits = put(jax.random.key_data(array), sharding)
        return jax.random.wrap_key_data(bits, impl=jax.random.key_impl(array))
    host = np.asarray(array)
    return jax.make_array_from_callback(host.shape, sharding, lambda part: host[part])


def on_host(tree: T, mesh: Mesh | None = None) -> T:
    """A tree's arrays in host memory, including those spread over a mesh."""
    leaves, structure = jax.tree.flatten(tree)
    spread = [_is_spread(leaf) for leaf in leaves]
    if any(spread):
        gathered_leaves = iter(
            _gather(mesh)([a for a, f in zip(leaves, spread, strict=True) if f])
        )
        leaves = [
            next(gathered_leaves) if f else a
            for a, f in zip(leaves, spread, strict=True)
        ]
    return jax.tree.unflatten(structure, [_as_numpy(leaf) for leaf in leaves])


def _is_spread(leaf: Any) -> bool:
    if not isinstance(leaf, jax.Array):
        return False
    return not (leaf.is_fully_addressable or leaf.is_fully_replicated)


def _as_numpy(leaf: Any) -> Any:
    if not isinstance(leaf, jax.Array):
        return leaf
    if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return np.asarray(leaf)
    if leaf.is_fully_addressable:
        return leaf
    bits = jnp.asarray(np.asarray(jax.random.key_data(leaf)))
    return jax.random.wrap_key_data(bits, impl=jax.random.key_impl(leaf))


@functools.cache
def _gather(mesh: Mesh) -> Callable[[Sequence[jax.Array]], Sequence[jax.Array]]:
    replicated = NamedSharding(mesh, PartitionSpec())
    return jax.jit(lambda arrays: arrays, out_shardings=replicated)


def lost_process_error(error: Exception, saved: str = "") -> LostProcessError | None:
    """The error to raise if `error` means that a process was lost; None otherwise."""
    if process_count() == 1 or not _LOSS.search(str(error)):
        return None
    gist = str(error).splitlines()[0][:200]
    return LostProcessError(
        f"another of the {process_count()} processes of this run was lost, and the "
        f"others cannot go on without it. {saved}Look at its own last message for the "
        f"reason; JAX says here: {gist}"
    )
