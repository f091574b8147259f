"""Strict arithmetic for every test, and no deadline because compiling is slow once."""

import jax
import jaxtyping
import matplotlib as mpl
import pytest
from hypothesis import settings

mpl.use("Agg")
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
settings.register_profile("jax", deadline=None, max_examples=50)
settings.load_profile("jax")


@pytest.fixture
def float64():
    """Double precision for one test, for comparing with references."""
    with jax.enable_x64(True):
        yield


@pytest.fixture
def as_users_run_it():
    """No shape checking for one test, so that the library's own errors are seen."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
