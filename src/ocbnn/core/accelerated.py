"""What programs are compiled for."""

import jax


def is_accelerated() -> bool:
    """Whether JAX computes on something other than a processor, unless told to.

    Asked while a program is traced: some work is arranged otherwise for a GPU, where
    passes over memory and the starts of kernels cost more than arithmetic.
    """
    return jax.default_backend() != "cpu"
