"""Where a run's chains, particles and rows of data are computed.

On processor cores, chains run in threads of their own and need no layout. On several
devices, or on an accelerator, all chains of a run move abreast, as one compiled program
over a mesh of devices: chains (or the particles of one chain) along its first axis, and
rows of data along the second where devices are left over.
"""

import contextlib
import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding

from ocbnn.core.cores import cores
from ocbnn.core.operations import count_operations
from ocbnn.core.processes import on_host, process_count, put
from ocbnn.errors import SettingError
from ocbnn.inference.base import Algorithm, LogDensity, Plan

T = TypeVar("T")
Device: TypeAlias = Any  # one of `jax.devices()`
_LANES, _ROWS = "lanes", "rows"
# Measured (docs/performance.md): what a core does on small networks, in operations a
# second, and what a gradient step takes at least on an H200, in seconds: one leapfrog
# step, or one step of an algorithm that also draws batches and points.
_CORE_SPEED, _WAIT, _WAIT_BATCHED = 2.5e9, 13e-6, 300e-6


@runtime_checkable
class Divisible(Protocol):
    """A density whose rows of data can lie on several devices."""

    @property
    def rows(self) -> int:
        """How many there are."""
        ...

    def placed(self, rows: Sharding, whole: Sharding) -> LogDensity:
        """The same density, its rows laid out one way and all else another."""
        ...


@dataclasses.dataclass(frozen=True)
class Layout:
    """A mesh of devices, or none, and what is spread over it.

    Attributes
    ----------
    mesh
        Devices as a table of lanes and rows; None for threads on one processor.
    lanes
        How many chains, or particles of one chain, share its first axis.
    is_abreast
        Whether all chains are one program.
    device
        The processor, where an accelerator is there and would be slower.
    reason
        Why it was chosen, for people.
    """

    mesh: Mesh | None = None
    lanes: int = 1
    is_abreast: bool = False
    device: Device | None = None
    reason: str = ""

    def spread(self, tree: T) -> T:
        """Arrays whose first axis is that of the lanes, spread; others everywhere."""
        if self.mesh is None:
            return self._on_device(tree)
        along = self._sharding(_LANES)
        everywhere = self._sharding()

        def place(leaf: Any) -> Any:
            if not eqx.is_array(leaf):
                return leaf
            is_lane = leaf.ndim > 0 and leaf.shape[0] == self.lanes
            return put(leaf, along if is_lane else everywhere)

        return jax.tree.map(place, tree)

    def place(self, target: LogDensity) -> LogDensity:
        """The density on the mesh: its rows divided, or a copy on every device."""
        if self.mesh is None:
            return self._on_device(target)
        whole = self._sharding()
        if isinstance(target, Divisible) and self.mesh.shape[_ROWS] > 1:
            return target.placed(self._sharding(_ROWS), whole)
        return everywhere(target, whole)

    def copy(self, algorithm: Algorithm) -> Algorithm:
        """What else an algorithm holds, on every device."""
        if self.mesh is None:
            return self._on_device(algorithm)
        whole = self._sharding()
        is_loose = lambda a: eqx.is_array(a) and not _is_on(a, self.mesh)
        laid = lambda a: put(a, whole) if is_loose(a) else a
        return jax.tree.map(laid, algorithm)

    def on_host(self, tree: T) -> T:
        """Arrays where NumPy can read them, those of other processes included."""
        return on_host(tree, self.mesh)

    def _on_device(self, tree: T) -> T:
        return tree if self.device is None else everywhere(tree, self.device)

    def _sharding(self, *axes: str) -> NamedSharding:
        if self.mesh is None:
            raise TypeError("threads have no mesh")
        return NamedSharding(self.mesh, PartitionSpec(*axes))

    def precision(self, plan: Plan) -> contextlib.AbstractContextManager[Any]:
        """How products are computed: exact samplers never round them to few digits.

        Accelerators do by default, and an energy rounded so is another energy.
        """
        if self.mesh is None or not plan.is_exact:
            return contextlib.nullcontext()
        return jax.default_matmul_precision("highest")


def everywhere(tree: T, whole: Sharding | Device) -> T:
    """All arrays of a tree laid out in one way."""
    return jax.tree.map(lambda a: put(a, whole) if eqx.is_array(a) else a, tree)


