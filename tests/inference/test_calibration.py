"""Exact samplers are calibrated: true functions rank evenly among their draws.

A sampler that is right fails one of the comparisons below for one seed in ten thousand,
all of them taken together.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.inference import HMC, NUTS, SMC, AdjustedMCLMC
from ocbnn.inference.mcmc import rest_at
from tests.inference.calibration import DRAWS, NOISE, QUANTITIES, ranks, surprise

FALSE_ALARMS = 1e-4
SHORT, LONG = 96, 512

CHAIN = {"warmup": 400, "draws": DRAWS, "climb": 200}
SHORT_HMC = HMC(adapt=True, jitter=True, steps=12, thin=12, **CHAIN)
PLANS = {
    "hmc": HMC(adapt=True, jitter=True, steps=16, thin=24, **CHAIN),
    "nuts": NUTS(max_depth=6, thin=8, **CHAIN),
    "adjusted mclmc": AdjustedMCLMC(max_steps=64, thin=20, **CHAIN),
    "smc": SMC(particles=192, moves=3, steps=16),
}
# Four plans at length and one in short, each asked about every quantity.
COMPARISONS = (len(PLANS) + 1) * len(QUANTITIES)
ALARM = FALSE_ALARMS / COMPARISONS


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reckless(HMC):
    """Langevin moves that are never rejected, of a length that would need it."""

    def bind(self, target):
        return self.chain(target, _never_reject, adapts=False)


def _never_reject(key, start, logdensity, tuning, *, is_early):
    noise = jax.random.normal(key, start.position.shape, start.position.dtype)
    eps = tuning.step_size
    there = start.position + eps * noise + 0.5 * eps**2 * start.gradient
    one, zero = jnp.ones_like(eps), jnp.zeros_like(eps)
    return rest_at(there, logdensity), one, zero > one, zero, jnp.asarray(1)


def test_true_functions_rank_evenly_among_the_draws_of_adapted_hmc():
    rank_counts, likeness = ranks(SHORT_HMC, SHORT)
    assert np.all(likeness.mean(axis=0) < 0.15)
    assert np.all(surprise(rank_counts) > ALARM)


def test_ranks_are_uneven_where_the_noise_is_wrong_by_half():
    rank_counts, _ = ranks(SHORT_HMC, SHORT, noise=1.5 * NOISE)
    assert np.any(surprise(rank_counts) < ALARM)


def test_ranks_are_uneven_where_no_move_is_ever_rejected():
    rank_counts, _ = ranks(Reckless(step_size=0.2, thin=50, **CHAIN), SHORT)
    assert np.any(surprise(rank_counts) < ALARM)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_true_functions_rank_evenly_among_the_draws_of(name):
    plan = PLANS[name]
    rank_counts, likeness = ranks(plan, LONG, seed=1 + list(PLANS).index(name))
    if plan.is_chain:
        assert np.all(likeness.mean(axis=0) < 0.15)
    assert np.all(surprise(rank_counts) > ALARM)
