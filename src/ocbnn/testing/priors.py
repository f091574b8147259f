"""A conformance check for priors on weights: draws and density must be of one law.

Densities of many numbers cannot be compared with histograms. Two identities hold for
the draws of every smooth density p that is positive everywhere. For each weight w and
each bounded function h, the mean of h(w) d log p / dw + h'(w) is zero (integration by
parts; Stein 1972). And for every normalised density q that is narrower than p, the mean
of q / p is one.
"""

import dataclasses
from typing import NoReturn

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from scipy.stats import norm

from ocbnn.core.promotion import third_party
from ocbnn.errors import SettingError
from ocbnn.networks import MLP, Network
from ocbnn.priors import Prior

# Few enough false alarms, although hundreds of means are compared.
_STANDARD_ERRORS = 6.0
# A mean with a larger standard error says too little about the integral.
_UNCLEAR = 0.2
_NARROW = 0.7
_STEP = 1e-6


@dataclasses.dataclass(frozen=True)
class WeightPriorCheck:
    """The result of a check. Print it.

    Attributes
    ----------
    prior
        The prior.
    draws
        The number of draws.
    stein
        The largest mean that should be zero, in standard errors.
    integral
        The estimated integral of the density, which should be one.
    integral_error
        Its standard error.
    """

    prior: str
    draws: int
    stein: float
    integral: float
    integral_error: float

    def __str__(self) -> str:
        integral = f"{self.integral:.2f} ± {self.integral_error:.2f}"
        if self.integral_error >= _UNCLEAR:
            integral += ", which does not decide whether it is one"
        return (
            f"{self.prior} keeps its promises: {self.draws} draws agree with the slope "
            f"of the log density (largest difference {self.stein:.1f} standard "
            f"errors), and the density's integral is {integral}."
        )


def check_weight_prior(
    prior: Prior,
    network: Network | None = None,
    *,
    draws: int = 10_000,
    seed: int = 0,
) -> WeightPriorCheck:
    """Check a prior on the weights of a small network, in double precision.

    The density must be smooth and positive everywhere. An integral far from one is an
    error, because evidences could not be compared; in networks of more than some twenty
    weights its estimate is too noisy to tell, and the result says so.

    Parameters
    ----------
    prior
        The prior.
    network
        The network; by default one with two layers and nine weights.
    draws
        The number of draws.
    seed
        The random seed.

    Raises
    ------
    SettingError
        When a check fails; the message says which.
    """
    with jax.enable_x64(True):
        chosen = MLP(2, (2,), 1, "tanh") if network is None else network
        flat = _draws(prior, chosen, draws, seed)
        logs, slopes = _densities(prior, chosen, flat, seed)
        stein = _compare_slopes(prior, flat, slopes)
        integral, error = _integral(flat, logs)
    off = abs(integral - 1)
    if error < _UNCLEAR and off > _STANDARD_ERRORS * error + 0.01:
        _fail(
            prior,
            f"the integral of its density is {integral:.3g} ± {error:.2g} instead of "
            "one: add the logarithm of the normalising constant, or draw from the "
            "density",
        )
    name = type(prior).__name__
    return WeightPriorCheck(name, draws, stein, integral, error)


def _draws(
    prior: Prior, network: Network, count: int, seed: int
) -> Float[Array, "draws weights"]:
    keys = jax.random.split(jax.random.key(seed), count)
    first, again = (prior.sample(keys[0], network) for _ in range(2))
    expected = network.shapes()
    if jax.tree.structure(first) != jax.tree.structure(expected):
        _fail(prior, f"a draw is {first}, not structured like network.shapes()")
    pairs = zip(jax.tree.leaves(first), jax.tree.leaves(expected), strict=True)
    for drawn, spec in pairs:
        if (drawn.shape, drawn.dtype) != (spec.shape, spec.dtype):
            _fail(
                prior,
                f"a draw has an array of shape {drawn.shape} and type {drawn.dtype}, "
                f"where the network has {spec.shape} and {spec.dtype}",
            )
    sample = jax.jit(jax.vmap(lambda key: _flat(prior.sample(key, network))))
    flat = sample(keys)
    if not np.isfinite(flat).all():
        _fail(prior, "a draw has NaN or infinity")
    if not np.array_equal(_flat(first), _flat(again)):
        _fail(prior, "the same key gave other draws: use no other randomness")
    constant = np.ptp(np.asarray(flat), axis=0) == 0
    if constant.any():
        _fail(prior, f"weight {int(np.argmax(constant))} is the same in all draws")
    return flat


