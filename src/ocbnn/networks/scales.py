"""Scales of a network's weights for each layer, and hyperpriors for learned ones."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias, TypeGuard

import jax

from ocbnn.core.words import shorten
from ocbnn.errors import SettingError

# One number for all layers, or one for each, from the inputs to the outputs.
Scales: TypeAlias = float | tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class LearnedScales:
    r"""Log-normal hyperpriors: a typical scale, and a spread of its logarithm.

    A weight of layer $\ell$ has the standard deviation
    $\sigma_\ell / \sqrt{\text{fan-in}}$, and a bias $\beta_\ell$; a weight of the first
    layer that input $d$ feeds is also multiplied by the input's relevance $\rho_d$. All
    of these are learned, and their logarithms have normal priors.

    Attributes
    ----------
    weights
        Median of each layer's $\sigma_\ell$: one number for all, or a tuple with one
        for each layer, from the inputs to the outputs.
    biases
        Median of each layer's $\beta_\ell$, likewise.
    spread
        Standard deviation of the logarithm of $\sigma_\ell$ and $\beta_\ell$: two
        thirds lie within a factor of $e^{\text{spread}}$.
    relevance
        Standard deviation of the logarithm of $\rho_d$, whose median is one; zero if
        all inputs matter equally.

    Raises
    ------
    SettingError
        When a number is negative, or zero for anything but `relevance`.

    Examples
    --------
    >>> LearnedScales(relevance=0.5)
    LearnedScales(weights=1.0, biases=1.0, spread=0.7, relevance=0.5)
    """

    weights: Scales = 1.0
    biases: Scales = 1.0
    spread: float = 0.7
    relevance: float = 0.7

    def __post_init__(self) -> None:
        for name in ("weights", "biases"):
            given = getattr(self, name)
            if isinstance(given, (list, tuple)):
                medians = checked(given, name, "LearnedScales")
                object.__setattr__(self, name, medians)
        for field in dataclasses.fields(self):
            value, name = getattr(self, field.name), field.name
            minimum = "zero or more" if name == "relevance" else "above zero"
            fits = isinstance(value, tuple) or _is_number(value)
            if not fits or (value == 0 and name != "relevance"):
                raise SettingError(
                    f"{name} of LearnedScales must be a number, {minimum}, got "
                    f"{value!r}. Write LearnedScales({name}={field.default})."
                )


def checked(given: object, name: str, owner: str = "LayerScales") -> Scales:
    """A person's scales: one number, or one for each layer.

    Raises
    ------
    SettingError
        When it is something else.
    """
    numbers = given if isinstance(given, (list, tuple)) else [given]
    valid = [n for n in numbers if _is_number(n) and n > 0]
    if not numbers or len(valid) < len(numbers):
        raise SettingError(
            f"{name} of {owner} must be a number above zero, or a tuple with one for "
            f"each layer, got {shorten(repr(given))}. Write {owner}({name}=(1.0, 1.0))."
        )
    return tuple(valid) if numbers is given else valid[0]


def by_array(
    weights: Scales,
    biases: Scales,
    shapes: Sequence[jax.ShapeDtypeStruct],
    owner: str,
) -> list[float]:
    """The scale of each array of weights, in their order. Vectors are biases.

    Raises
    ------
    SettingError
        When there is one for each layer, and the network has more or fewer layers.
    """
    is_bias = [len(spec.shape) < 2 for spec in shapes]
    remaining: dict[bool, Iterator[float]] = {}
    for kind, given in ((False, weights), (True, biases)):
        layers = is_bias.count(kind)
        if isinstance(given, tuple) and len(given) != layers:
            name = "biases" if kind else "weights"
            ones = ", ".join(["1.0"] * layers) + "," * (layers == 1)
            raise SettingError(
                f"{name} of {owner} has {len(given)} numbers, and the network has "
                f"{layers} layers with {name}, including the one to the outputs. Write "
                f"{name}=({ones}), or one number for all layers."
            )
        each = given if isinstance(given, tuple) else (given,) * layers
        remaining[kind] = iter(each)
    return [next(remaining[kind]) for kind in is_bias]


def times(scales: Scales, factor: float) -> Scales:
    """Each scale, times a factor."""
    if isinstance(scales, tuple):
        return tuple(scale * factor for scale in scales)
    return scales * factor


def shown(scales: Scales) -> str:
    """The numbers as text."""
    each = scales if isinstance(scales, tuple) else (scales,)
    return ", ".join(f"{scale:g}" for scale in each)


def _is_number(value: object) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return bool(0 <= value < math.inf)
