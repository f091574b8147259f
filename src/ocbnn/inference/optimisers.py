"""Optimisers from Optax, which is imported when a plan first needs one.


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
        """From parameters to the initial state."""
        ...

    @property
    def update(self) -> Callable[..., Any]:
        """From gradients and a state to updates and the next state."""
        ...


@cache
def adam(rate: float) -> Optimiser:
    """Adam with a constant step size."""
    return _optax().adam(rate)


@cache
def adagrad(rate: float) -> Optimiser:
    """Adagrad, whose state accumulates all gradients."""
    return _optax().adagrad(rate)


@cache
def fading_adam(rate: float, iterations: int) -> Optimiser:
    """Adam whose step size decays to zero, so that it converges despite batches."""
    optax = _optax()
    return optax.adam(optax.cosine_decay_schedule(rate, iterations))


@cache
def late_fading_adam(rate: float, iterations: int) -> Optimiser:
    """Adam whose step size decays to zero in the second half."""
    optax, half = _optax(), iterations // 2
    fade = optax.cosine_decay_schedule(rate, max(1, iterations - half))
    constant = optax.constant_schedule(rate)
    return optax.adam(optax.join_schedules([constant, fade], [half]))


def _optax() -> Any:
    # The first caller may be traced, but a module's constants must not be tracers.
    with jax.ensure_compile_time_eval():
        import optax  # noqa: PLC0415 (slow to import)
    return optax