def _densities(
    prior: Prior, network: Network, flat: Float[Array, "draws weights"], seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Log densities of draws and their slopes, compared with differences."""
    zeros = jax.tree.map(lambda spec: jnp.zeros(spec.shape), network.shapes())
    unravel = ravel_pytree(zeros)[1]
    log = lambda vector: prior.logdensity(network, unravel(vector))
    shape = eqx.filter_eval_shape(log, flat[0])
    if getattr(shape, "shape", None) != ():
        _fail(prior, f"its log density is {shape}, not one number")
    logs, slopes = jax.jit(jax.vmap(jax.value_and_grad(log)))(flat)
    if not np.isfinite(logs).all():
        _fail(prior, "the log density of a draw is NaN or infinity")
    if not np.isfinite(slopes).all():
        _fail(prior, "the slope of the log density at a draw is NaN or infinity")
    ways = np.random.default_rng(seed).normal(size=flat.shape)
    sizes = np.median(np.abs(flat), axis=0)
    ways = jnp.asarray(ways * sizes)
    along = jax.jit(jax.vmap(lambda vector, way: log(vector + way)))
    differences = (along(flat, _STEP * ways) - along(flat, -_STEP * ways)) / (2 * _STEP)
    ours = np.sum(np.asarray(slopes) * np.asarray(ways), axis=1)
    wrong = ~np.isclose(ours, differences, rtol=1e-3, atol=1e-3)
    if wrong.any():
        at = int(np.argmax(wrong))
        _fail(
            prior,
            f"a slope of its log density is {ours[at]:.6g}, but differences give "
            f"{float(differences[at]):.6g}",
        )
    return np.asarray(logs), np.asarray(slopes)


def _compare_slopes(
    prior: Prior, flat: Float[Array, "draws weights"], slopes: np.ndarray
) -> float:
    """Stein's identity for every weight, in standard errors; the largest."""
    values = np.asarray(flat)
    centre = np.median(values, axis=0)
    size = np.median(np.abs(values - centre), axis=0)
    u, score = (values - centre) / size, slopes * size
    # Sensitive to the place, the width and the tails, and bounded or nearly so.
    terms = {
        "place": score / (1 + u**2) - 2 * u / (1 + u**2) ** 2,
        "width": u * score / (1 + u**2) + (1 - u**2) / (1 + u**2) ** 2,
        "tails": np.arctan(u / 5) * score + 0.2 / (1 + (u / 5) ** 2),
    }
    largest = 0.0
    for name, values_of_h in terms.items():
        mean = values_of_h.mean(axis=0)
        error = values_of_h.std(axis=0) / np.sqrt(len(values_of_h))
        off = np.abs(mean) / error
        if np.max(off) > _STANDARD_ERRORS:
            _fail(
                prior,
                f"draws of weight {int(np.argmax(off))} and the slope of the log "
                f"density disagree about its {name} ({np.max(off):.1f} standard "
                "errors)",
            )
        largest = max(largest, float(np.max(off)))
    return largest


def _integral(
    flat: Float[Array, "draws weights"], logs: np.ndarray
) -> tuple[float, float]:
    """The estimated integral of the density, and its standard error.

    The narrower density is fitted to one half of the draws and used with the other.
    """
    values = np.asarray(flat)
    half = len(values) // 2
    centre = np.median(values[:half], axis=0)
    width = np.median(np.abs(values[:half] - centre), axis=0) / norm.ppf(0.75)
    narrower = norm.logpdf(values[half:], centre, _NARROW * width).sum(axis=1)
    ratios = np.exp(narrower - logs[half:])
    mean, error = ratios.mean(), ratios.std() / np.sqrt(len(ratios))
    # The mean estimates the inverse of the integral.
    return float(1 / mean), float(error / mean**2)


def _flat(weights: object) -> Float[Array, " weights"]:
    with third_party():
        return ravel_pytree(weights)[0]


def _fail(prior: Prior, reason: str) -> NoReturn:
    raise SettingError(f"{type(prior).__name__} breaks a promise: {reason}.")
