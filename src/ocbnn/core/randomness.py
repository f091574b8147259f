"""Random keys: explicit everywhere, made from a person's seed in one place."""

import jax
import numpy as np

from ocbnn.core.types import RandomKey
from ocbnn.errors import SettingError


def key_from(random_state: object) -> RandomKey:
    """A key from what scikit-learn calls `random_state`: None, a number or a generator.

    >>> bool((key_from(3) == key_from(3)).all())
    True
    """
    if random_state is None:
        return jax.random.key(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return jax.random.key(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return jax.random.key(random_state.integers(2**31))
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return jax.random.key(int(random_state) % 2**32)
    raise SettingError(
        "random_state must be None, a whole number that is not negative, or a NumPy "
        f"generator, got {random_state!r}. Write random_state=0."
    )


def numpy_generator(key: RandomKey) -> np.random.Generator:
    """NumPy's generator seeded by a key, for work done once and outside of JAX."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)).astype(np.uint32))
