"""NUTS of other libraries on one of our densities, as their documentation recommends.

Both recommend vectorised chains or, on CPUs, one device per chain. Threads work like
such devices, and need no settings before JAX starts. Everything is compiled once,
before it is timed.
"""

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ocbnn.core.cores import cores
from ocbnn.core.promotion import third_party
from ocbnn.posterior import Model, Target

# From a seed to positions stacked as (chain, draw, ...).
Sampler = Callable[[jax.Array], Model]
# From a key and a start to positions; or from those of several chains.
Draw = Callable[[Any, Any], Any]


class Effort(NamedTuple):
    """The lengths of runs and their target acceptance."""

    chains: int
    warmup: int
    draws: int
    acceptance: float


def others(target: Target, effort: Effort) -> Iterator[tuple[str, Sampler]]:
    """BlackJAX and, if it is installed, NumPyro, each in two ways."""
    chain = _blackjax(target, effort)
    yield "BlackJAX, vectorised", _at_once(target, effort.chains, jax.vmap(chain))
    yield "BlackJAX, chains on cores", _on_cores(target, effort.chains, chain)
    if importlib.util.find_spec("numpyro") is None:
        return
    chains = _numpyro(target, effort)
    yield "NumPyro, vectorised", _at_once(target, effort.chains, chains)
    chain = _numpyro(target, effort._replace(chains=1))
    yield "NumPyro, chains on cores", _on_cores(target, effort.chains, chain)


def _at_once(target: Target, count: int, chains: Draw) -> Sampler:
    starts_for = _starts(target, count)
    with third_party():
        run = jax.jit(chains).lower(*starts_for(jax.random.key(0))).compile()
    return lambda seed: run(*starts_for(seed))


def _on_cores(target: Target, count: int, chain: Draw) -> Sampler:
    starts_for = _starts(target, count)
    pick = lambda starts, index: jax.tree.map(lambda a: a[index], starts)
    with third_party():
        run = jax.jit(chain).lower(*pick(starts_for(jax.random.key(0)), 0)).compile()

    def run_chains(seed: jax.Array) -> Model:
        starts = starts_for(seed)
        run_chain = lambda index: jax.block_until_ready(run(*pick(starts, index)))
        with ThreadPoolExecutor(cores()) as pool:
            chains = list(pool.map(run_chain, range(count)))
        return jax.tree.map(lambda *parts: jnp.stack(parts), *chains)

    return run_chains


def _starts(target: Target, count: int) -> Callable[[jax.Array], tuple[Any, Any]]:
    """A function from a seed to the keys and starting positions of chains."""
    starts = jax.jit(jax.vmap(target.initial))

    def starts_for(seed: jax.Array) -> tuple[Any, Any]:
        key_start, key_run = jax.random.split(seed)
        positions = starts(jax.random.split(key_start, count))
        return jax.random.split(key_run, count), positions

    return starts_for


def _blackjax(target: Target, effort: Effort) -> Draw:
    """Window adaptation and a scan, for one chain."""
    with third_party(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import blackjax  # noqa: PLC0415

    def chain(key: jax.Array, position: Model) -> Model:
        key_warmup, key_draws = jax.random.split(key)
        adaptation = blackjax.window_adaptation(
            blackjax.nuts, target.logdensity, target_acceptance_rate=effort.acceptance
        )
        (state, parameters), _ = adaptation.run(
            key_warmup,
            position,
            effort.warmup,  # pyright: ignore
        )
        step = blackjax.nuts(target.logdensity, **parameters).step

        def move(state: Any, key: jax.Array) -> tuple[Any, Any]:
            state, _ = step(key, state)
            return state, state.position

        keys = jax.random.split(key_draws, effort.draws)
        return jax.lax.scan(move, state, keys)[1]

    return chain


def _numpyro(target: Target, effort: Effort) -> Draw:
    """Its own warm-up and chains: all of them, or one."""
    from numpyro import infer  # noqa: PLC0415

    has_several_chains = effort.chains > 1
    kernel = infer.NUTS(
        potential_fn=lambda position: -target.logdensity(position),
        target_accept_prob=effort.acceptance,
    )
    mcmc = infer.MCMC(
        kernel,
        num_warmup=effort.warmup,
        num_samples=effort.draws,
        num_chains=effort.chains,
        chain_method="vectorized",
        progress_bar=False,
    )

    def run(key: Any, position: Any) -> Any:
        mcmc.run(key, init_params=position)
        return mcmc.get_samples(group_by_chain=has_several_chains)

    return run
