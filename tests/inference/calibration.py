"""Simulation-based calibration: does a sampler find weights that we drew ourselves?

Draw weights from the prior, simulate data from them, sample the posterior given these
data, and rank the true function among the draws. If prior, likelihood and sampler fit
together, every rank is equally likely. Reference: Talts et al. (2018).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from ocbnn.inference import loop
from ocbnn.networks import MLP
from ocbnn.posterior import GaussianNoise, Target
from ocbnn.priors import WeightPrior

# A rank is one of 64 numbers, and eight of them make a bin.
DRAWS, BINS = 63, 8
NOISE = 0.5
X = jnp.linspace(-2.0, 2.0, 8)[:, None]
# Between two rows, at the edge, and outside.
ASKED = jnp.array([[0.3], [2.0], [3.5]])
# Weights are not identified, so we rank functions, and how well they fit.
QUANTITIES = ("f(0.3)", "f(2)", "f(3.5)", "log likelihood")


def target(Y, likelihood):
    """A posterior of ten weights."""
    return Target(MLP(1, (3,), 1, "tanh"), WeightPrior(), likelihood, (), X, Y)


def quantities(posterior, position):
    values = posterior.network.batch(position.weights, ASKED)[:, 0]
    return jnp.append(values, posterior.split(position)[1])


def rank_once(plan, likelihood, key):
    """The ranks of one true function's quantities among the draws of one run.

    And how much the draws resemble their neighbours: where they do, ranks are uneven
    for no fault of the sampler's.
    """
    key_truth, key_noise, key_run, key_pick = jax.random.split(key, 4)
    empty = target(jnp.zeros((len(X), 1)), likelihood)
    truth = empty.initial(key_truth)
    exact = empty.network.batch(truth.weights, X)
    noise = NOISE * jax.random.normal(key_noise, exact.shape)
    posterior = target(exact + noise, likelihood)
    draws = run(plan, posterior, key_run)
    result = jax.vmap(lambda position: quantities(posterior, position))(draws)
    gap = result - jnp.mean(result, axis=0, keepdims=True)
    likeness = jnp.mean(gap[1:] * gap[:-1], axis=0) / jnp.mean(gap**2, axis=0)
    # A population has more particles than ranks, so some of them are picked.
    result = jax.random.permutation(key_pick, result)[:DRAWS]
    lower = result < quantities(posterior, truth)[None]
    return jnp.sum(lower, axis=0), likeness


def run(plan, posterior, key):
    """One chain or population, as the driver runs it but for the driver."""
    key_init, key_warmup, key_draw = jax.random.split(key, 3)
    algorithm, zero = plan.bind(posterior), jnp.asarray(0)
    state = loop.init(algorithm, key_init)
    most = jnp.asarray(plan.warmup)
    state, *_ = loop.warm_up(algorithm, key_warmup, state, zero, most, plan.warmup)
    count, thin = plan.draws, plan.thin
    kept = loop.draw(algorithm, key_draw, state, zero, jnp.asarray(count), count, thin)
    return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), kept[1])


@eqx.filter_jit
def _ranks(plan, likelihood, keys):
    return jax.vmap(lambda key: rank_once(plan, likelihood, key))(keys)


def ranks(plan, replicates, *, noise=NOISE, seed=0):
    """Ranks and likenesses (replicate, quantity), all replicates in one call."""
    keys = jax.random.split(jax.random.key(seed), replicates)
    rank_counts = _ranks(plan, GaussianNoise.fixed(noise), keys)
    return tuple(map(np.asarray, rank_counts))


def surprise(found):
    """For each quantity, how likely ranks as uneven as these are if all is well."""
    bins = found // ((DRAWS + 1) // BINS)
    counts = [np.bincount(column, minlength=BINS) for column in bins.T]
    return stats.chisquare(counts, axis=1).pvalue
