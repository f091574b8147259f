"""Optimisers of Optax, which is imported by the first plan that makes one.

Equal settings give the same object, because an optimiser is part of what is compiled.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol, runtime_checkable

import jax


@runtime_checkable
class Optimiser(Protocol):
    """What Optax calls a gradient transformation."""

    @property
    def init(self) -> Callable[..., Any]:
        """From parameters to what it remembers."""
        ...

    @property
    def update(self) -> Callable[..., Any]:
        """From slopes and what it remembers to a move and what it remembers next."""
        ...


@cache
def adam(rate: float) -> Optimiser:
    """Adam with steps of one size."""
    return _optax().adam(rate)


@cache
def adagrad(rate: float) -> Optimiser:
    """Adagrad, which remembers every slope."""
    return _optax().adagrad(rate)


@cache
def fading_adam(rate: float, iterations: int) -> Optimiser:
    """Adam whose steps fade to nothing, so that it ends at rest in spite of batches."""
    optax = _optax()
    return optax.adam(optax.cosine_decay_schedule(rate, iterations))


@cache
def late_fading_adam(rate: float, iterations: int) -> Optimiser:
    """Adam whose steps fade to nothing in the second half."""
    optax, half = _optax(), iterations // 2
    fade = optax.cosine_decay_schedule(rate, max(1, iterations - half))
    constant = optax.constant_schedule(rate)
    return optax.adam(optax.join_schedules([constant, fade], [half]))


def _optax() -> Any:
    # Whoever asks first may be traced, and constants of a module must outlive that.
    with jax.ensure_compile_time_eval():
        import optax  # noqa: PLC0415 (slow to import)
    return optax
