"""Which kind of device programs are compiled for."""

import jax


def is_accelerated() -> bool:
    """Whether JAX's default device is an accelerator.

    Called while a program is traced: some work is arranged differently for a GPU,
    where passes over memory and kernel launches cost more than arithmetic.
    """
    return jax.default_backend() != "cpu"
