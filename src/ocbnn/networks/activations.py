"""Activation functions by name."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.core.errors import SettingError

Activation = Callable[[Float[Array, "*shape"]], Float[Array, "*shape"]]


def rbf(z: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The paper's radial basis unit, `exp(-z²)`."""
    # A product, because a power is computed in a pass of its own on a GPU.
    return jnp.exp(-(z * z))


ACTIVATIONS: dict[str, Activation] = {
    "rbf": rbf,
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
    "gelu": jax.nn.gelu,
    "softplus": jax.nn.softplus,
    "sigmoid": jax.nn.sigmoid,
    "elu": jax.nn.elu,
    "sin": jnp.sin,
}


def activation_named(name: object) -> Activation:
    """Look up an activation, or say which ones there are."""
    if isinstance(name, str) and name in ACTIVATIONS:
        return ACTIVATIONS[name]
    raise SettingError(
        f"activation {name!r} is not known: write one of {', '.join(ACTIVATIONS)}, or "
        "pass a network of your own."
    )