def _is_on(array: jax.Array, mesh: Mesh | None) -> bool:
    return getattr(array.sharding, "mesh", None) == mesh


def lay_out(plan: Plan, target: LogDensity, devices: object = None) -> Layout:
    """The layout that some devices suggest for a plan.

    Parameters
    ----------
    plan
        Says how many chains there are, and how wide one is.
    target
        Says how many rows there are.
    devices
        How many of JAX's devices, or which ones; None for the usual one, or
        for all of them where several processes share a run.

    Raises
    ------
    SettingError
        When there are no such devices, or when a process would have
        none to work on.
    """
    chosen = chosen_devices(devices)
    if len(chosen) == 1 and chosen[0].platform == "cpu":
        is_usual = jax.default_backend() == "cpu"
        return Layout() if is_usual else Layout(device=chosen[0])
    is_free = devices is None and process_count() == 1
    if is_free and is_small(plan, target, cores()):
        reason = f"on the processor: too small for the {chosen[0].platform}"
        return Layout(device=jax.devices("cpu")[0], reason=reason)
    is_abreast = plan.is_counted and (plan.chains > 1 or plan.width == 1)
    lanes = plan.chains if is_abreast else plan.width
    across = math.gcd(len(chosen), lanes)
    rows = target.rows if isinstance(target, Divisible) and not plan.is_batched else 0
    down = math.gcd(len(chosen) // across, rows) if rows else 1
    table = np.array(chosen[: across * down]).reshape(across, down)
    _refuse_idle(table, plan, lanes if is_abreast else 0, rows)
    return Layout(Mesh(table, (_LANES, _ROWS)), lanes, is_abreast)


def _refuse_idle(table: np.ndarray, plan: Plan, chains: int, rows: int) -> None:
    """A process without a device in the mesh could not read what the others find."""
    busy = {device.process_index for device in table.flat}
    if len(busy) == process_count():
        return
    lanes = f"{chains} chains" if chains else f"{plan.width} particles"
    also = f" or {rows} rows" if rows else ""
    raise SettingError(
        f"{process_count()} processes cannot share {lanes}{also} of {plan.label} "
        f"evenly: only {len(busy)} would have work. Ask for a multiple of "
        f"{len(jax.devices())}, the number of devices, or start fewer processes."
    )


def is_small(plan: Plan, target: LogDensity, cores: int) -> bool:
    """Whether a step takes the processor less time than starting one elsewhere."""
    key = jax.random.key(0)
    batched = lambda position: target.stochastic_logdensity(position, key)
    density = batched if plan.is_batched else target.logdensity
    one = count_operations(jax.grad(density), target.shapes())
    operations = one * plan.chains * plan.width
    wait = _WAIT_BATCHED if plan.is_batched else _WAIT
    return operations < wait * _CORE_SPEED * cores


def chosen_devices(devices: object) -> Sequence[Device]:
    """Devices by number or by name of their kind, or those given.

    Raises
    ------
    SettingError
        When there are not so many, or it is something else.
    """
    if devices is None:
        return jax.devices() if process_count() > 1 else jax.devices()[:1]
    if isinstance(devices, str) and devices == "all":
        return jax.devices()
    if isinstance(devices, str):
        return _of_kind(devices)
    if isinstance(devices, int) and not isinstance(devices, bool):
        found = jax.devices()
        if not 1 <= devices <= len(found):
            raise SettingError(
                f"devices={devices} asks for {devices} devices, and JAX has "
                f"{len(found)}: {_listed(found)}. Write a number from 1 to "
                f"{len(found)}; on a processor, XLA_FLAGS="
                "--xla_force_host_platform_device_count=8 makes eight of it."
            )
        return found[:devices]
    listed = list(devices) if isinstance(devices, Sequence) else []
    if listed and all(isinstance(one, jax.Device) for one in listed):
        return listed
    raise SettingError(
        'devices must be a number, "all", "cpu", "gpu", "tpu", or a list of JAX '
        f"devices, got {devices!r}."
    )


def _of_kind(kind: str) -> Sequence[Device]:
    try:
        return jax.devices(kind)[:1]
    except RuntimeError:
        raise SettingError(
            f"devices={kind!r}: JAX finds no such device here, only "
            f"{_listed(jax.devices())}."
        ) from None


def _listed(devices: Sequence[Device]) -> str:
    return f"{len(devices)} of kind {devices[0].platform!r}"
