"""R-hat and effective sample size of any quantity.

Rank-normalised split R-hat, bulk and tail effective sample size, after Vehtari, Gelman,
Simpson, Carpenter and Bürkner (2021). Written for many quantities at once, because a
network is judged by its values at many inputs: single weights mean nothing. Also
diagnostics of a run's own traces: how its energies mix, and whether its objective was
still rising.

ArviZ computes the same R-hat and effective sample sizes; the two agree to 14 digits,
and the tests compare them. Ours stay because every fit needs them, and ArviZ is
optional: its import adds 0.25 s to those of NumPy, SciPy and Matplotlib. On Python 3.11
only ArviZ 0.x runs, and 1.x (`arviz-stats`) has another interface. R-hat and both sizes
of 200 quantities, 4 chains of 1000 draws, take 0.24 s here and 0.37 s in ArviZ 0.23.
"""

import dataclasses

import numpy as np
from jaxtyping import Float
from scipy import special, stats

Values = Float[np.ndarray, "chain draw quantity"]
PerQuantity = Float[np.ndarray, " quantity"]

LEAST_DRAWS = 10


def rhat(values: Values) -> PerQuantity:
    """Rank-normalised split R-hat: one where all chains agree."""
    split = _split(values)
    folded = np.abs(split - np.median(split, axis=(0, 1), keepdims=True))
    return np.fmax(
        _plain_rhat(_normal_ranks(split)), _plain_rhat(_normal_ranks(folded))
    )


def ess_bulk(values: Values) -> PerQuantity:
    """Effective sample size for means and medians."""
    return _ess(_normal_ranks(_split(values)))


def ess_tail(values: Values) -> PerQuantity:
    """Effective sample size for the 5 % and 95 % quantiles, the smaller of the two."""
    low, high = np.quantile(values, [0.05, 0.95], axis=(0, 1))
    below = lambda end: _ess(_split((values <= end) * 1.0))
    return np.fmin(below(low), below(high))


def _split(values: Values) -> Float[np.ndarray, "half_chain half_draw quantity"]:
    """Halves of chains count as chains, so that drift within a chain is detected."""
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, -half:]]).astype(float)


def _normal_ranks(values: Values) -> Values:
    flat = values.reshape(-1, values.shape[2])
    ranks = stats.rankdata(flat, axis=0)
    return special.ndtri((ranks - 0.375) / (len(flat) + 0.25)).reshape(values.shape)


def _plain_rhat(values: Values) -> PerQuantity:
    draws = values.shape[1]
    within = values.var(axis=1, ddof=1).mean(axis=0)
    between = draws * values.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt((between / within + draws - 1) / draws)


def _ess(values: Values) -> PerQuantity:
    """Geyer's initial monotone sequence over the chains' pooled autocorrelations."""
    chains, draws, quantities = values.shape
    covariance = _autocovariance(values)
    within = covariance[:, 0].mean(axis=0) * draws / (draws - 1)
    pooled = within * (draws - 1) / draws
    if chains > 1:
        pooled = pooled + values.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1 - (within - covariance.mean(axis=0)) / pooled
    rho[0] = 1.0
    # The last few lags average only two or three products each, and are left out.
    usable = max(1, (draws - 3) // 2)
    pairs = rho[: 2 * usable].reshape(-1, 2, quantities).sum(axis=1)
    # The first pair always counts; later ones count while positive, never rising.
    positive = np.concatenate(
        [np.ones((1, quantities), bool), np.cumprod(pairs[1:] > 0, axis=0).astype(bool)]
    )
    falling = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    # Half of the pair that ended the sequence may still be positive.
    ended = np.minimum(2 * positive.sum(axis=0), draws - 1)
    remainder = np.maximum(rho[ended, np.arange(quantities)], 0.0)
    time = -1 + 2 * falling.sum(axis=0) + remainder
    time = np.maximum(time, 1 / np.log10(chains * draws))
    size = chains * draws / time
    constant = ~(pooled > 0)
    return np.where(constant, np.nan, size)


def _autocovariance(values: Values) -> Values:
    draws = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    # Zero padding keeps the end of a chain from wrapping around to its beginning.
    length = 2 ** int(np.ceil(np.log2(2 * draws)))
    spectrum = np.fft.rfft(centred, length, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, length, axis=1)[:, :draws] / draws


@dataclasses.dataclass(frozen=True)
class Mixing:
    """How well each of many quantities has mixed; NaN for constant quantities."""

    rhat: PerQuantity
    bulk: PerQuantity
    tail: PerQuantity

    @classmethod
    def of(cls, values: Values) -> "Mixing":
        """Measure every quantity."""
        return cls(rhat(values), ess_bulk(values), ess_tail(values))


def energy_mixing(energy: Float[np.ndarray, "chain draw"]) -> np.ndarray:
    """E-BFMI of each chain: how freely new momenta change the energy.

    Near one, every move can reach any energy; near zero, energies change slowly.
    Reference: Betancourt (2016).

    >>> creeping = np.linspace(0.0, 1.0, 100)[None]
    >>> bool(energy_mixing(creeping)[0] < 0.01)
    True
    """
    steps = np.mean(np.diff(energy, axis=1) ** 2, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return steps / np.var(energy, axis=1, ddof=1)


def rise(trace: Float[np.ndarray, "chain move"]) -> float:
    """The gain of a noisy trace over its last tenth; zero if it is not significant.

    The last tenth is compared with the one before it; a gain counts if it is twice its
    standard error, in the chain that gained most.
    """
    count = trace.shape[1] // 10
    if count < 2 or not np.isfinite(trace[:, -2 * count :]).all():
        return 0.0
    previous, last = trace[:, -2 * count : -count], trace[:, -count:]
    gain = last.mean(axis=1) - previous.mean(axis=1)
    error = np.sqrt((last.var(axis=1) + previous.var(axis=1)) / count)
    return float(np.max(np.where(gain > 2 * error, gain, 0.0)))
