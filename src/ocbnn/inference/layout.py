"""Where a run's chains, particles and rows of data are computed.

On processor cores, chains run in separate threads and need no layout. On several
devices, or on an accelerator, all chains of a run are vectorised into one compiled
program over a mesh of devices: chains (or the particles of one chain) along its first
axis, and rows of data along the second if there are more devices.
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
# Measured (docs/performance.md): a core's speed on small networks, in operations per
# second, and the minimum time of a gradient step on an H200, in seconds: of a leapfrog
# step, or of a step of an algorithm that also draws batches and points.
_CORE_SPEED, _WAIT, _WAIT_BATCHED = 2.5e9, 13e-6, 300e-6


@runtime_checkable
class Divisible(Protocol):
    """A density whose rows of data can be divided among devices."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        ...

    def placed(self, rows: Sharding, whole: Sharding) -> LogDensity:
        """The same density, with its rows in one sharding and all else in another."""
        ...


@dataclasses.dataclass(frozen=True)
class Layout:
    """A mesh of devices, or none, and how a run is laid out on it.

    Attributes
    ----------
    mesh
        Devices as a table of lanes and rows; None for threads on one processor.
    lanes
        The number of chains, or of particles of one chain, along its first axis.
    is_vectorised
        Whether all chains run in one program.
    device
        The processor, if there is an accelerator but it would be slower.
    reason
        Why it was chosen, for the progress report.
    """

    mesh: Mesh | None = None
    lanes: int = 1
    is_vectorised: bool = False
    device: Device | None = None
    reason: str = ""

    def spread(self, tree: T) -> T:
        """Divide arrays whose first axis is that of lanes; copy others everywhere."""
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
        replicated = self._sharding()
        if isinstance(target, Divisible) and self.mesh.shape[_ROWS] > 1:
            return target.placed(self._sharding(_ROWS), replicated)
        return everywhere(target, replicated)

    def copy(self, algorithm: Algorithm) -> Algorithm:
        """Copy an algorithm's other arrays to every device."""
        if self.mesh is None:
            return self._on_device(algorithm)
        replicated = self._sharding()
        needs_copy = lambda a: eqx.is_array(a) and not _is_on(a, self.mesh)
        copy_leaf = lambda a: put(a, replicated) if needs_copy(a) else a
        return jax.tree.map(copy_leaf, algorithm)

    def on_host(self, tree: T) -> T:
        """Arrays in host memory, including those of other processes."""
        return on_host(tree, self.mesh)

    def _on_device(self, tree: T) -> T:
        return tree if self.device is None else everywhere(tree, self.device)

    def _sharding(self, *axes: str) -> NamedSharding:
        if self.mesh is None:
            raise TypeError("threads have no mesh")
        return NamedSharding(self.mesh, PartitionSpec(*axes))

    def precision(self, plan: Plan) -> contextlib.AbstractContextManager[Any]:
        """The precision of matrix products: full for exact samplers.

        Accelerators round products by default, which would bias the energies.
        """
        if self.mesh is None or not plan.is_exact:
            return contextlib.nullcontext()
        return jax.default_matmul_precision("highest")


def everywhere(tree: T, sharding: Sharding | Device) -> T:
    """Put all arrays of a tree in one sharding, or on one device."""
    return jax.tree.map(lambda a: put(a, sharding) if eqx.is_array(a) else a, tree)


def _is_on(array: jax.Array, mesh: Mesh | None) -> bool:
    return getattr(array.sharding, "mesh", None) == mesh


def lay_out(plan: Plan, target: LogDensity, devices: object = None) -> Layout:
    """Choose the layout of a plan on some devices.

    Parameters
    ----------
    plan
        Gives the number of chains, and the width of one.
    target
        Gives the number of rows.
    devices
        How many of JAX's devices, or which ones; None for the default, or for all of
        them if several processes share a run.

    Raises
    ------
    SettingError
        When there are no such devices, or when a process would have no device.
    """
    chosen = chosen_devices(devices)
    if len(chosen) == 1 and chosen[0].platform == "cpu":
        is_usual = jax.default_backend() == "cpu"
        return Layout() if is_usual else Layout(device=chosen[0])
    is_free = devices is None and process_count() == 1
    if is_free and is_small(plan, target, cores()):
        reason = f"on the processor: too small for the {chosen[0].platform}"
        return Layout(device=jax.devices("cpu")[0], reason=reason)
    is_vectorised = plan.is_counted and (plan.chains > 1 or plan.width == 1)
    lanes = plan.chains if is_vectorised else plan.width
    lane_devices = math.gcd(len(chosen), lanes)
    rows = target.rows if isinstance(target, Divisible) and not plan.is_batched else 0
    row_devices = math.gcd(len(chosen) // lane_devices, rows) if rows else 1
    table = np.array(chosen[: lane_devices * row_devices]).reshape(
        lane_devices, row_devices
    )
    _refuse_idle(table, plan, lanes if is_vectorised else 0, rows)
    return Layout(Mesh(table, (_LANES, _ROWS)), lanes, is_vectorised)


def _refuse_idle(table: np.ndarray, plan: Plan, chains: int, rows: int) -> None:
    """Raise an error if a process has no device in the mesh; it could read nothing."""
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
    """Whether a step on the processor is faster than launching one elsewhere."""
    key = jax.random.key(0)
    batched = lambda position: target.stochastic_logdensity(position, key)
    density = batched if plan.is_batched else target.logdensity
    per_gradient = count_operations(jax.grad(density), target.shapes())
    operations = per_gradient * plan.chains * plan.width
    wait = _WAIT_BATCHED if plan.is_batched else _WAIT
    return operations < wait * _CORE_SPEED * cores


def chosen_devices(devices: object) -> Sequence[Device]:
    """Devices by number, by the name of their kind, or as given.

    Raises
    ------
    SettingError
        When there are not that many, or `devices` is something else.
    """
    if devices is None:
        return jax.devices() if process_count() > 1 else jax.devices()[:1]
    if isinstance(devices, str) and devices == "all":
        return jax.devices()
    if isinstance(devices, str):
        return _of_kind(devices)
    if isinstance(devices, int) and not isinstance(devices, bool):
        available = jax.devices()
        if not 1 <= devices <= len(available):
            raise SettingError(
                f"devices={devices} asks for {devices} devices, and JAX has "
                f"{len(available)}: {_listed(available)}. Write a number from 1 to "
                f"{len(available)}; on a processor, XLA_FLAGS="
                "--xla_force_host_platform_device_count=8 makes eight of it."
            )
        return available[:devices]
    listed = list(devices) if isinstance(devices, Sequence) else []
    if listed and all(isinstance(device, jax.Device) for device in listed):
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
