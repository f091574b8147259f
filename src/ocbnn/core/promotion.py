"""Calling code that was not written for JAX's strict arithmetic."""

import contextlib
from collections.abc import Iterator

import jax


@contextlib.contextmanager
def third_party() -> Iterator[None]:
    """Use JAX's default promotion inside, even where the caller made it strict.

    Optax and BlackJAX mix integers with floats in places; our own code does not.
    """
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield
