"""Several processes that compute one thing together, on JAX's distributed runtime.

Each runs the same program on the same data, and owns some of the devices. Arrays that
are spread over all devices can be read by none of them alone. What a process decides by
itself (how long a chunk took, whether someone pressed Ctrl-C) must be agreed on, or one
would wait for the others for ever.
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
# How JAX and what it stands on speak of a process that is gone.
_LOSS = re.compile(
    "gloo|nccl|coordination|connection (reset|closed|refused)|socket closed|"
    "unavailable|deadline_exceeded|preempted|heartbeat",
    re.IGNORECASE,
)


def process_count() -> int:
    """How many there are; usually one."""
    return jax.process_count()


def is_first() -> bool:
    """Whether this is the process that writes and speaks for all."""
    return jax.process_index() == 0


def gathered(*numbers: int) -> Int[np.ndarray, "processes numbers"]:
    """What every process has to say, told to all of them."""
    own = np.array(numbers, np.int64)
    if process_count() == 1:
        return own[None]
    from jax.experimental import multihost_utils  # noqa: PLC0415 (seldom needed)

    # As halves, because JAX cuts whole numbers to 32 bits unless told otherwise.
    halves = np.stack([own >> 31, own & 0x7FFFFFFF]).astype(np.int32)
    try:
        every = multihost_utils.process_allgather(halves)
    except Exception as error:
        raise told_of_loss(error) or error from None
    high, low = np.moveaxis(np.asarray(every), 1, 0)
    return (high.astype(np.int64) << 31) | low


def wait_for_all() -> None:
    """Go on when every process has come so far."""
    gathered(0)


def require_same(what: dict[str, str], role: str) -> None:
    """Refuse to go on when processes were given different things.

    Parameters
    ----------
    what
        Digests or words by name.
    role
        What they describe, for people.

    Raises
    ------
    SettingError
        Naming what differs.
    """
    if process_count() == 1:
        return
    names = sorted(what)
    # All at once: names that only some have would leave the others waiting.
    whole = gathered(_number(json.dumps(what, sort_keys=True)), len(names))
    if (whole == whole[0]).all():
        return
    if (whole[:, 1] == whole[0, 1]).all():
        each = gathered(*(_number(f"{name}: {what[name]}") for name in names))
        names = [n for n, column in zip(names, each.T, strict=True) if np.ptp(column)]
    raise SettingError(
        f"the {process_count()} processes were given different {role}: "
        f"{', '.join(names)}. Start all of them with the same command, files and "
        "versions."
    )


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])


def put(array: Any, sharding: Sharding | Any) -> jax.Array:
    """An array that every process has, laid out on devices of all of them."""
    is_far = isinstance(sharding, Sharding) and not sharding.is_fully_addressable
    is_here = not isinstance(array, jax.Array) or array.is_fully_addressable
    if not (is_far and is_here):
        return jax.device_put(array, sharding)
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        bits = put(jax.random.key_data(array), sharding)
        return jax.random.wrap_key_data(bits, impl=jax.random.key_impl(array))
    host = np.asarray(array)
    return jax.make_array_from_callback(host.shape, sharding, lambda part: host[part])


def on_host(tree: T, mesh: Mesh | None = None) -> T:
    """A tree's arrays where NumPy can read them, those spread over a mesh included."""
    leaves, structure = jax.tree.flatten(tree)
    far = [_is_far(leaf) for leaf in leaves]
    if any(far):
        near = iter(_gather(mesh)([a for a, f in zip(leaves, far, strict=True) if f]))
        leaves = [next(near) if f else a for a, f in zip(leaves, far, strict=True)]
    return jax.tree.unflatten(structure, [_as_numpy(leaf) for leaf in leaves])


def _is_far(leaf: Any) -> bool:
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
    whole = NamedSharding(mesh, PartitionSpec())
    return jax.jit(lambda arrays: arrays, out_shardings=whole)


def told_of_loss(error: Exception, saved: str = "") -> LostProcessError | None:
    """What to say when an error means that another process is gone; None if not."""
    if process_count() == 1 or not _LOSS.search(str(error)):
        return None
    gist = str(error).splitlines()[0][:200]
    return LostProcessError(
        f"another of the {process_count()} processes of this run was lost, and the "
        f"others cannot go on without it. {saved}Look at its own last message for the "
        f"reason; JAX says here: {gist}"
    )
