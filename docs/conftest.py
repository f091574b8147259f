"""The pages are run as a reader runs them: with JAX's usual arithmetic."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True)
def as_readers_run_it() -> Iterator[None]:
    """Undo the strict arithmetic of the tests, which other libraries do not keep."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield
